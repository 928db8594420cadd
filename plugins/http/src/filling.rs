//! From the gate into the spool: whatever came in while the last group was synced becomes the next group, so that
//! many posts share one sync.

use std::sync::Arc;
use std::time::Duration;

use picomq_connector_sdk::{Check, CheckStatus, Error, Host};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::gate::Gate;
use crate::spool::{Spool, Writer};

/// Bytes of one group; a larger post makes a group alone.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// After a write that failed, before posts are taken again.
const RETRY: Duration = Duration::from_secs(1);

/// Runs until the gate is closed and everything in it is written.
pub(crate) async fn run(gate: Arc<Gate>, spool: Arc<Spool>, mut writer: Writer, host: Host) {
    let mut is_failing = false;
    loop {
        let Some(group) = gate.group(GROUP_BYTES_MAX) else {
            if gate.is_closed() {
                return;
            }
            gate.unwritten.notified().await;
            continue;
        };
        let appended = spawn_blocking(move || {
            let outcome = writer.append(&group.encoded());
            (writer, group, outcome)
        });
        let Ok((returned, group, outcome)) = appended.await else {
            let advice =
                "the writer of the spool is gone: restart the source; until then posts are answered 503";
            tracing::error!("the writer of the spool is gone");
            tell(&host, CheckStatus::Fail, advice.to_owned());
            gate.close();
            return;
        };
        writer = returned;
        match outcome {
            Ok(segment) => {
                spool.grew(segment);
                gate.spooled(group);
                if std::mem::take(&mut is_failing) {
                    tell(&host, CheckStatus::Ok, String::new());
                }
            }
            Err(error) => {
                gate.not_spooled(group);
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::error!(error = &error as &dyn std::error::Error, "the spool cannot be written");
                }
                let error = Error::from(error).chain();
                tell(
                    &host,
                    CheckStatus::Fail,
                    format!("posts are answered 503: {error}; make room or mend the disk"),
                );
                sleep(RETRY).await;
                gate.mended();
            }
        }
    }
}

fn tell(host: &Host, status: CheckStatus, advice: String) {
    host.check(Check { name: "spool".to_owned(), status, since_ms: None, advice });
}
