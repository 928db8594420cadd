//! How fast a topic fills, and how much memory who fills it has meanwhile.

use std::time::{Duration, Instant};

use chaos_tests::consumer::LogReader;
use chaos_tests::wait::pause;

use super::Stage;

/// A filler that adds nothing for so long is taken as hanging.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// Records a second.
    pub(super) rate: f64,
    /// The most that was resident at any look.
    pub(super) peak_kib: u64,
}

/// Watches `topic` from the first look that finds more than `warm` records in it to the first that finds `rows`.
pub(super) fn watch(
    stage: &Stage<'_>,
    topic: &str,
    (warm, rows): (u32, u32),
    resident_kib: &dyn Fn() -> u64,
) -> Progress {
    let reader = LogReader::new(&stage.bench.kafka.bootstrap()).unwrap();
    let mut began = None;
    let (mut last, mut grew, mut peak_kib) = (0, Instant::now(), 0);
    loop {
        let now = reader.end(topic).unwrap().unwrap_or(0);
        peak_kib = peak_kib.max(resident_kib());
        if now > last {
            (last, grew) = (now, Instant::now());
        }
        if began.is_none() && now > i64::from(warm) {
            began = Some((Instant::now(), now));
        }
        if let Some((since, from)) = began
            && now >= i64::from(rows)
        {
            let rate = (now - from) as f64 / since.elapsed().as_secs_f64();
            return Progress { rate, peak_kib };
        }
        assert!(grew.elapsed() < SILENCE_MAX, "{topic} stands still at {last} of {rows} records");
        pause(LOOK_EVERY);
    }
}
