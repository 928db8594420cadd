//! What is the same in all records of a source or of a table, written down once.

use super::form::{self, Form as ValueForm};
use crate::column::{ColumnDraft, ShapeColumn};
use crate::quote::TableName;
use crate::value::{Catalog, Out, write_utf8};

/// What is the same in every record of a source, written down.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `,"source":{"version":…,"connector":"postgresql","name":…,"ts_ms":`
    pub(super) source: Vec<u8>,
    /// `","db":…,"sequence":"[`
    pub(super) database: Vec<u8>,
    pub(super) has_tombstones: bool,
}

/// What is the same in every record of a table.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(super) settings: Settings,
    /// `,"schema":…,"table":…,"txId":`
    pub(super) table: Vec<u8>,
    pub(super) columns: Vec<ColumnForm>,
    /// The columns of the record key, by number, in the order of the key.
    pub(super) key: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct ColumnForm {
    pub(super) value: ValueForm,
    /// Stands for a value that the stream left out.
    pub(super) unavailable: Option<&'static [u8]>,
}

impl Settings {
    /// `prefix` is Debezium's `topic.prefix`.
    pub(crate) fn new(prefix: &str, database: &str, has_tombstones: bool) -> Settings {
        let version = env!("CARGO_PKG_VERSION");
        let mut source =
            format!(",\"source\":{{\"version\":\"{version}\",\"connector\":\"postgresql\",\"name\":")
                .into_bytes();
        write_utf8(&mut source, prefix);
        source.put(b",\"ts_ms\":");
        let mut db = b"\",\"db\":".to_vec();
        write_utf8(&mut db, database);
        db.put(b",\"sequence\":\"[");
        Settings { source, database: db, has_tombstones }
    }

    /// The form of a table with these columns.
    pub(crate) fn form(&self, table: &TableName, columns: &[ColumnDraft<'_>], types: &Catalog) -> Form {
        let mut text = b",\"schema\":".to_vec();
        write_utf8(&mut text, &table.schema);
        text.put(b",\"table\":");
        write_utf8(&mut text, &table.table);
        text.put(b",\"txId\":");
        let form = |column: &ColumnDraft<'_>| ColumnForm {
            value: ValueForm::of(types, column.oid, column.modifier),
            unavailable: form::unavailable(types, column.oid),
        };
        let key = columns.iter().enumerate().filter(|(_, column)| column.is_key).map(|(place, _)| place);
        Form {
            settings: self.clone(),
            table: text,
            columns: columns.iter().map(form).collect(),
            key: key.collect(),
        }
    }
}

impl Form {
    /// Puts the columns of the key into the order of `key`, when that names exactly these.
    pub(crate) fn order_key(&mut self, columns: &[ShapeColumn], key: &[String]) {
        let place = |name: &String| columns.iter().position(|column| column.is_key && column.name == *name);
        if let Some(places) = key.iter().map(place).collect::<Option<Vec<_>>>()
            && places.len() == self.key.len()
        {
            self.key = places;
        }
    }
}
