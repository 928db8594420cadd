//! `doctor KEY`: asks the server what the source would ask, for one row, and says whether there is anything under these names.

use serde_json::{Value, json};

use crate::plan::Ask;
use crate::reader::Reader;
use crate::time;

/// The name under which the engine asks.
pub(crate) const COMMAND: &str = "doctor";

/// All looks, as the engine shows them. `ask` is for one row from the time on before which everything was read; `is_fresh` when
/// nothing was read ever.
pub(crate) async fn looks(reader: &Reader, ask: &Ask, is_fresh: bool) -> Value {
    let from = time::text(ask.span.low);
    let page = match reader.read(ask).await {
        Ok(page) => page,
        Err(error) => return json!({ "checks": [look("server", "error", &error.chain(), None)] }),
    };
    let language = format!("{:?}", reader.endpoint.dialect).to_lowercase();
    let points = match (page.facts.rows > 0, is_fresh) {
        (true, true) => look("points", "ok", "there are points to read", None),
        (true, false) => look("points", "ok", &format!("read up to {from}, there are points to read"), None),
        (false, false) => look("points", "ok", &format!("everything was read, up to {from}"), None),
        (false, true) => look("points", "warning", "nothing to read yet", Some(NOTHING)),
    };
    json!({ "checks": [look("server", "ok", &format!("it answers the query in {language}"), None), points] })
}

/// What to do where there is nothing.
pub(crate) const NOTHING: &str = "see whether measurement, fields and tags, or the query, name what is there (case counts), and whether \
                                  initial_offset lies before it; or wait until somebody writes";

fn look(name: &str, status: &str, detail: &str, advice: Option<&str>) -> Value {
    json!({ "name": name, "status": status, "detail": detail, "advice": advice })
}
