//! Frames of any content to the development broker, behind its socket. A panic in any of its tasks ends the fuzzer.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pico_devbroker::{Config, DevBroker};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Some requests wait on purpose: a fetch, a member of a group. Nobody waits for them here.
const ANSWER_WITHIN: Duration = Duration::from_millis(20);

struct Broker {
    runtime: Runtime,
    broker: DevBroker,
}

static BROKER: LazyLock<Broker> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("threads can be started");
    let config = Config {
        auto_create: true,
        topics_max: 100,
        topic_bytes_max: 1 << 16,
        total_bytes_max: 1 << 20,
        frame_bytes_max: 1 << 16,
        groups_max: 10,
        ..Config::default()
    };
    let broker = runtime.block_on(pico_devbroker::start(config)).expect("a free port");
    Broker { runtime, broker }
});

fuzz_target!(|frame: &[u8]| {
    let Broker { runtime, broker } = &*BROKER;
    let answer = broker.handle();
    let frame = frame.to_vec();
    runtime.block_on(async {
        if let Ok(Some(answer)) = timeout(ANSWER_WITHIN, answer.answer_frame(frame.into())).await {
            assert!(answer.len() >= 4, "an answer without a correlation id");
        }
    });
});
