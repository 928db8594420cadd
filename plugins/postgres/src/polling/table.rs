//! One polled table: what `open` finds out about it, and the reading of one page.

use picomq_connector_sdk::{Batch, Schema};

use crate::change::{Change, Moment, Origin, Place, Verb};
use crate::client::{Connection, frame};
use crate::column::ColumnDraft;
use crate::config::PayloadFormat;
use crate::error::Error;
use crate::polling::custom::{self, Custom, Placeholder};
use crate::polling::guard::{Guard, Look};
use crate::polling::payload;
use crate::polling::query::{Polled, Start};
use crate::polling::state::{Cursor, Owed, OwedRow, PollingState};
use crate::quote::TableName;
use crate::record::Recorder;
use crate::row::Row;
use crate::server::{self, Sight};
use crate::settings::Settings;
use crate::shape::Shape;
use crate::value::Catalog;

/// A batch is cut when the cleanup it would owe is larger.
const OWED_BYTES: usize = 256 << 10;

/// A table and what is known of it.
#[derive(Debug)]
pub(crate) struct TableReader {
    polled: Polled,
    /// Names a row for the record key and for cleanup.
    key: Vec<String>,
    custom: Option<Custom>,
    guard: Guard,
    recorder: Recorder,
}

/// What a page brought.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) batch: Batch,
    pub(crate) cursor: Option<Cursor>,
    pub(crate) owed: Option<Owed>,
    /// There may be more.
    pub(crate) is_full: bool,
}

/// What a page is read with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) types: &'a Catalog,
    pub(crate) state: &'a PollingState,
}

impl TableReader {
    /// Finds out about a table.
    ///
    /// # Errors
    /// A table or column that is not there, or rows that cannot be told apart.
    pub(crate) async fn find(
        sql: &mut Connection,
        table: &TableName,
        settings: &Settings,
    ) -> Result<TableReader, Error> {
        let polling = &settings.polling;
        let facts = server::table_facts(sql, table, Sight::Whole).await?;
        let facts = facts.ok_or_else(|| {
            Error::Refused(format!(
                "tables: there is no table {table}; a name is taken exactly as written, capitals too"
            ))
        })?;
        let custom = polling.custom_query.as_ref().map(|query| custom::parse(query, table)).transpose();
        let custom = custom.map_err(|why| Error::Refused(format!("custom_query: {why}")))?;
        if custom.is_none() {
            let wanted = [Some(&polling.tracking), polling.key.as_ref(), polling.processed.as_ref()];
            let payload = polling.payload.as_ref().map(|(column, _)| column);
            for column in wanted.into_iter().chain([payload]).flatten() {
                if !facts.columns.contains(column) {
                    return Err(Error::Refused(format!("{table} has no column `{column}`")));
                }
            }
        }
        let key = polling.key.clone().map_or(facts.primary_key, |column| vec![column]);
        if key.is_empty() && custom.is_none() {
            return Err(Error::Refused(format!(
                "{table} has no primary key, so of rows with one value of `{}` some could be passed over; give it one, or name a unique \
                 column with primary_key_column",
                polling.tracking
            )));
        }
        let tie_break = key.iter().filter(|column| **column != polling.tracking).cloned().collect();
        let polled = Polled {
            table: table.clone(),
            columns: facts.columns,
            tracking: polling.tracking.clone(),
            tie_break: if custom.is_some() { Vec::new() } else { tie_break },
            processed: polling.processed.clone(),
            has_version: polling.cleanup.is_some(),
        };
        Ok(TableReader { polled, key, custom, guard: Guard::default(), recorder: Recorder::default() })
    }

    pub(crate) fn table(&self) -> &TableName {
        &self.polled.table
    }

    /// Whether rows are there that a transaction still open holds back.
    pub(crate) fn is_waiting(&self) -> bool {
        self.guard.is_waiting()
    }

    /// Whether there are rows that never come, since they have no tracking value.
    pub(crate) async fn has_nulls(&self, sql: &mut Connection) -> Result<bool, Error> {
        if self.custom.is_some() {
            return Ok(false);
        }
        let tracking = crate::quote::identifier(&self.polled.tracking);
        let query = format!("SELECT 1 FROM {} WHERE {tracking} IS NULL LIMIT 1", self.polled.table.quoted());
        Ok(sql.simple(&query).await?.len() > 0)
    }

