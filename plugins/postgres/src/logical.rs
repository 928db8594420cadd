//! Logical messages (`pg_logical_emit_message`) as records: which ones, and how they look. Pure.
//!
//! A transactional one is a change of its transaction like a row. Any other stands for itself: it comes although its transaction was
//! rolled back, and has no commit time.

use picomq_connector_sdk::Batch;

use crate::change::Moment;
use crate::config::Envelope;
use crate::lsn::Lsn;
use crate::settings::RecordSettings;
use crate::value::{Out, write_utf8};

/// One message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logical<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) content: &'a [u8],
    /// Where it lies in the log.
    pub(crate) at: Lsn,
    /// The end of the transaction before.
    pub(crate) after: Lsn,
    /// The transaction it is a change of.
    pub(crate) transaction: Option<Transaction<'a>>,
}

/// Where a transactional message belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction<'a> {
    /// The commit position.
    pub(crate) lsn: &'a str,
    pub(crate) xid: u32,
    pub(crate) ordinal: u64,
    pub(crate) time: &'a Moment,
}

/// Adds the record of a message. Its key is the prefix; its id the position and the ordinal, as of any change: a message of no
/// transaction has its own position, which it shares with nothing.
pub(crate) fn add(batch: &mut Batch, settings: &RecordSettings, said: &Logical<'_>) {
    let place = said.transaction.map_or_else(|| said.at.to_string(), |inside| inside.lsn.to_owned());
    let ordinal = said.transaction.map_or(0, |inside| inside.ordinal);
    let mut key = Vec::new();
    write_utf8(&mut key, said.prefix);
    let mut record = batch.add();
    record.id(&format!("{place}:{ordinal}"));
    if let Some(Transaction { time, .. }) = said.transaction {
        record.timestamp_ms(time.as_millisecond()).event_time_ns(time.as_nanosecond());
    }
    match settings.envelope {
        Envelope::Pico => {
            record.key(&key);
            record.payload_with(|out| put_pico(out, said, (&place, ordinal)));
        }
        Envelope::Flat => {
            record.key(&key);
            record.payload_with(|out| put_data(out, said));
            record.header("picomq.operation", b"MESSAGE");
            record.header("picomq.lsn", place.as_bytes());
            if let Some(Transaction { time, xid, .. }) = said.transaction {
                record.header("picomq.timestamp", time.as_str().as_bytes());
                record.header("picomq.xid", xid.to_string().as_bytes());
            }
        }
        Envelope::Debezium => {
            if let Some(form) = &settings.debezium {
                let key = [b"{\"prefix\":", key.as_slice(), b"}"].concat();
                record.key(&key);
                record.header("picomq.operation", b"MESSAGE");
                record.payload_with(|out| form.put_message(out, said));
            }
        }
    }
}

fn put_pico(out: &mut impl Out, said: &Logical<'_>, (place, ordinal): (&str, u64)) {
    out.put(b"{\"table_name\":null,\"schema_name\":null,\"operation_type\":\"MESSAGE\",\"timestamp\":");
    match said.transaction {
        Some(Transaction { time, .. }) => write_utf8(out, time.as_str()),
        None => out.put(b"null"),
    }
    out.put(b",\"data\":");
    put_data(out, said);
    out.put(b",\"old_data\":null,\"source\":{\"lsn\":\"");
    out.put(place.as_bytes());
    out.put(b"\",\"xid\":");
    match said.transaction {
        Some(Transaction { xid, .. }) => out.put(xid.to_string().as_bytes()),
        None => out.put(b"null"),
    }
    out.put(b",\"ordinal\":");
    out.put(ordinal.to_string().as_bytes());
    out.put(b"}}");
}

/// The content is a text where it is one, else base64 under another name: which of the two it is never has to be guessed.
fn put_data(out: &mut impl Out, said: &Logical<'_>) {
    out.put(b"{\"prefix\":");
    write_utf8(out, said.prefix);
    match std::str::from_utf8(said.content) {
        Ok(text) => {
            out.put(b",\"content\":");
            write_utf8(out, text);
        }
        Err(_) => {
            out.put(b",\"content_base64\":\"");
            put_base64(out, said.content);
            out.put(b"\"");
        }
    }
    out.put(if said.transaction.is_some() {
        b",\"transactional\":true}"
    } else {
        b",\"transactional\":false}"
    });
}

/// The bytes in base64, without quotes.
pub(crate) fn put_base64(out: &mut impl Out, bytes: &[u8]) {
    use base64::Engine;
    out.put(base64::engine::general_purpose::STANDARD.encode(bytes).as_bytes());
}
