//! `[supervision]` of either file, over the defaults it changes.

use crate::checked::Fields;
use crate::context::{Context, Draft};
use crate::supervision::Supervision;

/// `fields` is the table around `[supervision]`.
pub(crate) fn read_supervision(cx: &mut Context<'_>, fields: &Fields, defaults: &Supervision) -> Supervision {
    let Some(table) = fields.table("supervision") else { return defaults.clone() };
    let merged = Supervision {
        nack_limit: table.number_u32("nack_limit").unwrap_or(defaults.nack_limit),
        backoff_initial: table.time("backoff_initial").unwrap_or(defaults.backoff_initial),
        backoff_max: table.time("backoff_max").unwrap_or(defaults.backoff_max),
        poll_backoff_max: table.time("poll_backoff_max").unwrap_or(defaults.poll_backoff_max),
        restart_after: table.time_or_off("restart_after").unwrap_or(defaults.restart_after),
        batch_deadline: table.time("batch_deadline").unwrap_or(defaults.batch_deadline),
        open_timeout: table.time("open_timeout").unwrap_or(defaults.open_timeout),
        verdict_timeout: table.time("verdict_timeout").unwrap_or(defaults.verdict_timeout),
        stall_after: table.time("stall_after").unwrap_or(defaults.stall_after),
    };
    if merged.backoff_initial > merged.backoff_max {
        let shown = |time| humantime::format_duration(time).to_string();
        let (first, last) = (shown(merged.backoff_initial), shown(merged.backoff_max));
        let place = table
            .get("backoff_initial")
            .or(table.get("backoff_max"))
            .map_or(&table.place, |item| &item.place);
        let reason = format!("`backoff_initial` is {first}, more than `backoff_max`, {last}");
        cx.add(place, Draft::error("config.out_of_range", reason));
    }
    merged
}
