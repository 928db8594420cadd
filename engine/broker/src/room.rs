//! How much may wait in a client: what keeps its partitions busy, and no more.
//!
//! An idempotent librdkafka has one request on its way to a partition: its bound of five requests counts records, so that
//! a request of five records or more goes alone. While what waits behind it is older than the linger, its thread asks
//! without a pause whether it may go, which takes a core from everybody else; and a record that waits there takes more
//! memory than in its batch. So where there is a linger, batches stay outside while the client has enough. Without one
//! the thread asks as soon as anything waits, and what helps is that the next request is full when its turn comes.

use std::time::Duration;

use pico_actors::ports::{Cause, DeliveryFailure};
use pico_record::Routed;

use crate::client::Client;
use crate::courier::Courier;
use crate::sending::{CHUNK, Lane};

/// Eighths of a full request to each partition of a batch that may be in a client: one request is on its way, one waits
/// whole, and what counts is an average.
const REQUEST_EIGHTHS: u64 = 18;
/// Longest wait before looking again whether a batch may still be sent; reports that make room end it.
const ROOM_PAUSE: Duration = Duration::from_millis(10);

/// How many records a client may hold for so many partitions, with so many in a full request.
fn room(request: u64, partitions: u64) -> u64 {
    let eighths = request.saturating_mul(REQUEST_EIGHTHS).saturating_mul(partitions);
    (eighths / 8).max(1)
}

/// Records of this size in a full request: by bytes, or by number where that is less and no small one.
fn request(request_bytes: u64, record_bytes: u64, batch_length: u32) -> u64 {
    let by_bytes = request_bytes / record_bytes.max(1);
    by_bytes.clamp(1, u64::from(batch_length).max(CHUNK as u64))
}

impl Client {
    /// How many of `count` records may go in now; none while there is no room worth the call.
    fn admits(&self, count: usize) -> usize {
        let left = self.room.saturating_sub(self.outstanding());
        let count = count as u64;
        if left < self.least(count) { 0 } else { left.min(count) as usize }
    }

    fn least(&self, count: u64) -> u64 {
        count.min(self.room / 8).max(1)
    }

    /// Has this thread woken when there is room.
    fn wake_for(&self, count: usize) {
        let most = self.room - self.least(count as u64);
        self.connection.shared.wake_at(self.sent().saturating_sub(most));
    }
}

impl Courier {
    /// Works out how many records may be in each client that lingers while this batch goes in.
    pub(crate) fn make_room(&mut self, batch: &Routed) {
        let plan = &self.desk.plan;
        let record_bytes = batch.bytes() / u64::from(batch.outgoing().max(1));
        for (at, client) in self.clients.iter_mut().enumerate() {
            let Some(client) = client.as_mut().filter(|_| plan.clients[at].lingers()) else { continue };
            let mine =
                batch.groups().iter().filter(|group| plan.blocks[usize::from(group.block)].client == at);
            let topics = mine.filter_map(|group| client.topics.get(&group.topic));
            let partitions = topics.map(|topic| u64::from(topic.partitions)).sum();
            let request =
                request(plan.clients[at].request_bytes, record_bytes, plan.clients[at].batch_length());
            client.room = room(request, partitions);
        }
    }

    /// Waits until some of `count` records may go into the lane's client: how many.
    pub(crate) fn wait_for_room_of(&mut self, lane: &Lane, count: usize) -> Result<usize, DeliveryFailure> {
        loop {
            let Some(client) = &self.clients[lane.at] else { return Ok(count) };
            match client.admits(count) {
                0 => client.wake_for(count),
                admitted => return Ok(admitted),
            }
            // Reports may have come before they were told to wake.
            if client.admits(count) == 0 {
                self.pause(ROOM_PAUSE)?;
            }
            if self.desk.slots.is_behind_a_failure(lane.ticket) {
                // Nothing overtakes a failed batch, and the rest of one that failed has no use.
                let cause = Cause::new(
                    "broker.not_sent",
                    "the batch, or one before it, failed while it was being sent",
                );
                return Err(DeliveryFailure { cause, is_client_lost: false, needs_human: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_has_a_request_on_its_way_and_one_that_waits() {
        let request = request(1_000_000, 200, 10_000);
        assert_eq!((request, room(request, 1), room(request, 100)), (5_000, 11_250, 1_125_000));
    }

    #[test]
    fn a_request_ends_at_its_number_of_records_unless_that_is_small() {
        assert_eq!(request(1_000_000, 200, 3_000), 3_000);
        assert_eq!(request(1_000_000, 200, 1), 1_000);
        assert_eq!(request(1_000_000, 0, 10_000), 10_000);
    }

    #[test]
    fn a_record_larger_than_any_request_has_room() {
        let request = request(1_000, 10_000_000, 1_000);
        assert_eq!((request, room(request, 1)), (1, 2));
    }
}