    /// The cursor saved for this table.
    ///
    /// # Errors
    /// When it is of other columns: what it says means nothing then.
    fn cursor<'a>(&self, state: &'a PollingState) -> Result<Option<&'a Cursor>, Error> {
        let Some(cursor) = state.tables.get(&self.polled.table.quoted()) else { return Ok(None) };
        if cursor.columns.iter().eq(self.polled.order()) {
            return Ok(Some(cursor));
        }
        Err(Error::Refused(format!(
            "the saved position of {} is of the columns {:?}, the definition reads by {:?}: set tracking_column and primary_key_column \
             back, or stop this source and delete its state to begin anew",
            self.polled.table,
            cursor.columns,
            self.polled.order()
        )))
    }

    /// Reads the next page. Not to be gone on with when it is dropped half-way: the connection is then out of step.
    pub(crate) async fn page(&mut self, sql: &mut Connection, reading: Reading<'_>) -> Result<Page, Error> {
        let limit = u32::try_from(reading.settings.cut.records).unwrap_or(u32::MAX);
        let cursor = self.cursor(reading.state)?.cloned();
        let columns = match &self.custom {
            Some(custom) => {
                let query = custom_sql(custom, &self.polled.tracking);
                let values = custom_values(custom, cursor.as_ref(), limit, reading.settings);
                begin(sql, &query, &values).await?
            }
            None => {
                let bound = match self.look(sql).await? {
                    Some(bound) => bound,
                    None => {
                        return Ok(Page { batch: Batch::empty(), cursor: None, owed: None, is_full: false });
                    }
                };
                let offset = reading.settings.polling.initial_offset.clone();
                let (start, values) = match (cursor, offset) {
                    (Some(cursor), _) => (Start::Cursor, [vec![bound], cursor.values].concat()),
                    (None, Some(offset)) => (Start::Offset, vec![bound, offset]),
                    (None, None) => (Start::Everything, vec![bound]),
                };
                begin(sql, &self.polled.page_sql(start, limit), &values).await?
            }
        };
        self.rows(sql, &columns, (limit as usize, reading)).await
    }

    async fn look(&mut self, sql: &mut Connection) -> Result<Option<String>, Error> {
        let answer = sql.simple(&self.polled.look_sql()).await?;
        let number = |column| answer.text(0, column).and_then(|text| text.parse().ok());
        let (Some(oldest_open), Some(next)) = (number(1), number(2)) else {
            return Err(Error::Protocol("a snapshot without its transactions".into()));
        };
        let look = Look { highest: answer.text(0, 0).map(str::to_owned), oldest_open, next };
        Ok(self.guard.look(&look).map(str::to_owned))
    }

    async fn rows(
        &mut self,
        sql: &mut Connection,
        columns: &[frame::ResultColumn],
        (limit, reading): (usize, Reading<'_>),
    ) -> Result<Page, Error> {
        let settings = reading.settings;
        let TableReader { polled, key, recorder, .. } = self;
        let layout = Layout::new((polled, key), columns, reading)?;
        let mut batch = Batch::new(layout.schema());
        let mut owed = Vec::new();
        let (mut cursor, mut owed_bytes, mut count, mut is_cut) = (None, 0, 0, false);
        let time = Moment::now();
        while let Some(body) = sql.next_row().await? {
            count += 1;
            is_cut |= !batch.is_empty()
                && (batch.bytes() + 2 * body.len() > settings.cut.bytes || owed_bytes > OWED_BYTES);
            if is_cut {
                // To the end, so that the connection stays in step; the next page begins behind the last row taken.
                continue;
            }
            let values = frame::values(&body)?;
            let row_cursor = layout.cursor(&values)?;
            let id = serde_json::to_string(&row_cursor.values).unwrap_or_default();
            let origin = Origin { place: Place::Poll { cursor: &id }, time: &time };
            match layout.payload {
                Some((place, format)) => {
                    let value = values.get(place).copied().flatten();
                    payload::add(&mut batch, (value, format), &layout.shape, (place, &origin))?;
                }
                None => {
                    let change = Change { verb: Verb::Select, new: Some(Row::data(&body)?), old: None };
                    recorder.add(&mut batch, (&layout.shape, &settings.records), &change, &origin)?;
                }
            }
            if batch.bytes() > settings.cut.bytes_max {
                return Err(Error::Refused(format!(
                    "one row of {} makes {} bytes, the limit of a batch is {} ([limits] batch_bytes); nothing was skipped: raise the \
                     limit, or leave the large column out with exclude_columns (the row at {id})",
                    polled.table,
                    batch.bytes(),
                    settings.cut.bytes_max
                )));
            }
            if polled.has_version {
                let row = layout.owed(&values)?;
                owed_bytes += row.bytes();
                owed.push(row);
            }
            cursor = Some(row_cursor);
        }
        let owed = (!owed.is_empty()).then(|| Owed {
            batch: reading.state.batch + 1,
            table: polled.table.clone(),
            key: key.clone(),
            rows: owed,
        });
        Ok(Page { batch, cursor, owed, is_full: is_cut || count >= limit })
    }
}

async fn begin(
    sql: &mut Connection,
    query: &str,
    values: &[String],
) -> Result<Vec<frame::ResultColumn>, Error> {
    let values: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
    sql.begin_rows(query, &values).await.map(|rows| rows.columns)
}

