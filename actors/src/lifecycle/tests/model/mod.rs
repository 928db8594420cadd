//! Every interleaving of one source: the real lifecycle and stage rules between a model of plugin, broker, store and
//! of everything that kills.
//!
//! Mailboxes are as ractor gives them: one queue an actor, in the order of the sends; which actor runs next is free.
//! Not covered: two engines on one key, leaked instances, byte limits, lengths of waits, copies that land after
//! their client was dropped, a real broker.

mod explore;
mod laws;
mod outside;
mod protocol;
mod stages;
mod world;

use explore::{Explored, explore};
use protocol::{Broken, Kind, Protocol};
use world::{Budget, Item};

use crate::lifecycle::{Limits, Order};

const P0: u8 = 1;
const P1: u8 = 2;
const BOTH: u8 = 3;

/// A larger search is refused: the memory of a test run has a bound too.
const STATES_MAX: usize = 3_000_000;
const STATES_MAX_FULL: usize = 60_000_000;

const ORDERS: &[Order] =
    &[Order::Pause, Order::Resume, Order::Restart, Order::Stop, Order::Start, Order::Shutdown];

const RELOADS: &[Order] = &[
    Order::Reload(Limits { window: 1, in_flight_bytes: 101, nack_limit: 30, restarts: true }),
    Order::Keep,
    Order::Pause,
    Order::Stop,
];

fn base(script: &'static [Item], window: usize, faults: u8) -> Protocol {
    Protocol {
        script,
        window,
        nack_limit: 30,
        kind: Kind::File,
        left: Budget { faults, orders: 0, empties: 0, jumps: 0 },
        orders: &[],
        broken: Broken::Nothing,
    }
}

/// Runs `small` and, with `MODEL=full`, `large` too, which wants an optimized build and some minutes.
fn hold(small: &[(&str, Protocol)], large: &[(&str, Protocol)]) {
    let is_full = std::env::var("MODEL").is_ok_and(|value| value == "full");
    for (name, protocol) in small.iter().chain(large.iter().filter(|_| is_full)) {
        let start = std::time::Instant::now();
        match explore(protocol, if is_full { STATES_MAX_FULL } else { STATES_MAX }) {
            Ok(Explored { states, transitions, depth }) => {
                let took = start.elapsed();
                println!("{name}: {states} states, {transitions} transitions, depth {depth}, {took:.1?}");
            }
            Err(trace) => panic!("{name}: {trace}"),
        }
    }
}

/// The law that breaks once `broken` is taken away.
fn breaks(protocol: Protocol, broken: Broken) -> String {
    match explore(&Protocol { broken, ..protocol }, STATES_MAX) {
        Ok(explored) => panic!("nothing breaks: {explored:?}"),
        Err(trace) => trace,
    }
}

fn with_orders(orders: u8, protocol: Protocol) -> Protocol {
    Protocol { orders: ORDERS, left: Budget { orders, ..protocol.left }, ..protocol }
}

/// A changed definition at any point, and the former one again.
fn with_reloads(orders: u8, protocol: Protocol) -> Protocol {
    Protocol { orders: RELOADS, left: Budget { orders, ..protocol.left }, ..protocol }
}

fn with_empties(empties: u8, protocol: Protocol) -> Protocol {
    Protocol { left: Budget { empties, ..protocol.left }, ..protocol }
}

/// After a Nack of records the plugin once names a position past them.
fn with_jump(protocol: Protocol) -> Protocol {
    Protocol { left: Budget { jumps: 1, ..protocol.left }, ..protocol }
}

fn with_http(protocol: Protocol) -> Protocol {
    Protocol { kind: Kind::Http, ..protocol }
}

const R0: Item = Item::Records(P0);
const R1: Item = Item::Records(P1);
const FANNED: Item = Item::Records(BOTH);
const S0: Item = Item::Stateless(P0);
const W: Item = Item::Watermark;
const F: Item = Item::Filtered;

#[test]
fn one_batch_at_a_time() {
    hold(
        &[
            ("W 1, 5 batches, 2 faults", base(&[R0, W, R0, F, R0], 1, 2)),
            ("W 1, 2 batches, 3 faults", base(&[R0, W], 1, 3)),
            ("W 1, 3 batches, 1 fault, 2 empty", with_empties(2, base(&[FANNED, S0, R0], 1, 1))),
        ],
        &[("W 1, 5 batches, 3 faults", base(&[R0, W, R0, F, R0], 1, 3))],
    );
}

#[test]
fn orders_at_any_point() {
    hold(
        &[
            ("W 1, 1 batch, 1 fault, 2 orders", with_orders(2, base(&[R0], 1, 1))),
            ("W 1, 2 batches, 1 fault, 1 order", with_orders(1, base(&[R0, W], 1, 1))),
            ("W 2, 2 batches, 1 fault, 1 order", with_orders(1, base(&[R0, R0], 2, 1))),
        ],
        &[
            ("W 1, 2 batches, 2 faults, 2 orders", with_orders(2, base(&[R0, W], 1, 2))),
            ("W 1, 1 batch, 1 fault, 3 orders", with_orders(3, base(&[R0], 1, 1))),
            ("W 2, 2 batches, 2 faults, 2 orders", with_orders(2, base(&[R0, R0], 2, 2))),
        ],
    );
}

