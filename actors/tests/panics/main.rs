//! An actor that panics at any of its points takes its tree with it, and nothing else: the source is opened again
//! from the saved state. Fail points are global, so these runs share one process and take turns.

#[path = "../tree/world.rs"]
#[allow(dead_code, reason = "the world of the other tests, of which these need a part")]
mod world;

use std::sync::Mutex;

use fail::FailScenario;
use pico_actors::status::Status;
use world::Plan;

static TURN: Mutex<()> = Mutex::new(());

/// Runs a source whose actor panics at the second passing of `point`, and checks what is left.
fn panic_at(point: &str, window: u32) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let scenario = FailScenario::setup();
    fail::cfg(point, "1*off->1*panic(on purpose)->off").expect("a legal fail point");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let world = Plan { window, ..Plan::default() }.run().await;

        world.until_all_acked().await;

        let copies = world.check_log();
        assert!(copies <= 10 * window as usize, "{copies} copies after a panic at {point}, W = {window}");
        assert_eq!(world.view().await.status, Status::Running);
        assert_eq!(world.plugin.log().openings.len(), 2, "{point}");
        assert!(world.engine.shutdown(std::time::Duration::from_secs(25)).await);
        assert!(!world.delivery.store.is_leased());
    });
    scenario.teardown();
}

#[test]
fn a_panic_in_any_stage_reopens_the_source_from_the_saved_state_b139() {
    for point in ["poll_returned", "routed", "all_delivered", "saved_event", "before_ack", "after_ack"] {
        for window in [1, 4] {
            panic_at(point, window);
        }
    }
}

#[test]
fn a_supervisor_that_dies_is_started_again_by_the_root_b139() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let scenario = FailScenario::setup();
    fail::cfg("opened", "1*panic(on purpose)->off").expect("a legal fail point");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let world = Plan::default().run().await;

        world.until_all_acked().await;

        assert_eq!(world.check_log(), 0);
        assert_eq!(world.plugin.log().openings, [0, 0]);
    });
    scenario.teardown();
}
