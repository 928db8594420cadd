//! The watch over the files: a look at each once a second, on every file system alike. A file that is renamed over, a
//! folder whose `..data` link is swapped, a secret that is rotated, a share that tells nobody of changes: all show.

use std::time::Duration;

use super::look::Look;
use super::{Reloads, Trigger};

/// Between two looks. One `stat` a file: a thousand files cost milliseconds.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Files must look the same twice with so much time between, so that what is still being written is not read.
const SETTLES_WITHIN: Duration = Duration::from_millis(200);

/// A file that never comes to rest is read all the same after so many looks.
const LOOKS_MAX: u32 = 10;

/// Looks until the process ends.
pub(super) async fn watch(reloads: Reloads) {
    let mut known = None;
    loop {
        let outside = settled(&reloads, known).await;
        if known != Some(outside) {
            known = Some(outside);
            take_up(&reloads).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What the files look like once they hold still.
async fn settled(reloads: &Reloads, known: Option<u64>) -> u64 {
    let mut outside = outside(reloads).await;
    for _ in 0..LOOKS_MAX {
        if known == Some(outside) {
            break;
        }
        tokio::time::sleep(SETTLES_WITHIN).await;
        let again = self::outside(reloads).await;
        if std::mem::replace(&mut outside, again) == again {
            break;
        }
    }
    outside
}

async fn outside(reloads: &Reloads) -> u64 {
    let referenced = reloads.shared.last.lock().await.referenced.clone();
    let shared = reloads.shared.clone();
    tokio::task::spawn_blocking(move || Look::outside(&shared.config, &shared.files, &referenced))
        .await
        .unwrap_or_default()
}

/// A touch is no change: contents decide.
async fn take_up(reloads: &Reloads) {
    let (last, now) = reloads.look().await;
    if last.is_none_or(|last| last.inside != now.inside) {
        // What went wrong is in the log, and shows on the sources.
        reloads.reload(Trigger::Watch, None).await.ok();
    }
}