fn custom_sql(custom: &Custom, tracking: &str) -> String {
    let tracking = crate::quote::identifier(tracking);
    format!("SELECT * FROM ({}\n) q WHERE q.{tracking} IS NOT NULL ORDER BY q.{tracking}", custom.sql)
}

fn custom_values(custom: &Custom, cursor: Option<&Cursor>, limit: u32, settings: &Settings) -> Vec<String> {
    let now = jiff::Timestamp::now();
    let one = |placeholder: &Placeholder| match placeholder {
        Placeholder::Offset => {
            let offset =
                cursor.and_then(|cursor| cursor.values.first()).or(settings.polling.initial_offset.as_ref());
            offset.cloned().unwrap_or_default()
        }
        Placeholder::Limit => limit.to_string(),
        Placeholder::Now => now.to_string(),
        Placeholder::NowUnix => now.as_second().to_string(),
    };
    custom.parameters.iter().map(one).collect()
}

/// Where in a row what stands.
struct Layout<'a> {
    polled: &'a Polled,
    shape: Shape,
    order: Vec<usize>,
    key: Vec<usize>,
    payload: Option<(usize, PayloadFormat)>,
}

impl<'a> Layout<'a> {
    fn new(
        (polled, key_columns): (&'a Polled, &[String]),
        columns: &[frame::ResultColumn],
        reading: Reading<'_>,
    ) -> Result<Layout<'a>, Error> {
        let place = |name: &String| {
            columns.iter().position(|column| column.name == *name).ok_or_else(|| {
                Error::Refused(format!(
                    "the result for {} has no column `{name}`; custom_query must select it",
                    polled.table
                ))
            })
        };
        let polling = &reading.settings.polling;
        let payload = match &polling.payload {
            Some((column, format)) => Some((place(column)?, *format)),
            None => None,
        };
        let key = if polled.has_version {
            key_columns.iter().map(place).collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        let shown = if polled.has_version { columns.len() - 1 } else { columns.len() };
        let snake: Vec<String> = columns.iter().map(|column| snake_case(&column.name)).collect();
        let drafts: Vec<ColumnDraft<'_>> = columns[..shown]
            .iter()
            .zip(&snake)
            .map(|(column, snake)| ColumnDraft {
                name: &column.name,
                label: if polling.is_snake_case { snake } else { &column.name },
                oid: column.oid,
                modifier: column.modifier,
                is_key: key_columns.contains(&column.name),
                is_identity: false,
            })
            .collect();
        let shape = Shape::new(polled.table.clone(), &drafts, reading.types, &reading.settings.records);
        let order = polled.order().into_iter().map(place).collect::<Result<_, _>>()?;
        Ok(Layout { polled, shape, order, key, payload })
    }

    fn schema(&self) -> Schema {
        self.payload.map_or(Schema::Json, |(_, format)| payload::schema(format))
    }

    fn cursor(&self, values: &[Option<&[u8]>]) -> Result<Cursor, Error> {
        let columns = self.polled.order().into_iter().cloned().collect();
        Ok(Cursor { columns, values: self.texts(&self.order, values)? })
    }

    fn owed(&self, values: &[Option<&[u8]>]) -> Result<OwedRow, Error> {
        let version = self.texts(&[values.len() - 1], values)?.pop().unwrap_or_default();
        Ok(OwedRow { key: self.texts(&self.key, values)?, version })
    }

    fn texts(&self, places: &[usize], values: &[Option<&[u8]>]) -> Result<Vec<String>, Error> {
        let one = |place: &usize| {
            let fault = |why| Error::Value {
                table: self.polled.table.to_string(),
                column: self.shape.columns.get(*place).map_or_else(String::new, |column| column.name.clone()),
                why,
            };
            let value = values.get(*place).copied().flatten();
            let value = value.ok_or_else(|| {
                fault("a null cannot be a position; primary_key_column must be unique and not null")
            })?;
            String::from_utf8(value.to_vec())
                .map_err(|_| fault("a text that is no UTF-8 cannot be a position"))
        };
        places.iter().map(one).collect()
    }
}

/// `createdAt` and `HTTPCode` as `created_at` and `http_code`.
fn snake_case(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| characters[at]);
        let is_start = character.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_uppercase()
                        && characters.get(at + 1).is_some_and(|next| next.is_lowercase()))
            });
        if is_start {
            out.push('_');
        }
        out.extend(if *character == ' ' || *character == '-' {
            vec!['_']
        } else {
            character.to_lowercase().collect()
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_snake_case() {
        for (name, right) in [
            ("createdAt", "created_at"),
            ("HTTPCode", "http_code"),
            ("already_snake", "already_snake"),
            ("ID", "id"),
            ("a1B", "a1_b"),
            ("Col One", "col_one"),
        ] {
            assert_eq!(snake_case(name), right);
        }
    }
}
