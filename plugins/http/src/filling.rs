//! From the gate into the spool, on a thread of its own: whatever came in while the last group was synced becomes the
//! next group, so that many posts share one sync.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use picomq_connector_sdk::{Check, CheckStatus, Error, Host};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::gate::Gate;
use crate::spool::{Spool, SpoolError, Writer};

/// Bytes of one group; a larger post makes a group alone.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// After a write that failed, before posts are taken again.
const RETRY: Duration = Duration::from_secs(1);
/// What a post takes at full speed: within so much for each post of a group their senders can have posted again. A group
/// is not begun earlier, or every sync would serve a few of them only, and syncs would take the time of posts.
const REST_PER_POST: Duration = Duration::from_micros(10);
/// The longest rest. Where a sync takes longer there is none.
const REST_MAX: Duration = Duration::from_micros(300);

/// The one that fills the spool.
struct Filling {
    gate: Arc<Gate>,
    spool: Arc<Spool>,
    writer: Writer,
    host: Host,
    is_failing: bool,
}

/// Runs until the gate is closed and everything in it is written.
pub(crate) async fn run(gate: Arc<Gate>, spool: Arc<Spool>, writer: Writer, host: Host) {
    let (done, ended) = oneshot::channel();
    let filling = Filling { gate: Arc::clone(&gate), spool, writer, host: host.clone(), is_failing: false };
    let (runtime, scope) = (Handle::current(), host.clone());
    let work = move || {
        // Not async, but what it logs is the source's.
        runtime.block_on(scope.scope(async { filling.fill() }));
        let _ = done.send(());
    };
    let started = thread::Builder::new().name("http-spool".to_owned()).spawn(work);
    if started.is_ok() && ended.await.is_ok() {
        return;
    }
    tracing::error!("the writer of the spool is gone");
    let advice = "the writer of the spool is gone: restart the source; until then posts are answered 503";
    tell(&host, CheckStatus::Fail, advice.to_owned());
    gate.close();
}

impl Filling {
    fn fill(mut self) {
        while let Some(group) = self.gate.next_group(GROUP_BYTES_MAX) {
            let began = Instant::now();
            let posts = group.encoded();
            match self.writer.append(&posts) {
                Ok(segment) => {
                    self.spool.grew(segment);
                    self.gate.spooled(group);
                    self.mended();
                    self.gate.rest(rest(posts.len()).saturating_sub(began.elapsed()));
                }
                Err(error) => {
                    self.failed(error);
                    self.gate.not_spooled(group);
                    self.gate.rest(RETRY);
                    self.gate.mended();
                }
            }
        }
    }

    fn mended(&mut self) {
        if std::mem::take(&mut self.is_failing) {
            tell(&self.host, CheckStatus::Ok, String::new());
        }
    }

    fn failed(&mut self, error: SpoolError) {
        if !std::mem::replace(&mut self.is_failing, true) {
            tracing::error!(error = &error as &dyn std::error::Error, "the spool cannot be written");
        }
        let error = Error::from(error).chain();
        let advice = format!("posts are answered 503: {error}; make room or mend the disk");
        tell(&self.host, CheckStatus::Fail, advice);
    }
}

/// From the beginning of a group of so many posts to that of the next one, at least. A post that came alone is followed
/// by another at once.
fn rest(posts: usize) -> Duration {
    match u32::try_from(posts) {
        Ok(0 | 1) => Duration::ZERO,
        Ok(posts) => REST_PER_POST.saturating_mul(posts).min(REST_MAX),
        Err(_) => REST_MAX,
    }
}

fn tell(host: &Host, status: CheckStatus, advice: String) {
    host.check(Check { name: "spool".to_owned(), status, since_ms: None, advice });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_alone_is_followed_at_once_and_many_soon() {
        assert_eq!((rest(0), rest(1)), (Duration::ZERO, Duration::ZERO));
        assert!(rest(2) > Duration::ZERO && rest(2) < rest(8) && rest(8) < REST_MAX);
        for many in [64, 10_000, usize::MAX] {
            assert_eq!(rest(many), REST_MAX);
        }
    }
}