#[test]
fn reloads_at_any_point_never_open_a_second_instance() {
    hold(
        &[
            ("W 1, 1 batch, 2 faults, 1 reload", with_reloads(1, base(&[R0], 1, 2))),
            ("W 1, 1 batch, 1 fault, 2 reloads", with_reloads(2, base(&[R0], 1, 1))),
            ("W 2, 2 batches, 1 fault, 1 reload", with_reloads(1, base(&[R0, R0], 2, 1))),
        ],
        &[
            ("W 1, 2 batches, 2 faults, 2 reloads", with_reloads(2, base(&[R0, W], 1, 2))),
            ("W 2, 2 batches, 2 faults, 2 reloads", with_reloads(2, base(&[R0, R0], 2, 2))),
        ],
    );
}

#[test]
fn two_in_flight() {
    hold(
        &[
            ("W 2, 3 batches, 1 fault, 1 empty", with_empties(1, base(&[R0, R1, R0], 2, 1))),
            ("W 2, 5 batches, 1 fault", base(&[R0, W, FANNED, F, R0], 2, 1)),
            ("W 2, 1 batch, 2 faults", base(&[FANNED], 2, 2)),
            ("W 2, 2 batches, 2 faults", base(&[R0, R1], 2, 2)),
        ],
        &[
            ("W 2, 2 batches, 2 faults, both partitions", base(&[FANNED, R0], 2, 2)),
            ("W 2, 2 batches, 3 faults", base(&[R0, R0], 2, 3)),
            ("W 2, 5 batches, 2 faults", base(&[R0, W, FANNED, F, R0], 2, 2)),
        ],
    );
}

#[test]
fn three_in_flight() {
    hold(
        &[("W 3, 3 batches, 1 fault", base(&[R0, R1, R0], 3, 1))],
        &[
            ("W 3, 5 batches, 1 fault, 1 empty", with_empties(1, base(&[R0, R1, S0, R0, W], 3, 1))),
            ("W 3, 3 batches, 2 faults", base(&[R0, R1, R0], 3, 2)),
        ],
    );
}

#[test]
fn a_batch_without_a_candidate() {
    hold(
        &[("W 2, 3 batches, 1 fault", base(&[S0, R1, R0], 2, 1))],
        &[("W 3, 4 batches, 1 fault", base(&[R0, S0, S0, R0], 3, 1))],
    );
}

#[test]
fn watermarks_that_must_be_refused_b062() {
    hold(
        &[
            ("W 1, 3 batches, 2 faults", with_jump(base(&[R0, W, R0], 1, 2))),
            ("W 2, 3 batches, 1 fault", with_jump(base(&[R0, W, R0], 2, 1))),
        ],
        &[("W 3, 4 batches, 2 faults", with_jump(base(&[R0, W, W, R0], 3, 2)))],
    );
}

#[test]
fn an_http_store() {
    hold(
        &[
            ("W 1, 2 batches, 2 faults", with_http(base(&[R0, W], 1, 2))),
            ("W 2, 2 batches, 1 fault", with_http(base(&[R0, R1], 2, 1))),
        ],
        &[
            ("W 1, 3 batches, 3 faults", with_http(base(&[R0, W, R0], 1, 3))),
            ("W 2, 3 batches, 2 faults", with_http(base(&[R0, R1, R0], 2, 2))),
        ],
    );
}

#[test]
fn the_nack_limit() {
    let limited = |protocol: Protocol| Protocol { nack_limit: 1, ..protocol };
    hold(
        &[
            ("W 1, 2 batches, 2 faults", limited(base(&[R0, W], 1, 2))),
            ("W 1, 1 batch, 1 fault, 2 orders", limited(with_orders(2, base(&[R0], 1, 1)))),
        ],
        &[("W 2, 2 batches, 2 faults, 1 order", limited(with_orders(1, base(&[R0, R0], 2, 2))))],
    );
}

#[test]
fn trap_04_an_opening_that_does_not_sync_what_it_loaded_changes_the_upstream_too_early() {
    let trace = breaks(base(&[R0], 1, 2), Broken::LoadIsNotSynced);
    assert!(trace.starts_with("L5"), "{trace}");
}

#[test]
fn trap_08_an_opening_that_does_not_wait_for_an_old_write_polls_below_the_store() {
    let trace = breaks(base(&[R0, R0], 1, 2), Broken::OpenDoesNotWait);
    assert!(trace.starts_with("a poll below the saved state"), "{trace}");
}

#[test]
fn trap_19_a_broker_that_takes_what_follows_a_refused_record_breaks_the_order() {
    let trace = breaks(base(&[R0, R0], 2, 1), Broken::BrokerTakesTheNext);
    assert!(trace.starts_with("L4"), "{trace}");
}
