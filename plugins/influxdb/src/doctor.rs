//! `doctor KEY`: asks the server what the source would ask, for one row, and says whether there is anything under these names.

use picomq_connector_sdk::doctor::{Look, answer};
use serde_json::Value;

use crate::plan::Ask;
use crate::reader::Reader;
use crate::time;

/// All looks, as the engine shows them. `ask` is for one row from the time on before which everything was read; `is_fresh` when
/// nothing was read ever.
pub(crate) async fn looks(reader: &Reader, ask: &Ask, is_fresh: bool) -> Value {
    let from = time::text(ask.span.low);
    let page = match reader.read(ask).await {
        Ok(page) => page,
        Err(error) => return answer(&[Look::error("server", error.chain())]),
    };
    let language = format!("{:?}", reader.endpoint.dialect).to_lowercase();
    let points = match (page.facts.rows > 0, is_fresh) {
        (true, true) => Look::ok("points", "there are points to read"),
        (true, false) => Look::ok("points", format!("read up to {from}, there are points to read")),
        (false, false) => Look::ok("points", format!("everything was read, up to {from}")),
        (false, true) => Look::warning("points", "nothing to read yet").advice(NOTHING),
    };
    answer(&[Look::ok("server", format!("it answers the query in {language}")), points])
}

/// What to do where there is nothing.
pub(crate) const NOTHING: &str = "see whether measurement, fields and tags, or the query, name what is there (case counts), and whether \
                                  initial_offset lies before it; or wait until somebody writes";
