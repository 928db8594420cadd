//! Asks and reads answers while they come: a page is whole, or it is an error.

use std::sync::{Mutex, PoisonError};

use picomq_connector_sdk::http::Client;
use picomq_connector_sdk::{Error as SourceError, Retry};
use tracing::debug;

use crate::answer::{Decoder, FluxCsv, InfluxQl, JsonLines, Schema};
use crate::client::{Endpoint, refusal};
use crate::error::Error;
use crate::plan::{Ask, Pace};
use crate::query::{Dialect, Query};
use crate::render::{Form, Shape};
use crate::selection::{Page, Room, Selection, Want};
use crate::words;

/// Longest answer to a page, as in the existing runtimes.
const PAGE_BYTES_MAX: u64 = 256 << 20;
/// Longest answer to a group: it is read while it comes, and only a piece of it is kept.
const GROUP_BYTES_MAX: u64 = 4 << 30;
/// Most names of tags or fields.
const NAMES_MAX: usize = 10_000;

/// Reads pages.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) pace: Pace,
    pub(crate) retry: Retry,
    pub(crate) schema: Mutex<Schema>,
}

impl Reader {
    /// The answer to `ask`, tried as often as the definition says.
    pub(crate) async fn read(&self, ask: &Ask) -> Result<Page, SourceError> {
        self.retry.run(|| async { Ok(self.page(ask).await?) }).await
    }

    /// One small question, to see that server, credentials, database and query are right.
    pub(crate) async fn probe(&self, ask: &Ask, retry: Retry) -> Result<(), SourceError> {
        retry.run(|| async { self.page(ask).await.map(drop).map_err(Error::while_opening) }).await
    }

    /// Asks for the schema and once more when columns came that it did not name.
    async fn page(&self, ask: &Ask) -> Result<Page, Error> {
        match self.once(ask, self.schema()).await {
            Err(Error::SchemaChanged) => {
                let schema = self.ask_schema().await?;
                self.once(ask, schema).await
            }
            other => other,
        }
    }

    async fn once(&self, ask: &Ask, schema: Schema) -> Result<Page, Error> {
        let asked = self.query.ask(ask.span, ask.is_inclusive);
        let want = ask.want(&self.pace, asked.cursor, asked.limit);
        debug!(query = asked.text, "asking");
        match self.answer(&asked.text, schema, &self.form, want.clone()).await {
            // The cursor lies after the end that the query names, or a clock was set back: there are no rows yet.
            Err(Error::EmptyRange) => Selection::new(want).finish(false),
            other => other,
        }
    }

    async fn answer(&self, text: &str, schema: Schema, form: &Form, want: Want) -> Result<Page, Error> {
        let most = if want.group.is_some() { GROUP_BYTES_MAX } else { PAGE_BYTES_MAX };
        let mut answer = self.client.send(&self.endpoint.request(text)).await?;
        if !answer.head().is_success() {
            return Err(refusal(answer).await);
        }
        let mut decoder = self.decoder(schema);
        let mut rows = Selection::new(want);
        let mut bytes = 0;
        while let Some(piece) = answer.piece().await? {
            bytes += piece.len() as u64;
            if bytes > most {
                return Err(Error::Unreadable(format!(
                    "query: its answer is longer than {most} bytes; put $limit into it (limit(n: $limit), LIMIT $limit)"
                )));
            }
            decoder.feed(&piece, form, &mut rows)?;
        }
        let is_truncated = decoder.finish(form, &mut rows)?;
        rows.finish(is_truncated)
    }

    fn decoder(&self, schema: Schema) -> Decoder {
        match self.endpoint.dialect {
            Dialect::Flux => Decoder::Flux(Box::new(FluxCsv::new(schema))),
            Dialect::InfluxQl => Decoder::InfluxQl(Box::new(InfluxQl::new((&schema).into()))),
            Dialect::Sql => Decoder::JsonLines(Box::new(JsonLines::new(schema))),
        }
    }

    fn schema(&self) -> Schema {
        self.schema.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks which columns are tags, and keeps the answer.
    async fn ask_schema(&self) -> Result<Schema, Error> {
        let Query::Generated(generated) = &self.query else { return Ok(Schema::Unknown) };
        let mut names = Vec::new();
        for question in generated.schema_questions() {
            names.push(self.names(&question).await?);
        }
        let fields = names.get(1).cloned().unwrap_or_default();
        let tags = names.into_iter().next().unwrap_or_default();
        debug!(tags = tags.len(), fields = fields.len(), "schema asked");
        let schema = |is_fresh| Schema::Asked { tags: tags.clone(), fields: fields.clone(), is_fresh };
        *self.schema.lock().unwrap_or_else(PoisonError::into_inner) = schema(false);
        Ok(schema(true))
    }

    /// The texts of an answer that is a list of names, in order.
    async fn names(&self, question: &str) -> Result<Vec<String>, Error> {
        if self.endpoint.dialect == Dialect::InfluxQl {
            return self.names_of_influxql(question).await;
        }
        let room = Room { records: NAMES_MAX, bytes: 16 << 20 };
        let want = Want { low: i64::MIN, high: None, group: Some(None), room, limit: None, cursor: None };
        let form = Form { shape: Shape::Value, has_metadata: false, payload: text_of("_value"), tags: None };
        let page = self.answer(question, Schema::Unknown, &form, want).await?;
        let text = |entry| String::from_utf8_lossy(page.payload(entry)).into_owned();
        let mut names: Vec<String> =
            page.entries.iter().map(text).filter(|name| !name.starts_with('_')).collect();
        names.sort();
        Ok(names)
    }

    /// `SHOW` has no time, so it is no page.
    async fn names_of_influxql(&self, question: &str) -> Result<Vec<String>, Error> {
        let answer = self.client.send(&self.endpoint.request(question)).await?;
        if !answer.head().is_success() {
            return Err(refusal(answer).await);
        }
        let mut body = Vec::new();
        answer.read(&mut body, 16 << 20).await?;
        let text = String::from_utf8(body).map_err(|_| Error::Malformed("no UTF-8".to_owned()))?;
        let mut names = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let document: serde_json::Value =
                serde_json::from_str(line).map_err(|error| Error::Malformed(error.to_string()))?;
            let first = &document["results"][0];
            if let Some(words) = first["error"].as_str().or(document["error"].as_str()) {
                return Err(words::error(words));
            }
            let values = first["series"][0]["values"].as_array().cloned().unwrap_or_default();
            names.extend(values.iter().filter_map(|row| row[0].as_str().map(str::to_owned)));
        }
        names.sort();
        // A field that has several types stands there once for each.
        names.dedup();
        names.truncate(NAMES_MAX);
        Ok(names)
    }
}

fn text_of(column: &str) -> Option<(String, crate::render::PayloadFormat)> {
    Some((column.to_owned(), crate::render::PayloadFormat::Text))
}
