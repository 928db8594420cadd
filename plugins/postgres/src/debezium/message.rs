//! Logical messages as Debezium writes them.

use super::number::put_integer;
use super::put_lsn;
use super::table::Settings;
use crate::change::Moment;
use crate::logical::{Logical, put_base64};
use crate::value::{Out, write_utf8};

impl Settings {
    /// `op` is `m`, the content always base64. A message of no transaction has the time at which it is read, since it has no other.
    pub(crate) fn put_message(&self, out: &mut impl Out, said: &Logical<'_>) {
        let now = Moment::now();
        let time = said.transaction.map_or(&now, |inside| inside.time);
        // Without the finer times that a change has, as Debezium has it.
        out.put(b"{\"op\":\"m\",\"ts_ms\":");
        put_integer(out, now.as_millisecond());
        out.put(&self.source);
        put_integer(out, time.as_millisecond());
        out.put(b",\"snapshot\":\"false");
        out.put(&self.database);
        out.put(b"\\\"");
        put_lsn(out, said.after);
        out.put(b"\\\",\\\"");
        put_lsn(out, said.at);
        out.put(b"\\\"]\"");
        out.put(b",\"ts_us\":");
        put_integer(out, time.as_microsecond());
        out.put(b",\"ts_ns\":");
        put_integer(out, time.as_nanosecond());
        out.put(b",\"schema\":\"\",\"table\":\"\",\"txId\":");
        match said.transaction {
            Some(inside) => put_integer(out, i64::from(inside.xid)),
            None => out.put(b"null"),
        }
        out.put(b",\"lsn\":");
        put_lsn(out, said.at);
        out.put(b",\"xmin\":null,\"origin\":null,\"origin_lsn\":null},\"transaction\":null,\"message\":{\"prefix\":");
        write_utf8(out, said.prefix);
        out.put(b",\"content\":\"");
        put_base64(out, said.content);
        out.put(b"\"}}");
    }
}
