//! What records of one table look like: its columns with their types, which make the key, which are left out.

use crate::column::{ColumnDraft, ShapeColumn};
use crate::debezium::table::Form;
use crate::pgoutput::{Identity, Relation};
use crate::quote::TableName;
use crate::settings::RecordSettings;
use crate::value::{Catalog, Out, write_utf8};

/// A table as its records see it. Made anew whenever the stream describes the table.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) table: TableName,
    pub(crate) columns: Vec<ShapeColumn>,
    /// `{"table_name":…,"schema_name":…,"operation_type":"`
    pub(crate) head: Vec<u8>,
    /// With `envelope = "debezium"`: what that needs more.
    pub(crate) debezium: Option<Form>,
}

impl Shape {
    pub(crate) fn new(
        table: TableName,
        columns: &[ColumnDraft<'_>],
        types: &Catalog,
        settings: &RecordSettings,
    ) -> Shape {
        let debezium = settings.debezium.as_ref().map(|settings| settings.form(&table, columns, types));
        let columns = columns.iter().map(|column| ShapeColumn {
            name: column.name.to_owned(),
            label: label(column.label),
            kind: types.kind(column.oid),
            is_key: column.is_key,
            is_identity: column.is_identity,
            is_excluded: settings.excluded.has(&table, column.name),
        });
        Shape { columns: columns.collect(), head: head(&table), debezium, table }
    }

    /// Takes the order of the record key's columns, which the stream does not tell.
    pub(crate) fn with_key_order(mut self, key: &[String]) -> Shape {
        if let Some(debezium) = &mut self.debezium {
            debezium.order_key(&self.columns, key);
        }
        self
    }

    /// The shape of a relation of the stream. `primary_key` says what the key is where the identity does not, and the order of its columns.
    pub(crate) fn of_relation(
        relation: &Relation<'_>,
        primary_key: &[String],
        types: &Catalog,
        settings: &RecordSettings,
    ) -> Shape {
        let is_flagged = matches!(relation.identity, Identity::Default | Identity::Index)
            && relation.columns.iter().any(|column| column.is_identity);
        let columns: Vec<ColumnDraft<'_>> = relation
            .columns
            .iter()
            .map(|column| ColumnDraft {
                name: column.name,
                label: column.name,
                oid: column.oid,
                modifier: column.modifier,
                is_key: if is_flagged {
                    column.is_identity
                } else {
                    primary_key.iter().any(|key| key == column.name)
                },
                is_identity: column.is_identity,
            })
            .collect();
        Shape::new(TableName::new(relation.schema, relation.name), &columns, types, settings)
            .with_key_order(primary_key)
    }

    pub(crate) fn has_key(&self) -> bool {
        self.columns.iter().any(|column| column.is_key)
    }
}

fn label(name: &str) -> Vec<u8> {
    let mut label = Vec::new();
    write_utf8(&mut label, name);
    label.put(b":");
    label
}

fn head(table: &TableName) -> Vec<u8> {
    let mut head = b"{\"table_name\":".to_vec();
    write_utf8(&mut head, &table.table);
    head.put(b",\"schema_name\":");
    write_utf8(&mut head, &table.schema);
    head.put(b",\"operation_type\":\"");
    head
}
