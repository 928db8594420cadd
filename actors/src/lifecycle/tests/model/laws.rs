//! What must never happen, checked where it would.

use picomq_connector_sdk::Verdict;

use super::protocol::Protocol;
use super::world::{Item, Saved, World, Writer};

type Law = Result<(), String>;

fn hold(holds: bool, law: &str) -> Law {
    if holds { Ok(()) } else { Err(law.to_owned()) }
}

/// The plugin is asked for a batch.
pub(super) fn poll_begins(world: &World) -> Law {
    let tree = world.tree.as_ref().expect("a poller has a tree");
    hold(tree.poll.is_none(), "two polls at once")?;
    hold(!matches!(tree.verdict, Some((_, Verdict::Nack))), "a poll while a Nack runs")?;
    hold(
        tree.plugin.head >= world.store.visible.position || has_landed_late(world),
        "a poll below the saved state",
    )?;
    hold(
        world.store.write.is_none_or(|write| !matches!(write.writer, Writer::Probe { .. })),
        "a poll beside a probe",
    )
}

/// I3: at most W batches returned and not resolved.
pub(super) fn batch_is_returned(world: &World, window: usize) -> Law {
    let tree = world.tree.as_ref().expect("a poller has a tree");
    hold(tree.plugin.returned.len() <= window, "I3: more than W batches in flight")
}

/// The plugin is told a verdict.
pub(super) fn verdict_is_told(world: &World, verdict: Verdict) -> Law {
    let tree = world.tree.as_ref().expect("a poller has a tree");
    hold(tree.verdict.is_none(), "two verdicts at once")?;
    let Some(first) = tree.plugin.returned.front() else {
        return Err("I5: a verdict about nothing".to_owned());
    };
    match verdict {
        Verdict::Ack => {
            let saved = world.store.durable.position.min(world.store.visible.position);
            hold(first.state.is_none_or(|state| state <= saved), "I2: Ack before the save")?;
            hold(is_in_log(world, first.at, first.partitions), "I1: Ack of what is not in the log")
        }
        Verdict::Nack => {
            hold(tree.poll.is_none(), "a Nack while a poll runs")?;
            hold(!tree.has_reports_outstanding(), "a Nack with a report outstanding")?;
            let is_saving = world.store.write.is_some_and(|write| write.writer == Writer::Save);
            hold(!is_saving, "a Nack while a save runs")
        }
    }
}

fn is_in_log(world: &World, at: u8, partitions: u8) -> bool {
    (0..2).all(|partition| partitions & (1 << partition) == 0 || world.log[partition] & (1 << at) != 0)
}

/// Promise 2: what closed in order repeats nothing.
pub(super) fn closes_orderly(world: &World) -> Law {
    let Some(tree) = &world.tree else { return Ok(()) };
    hold(tree.poll.is_none(), "an orderly close while a poll runs")?;
    hold(tree.plugin.returned.is_empty(), "an orderly close with a batch in flight")
}

/// A state is written.
pub(super) fn write_begins(world: &World, value: Saved) -> Law {
    hold(world.store.write.is_none(), "two writes at once")?;
    if has_landed_late(world) {
        return Ok(());
    }
    hold(value.position >= world.store.visible.position, "the saved state goes back")?;
    hold(value.number > world.store.newest, "L2: the number in the store does not rise")
}

/// A request of a killed process landed after the opening loaded: what this opening saves is refused (HTTP only).
fn has_landed_late(world: &World) -> bool {
    world.store.known_tag != world.store.tag
}

/// A record enters the log.
pub(super) fn record_is_appended(world: &mut World, script: &[Item], at: u8, partition: u8) -> Law {
    let log = world.log[usize::from(partition)];
    if log & (1 << at) != 0 {
        world.copies += 1;
        return hold(
            world.copies <= world.copies_allowed,
            "L3: more copies than were in flight at the incidents",
        );
    }
    let earlier = script[..usize::from(at)].iter().enumerate();
    let is_first = earlier
        .filter(|(_, item)| item.partitions() & (1 << partition) != 0)
        .all(|(position, _)| log & (1 << position) != 0);
    hold(is_first, "L4: a first occurrence before an earlier one of its partition")?;
    world.log[usize::from(partition)] |= 1 << at;
    Ok(())
}

/// Holds in every state.
pub(super) fn always(protocol: &Protocol, world: &World) -> Law {
    let store = &world.store;
    for saved in [store.visible, store.durable] {
        let below = protocol.script[..usize::from(saved.position)].iter().enumerate();
        for (at, item) in below {
            hold(is_in_log(world, at as u8, item.partitions()), "I1, L1: a state ahead of the log")?;
        }
    }
    let surest = store.visible.position.min(store.durable.position);
    hold(world.pruned <= surest, "L5: the upstream was changed for what is not saved and synced")?;
    let committed = world.tree.as_ref().map_or(0, |tree| tree.plugin.committed);
    hold(committed <= surest, "the plugin is ahead of the store")
}
