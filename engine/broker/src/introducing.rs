//! The first record for a topic goes alone: only when the broker knows the client there may several requests be on
//! their way.
//!
//! From a client that is new in a partition a broker takes any sequence number. Were the first request refused for a
//! moment (a topic just made, its leader not ready), the second would be taken, and librdkafka would then report the
//! first as delivered, which it is not. Were the first refused for good, the second would stand before it.
//!
//! For topics of one partition. Of several nobody knows beforehand which one a record will go to; there a report
//! that librdkafka only concluded fails its batch, so that nothing is lost either (docs/decisions/0006).

use std::time::Duration;

use pico_actors::ports::{Cause, DeliveryFailure};
use pico_record::Routed;

use crate::courier::Courier;
use crate::slots::Ticket;

/// Pause while the report of a first record is outstanding.
const TAKEN_PAUSE: Duration = Duration::from_millis(1);

impl Courier {
    /// Sends the first record for each topic that its client has not sent to yet, and waits for the reports. Answers
    /// the positions of the groups whose first record is sent, in rising order.
    pub(crate) fn introduce(
        &mut self,
        batch: &Routed,
        ticket: Ticket,
    ) -> Result<Vec<usize>, DeliveryFailure> {
        let mut introduced = Vec::new();
        let mut taken = self.send_firsts(batch, ticket, &mut introduced);
        if taken.is_ok() && !introduced.is_empty() {
            taken = self.wait_taken(ticket);
        }
        if let Err(failure) = taken {
            for position in introduced {
                self.lane(&batch.groups()[position], ticket)?.topic.put_new_back();
            }
            return Err(failure);
        }
        Ok(introduced)
    }

    fn send_firsts(
        &mut self,
        batch: &Routed,
        ticket: Ticket,
        introduced: &mut Vec<usize>,
    ) -> Result<(), DeliveryFailure> {
        let mut record = 0;
        for (position, group) in batch.groups().iter().enumerate() {
            let lane = self.lane(group, ticket)?;
            let mut entries = batch.entries(group);
            let records = entries.len() as u32;
            if lane.topic.take_new() {
                introduced.push(position);
                if let Some(first) = entries.next() {
                    let mut alone = Vec::with_capacity(1);
                    self.put_in(&lane, &mut alone, record, &first)?;
                    self.put(&lane, &mut alone)?;
                }
            }
            record += records;
        }
        Ok(())
    }

    fn wait_taken(&mut self, ticket: Ticket) -> Result<(), DeliveryFailure> {
        while !self.desk.slots.is_quiet(ticket) {
            self.pause(TAKEN_PAUSE)?;
        }
        if self.desk.slots.has_failed(ticket) {
            // The batch was failed with the cause already; this only ends its sending.
            let cause = Cause::new("broker.not_sent", "the first record for a topic was refused");
            return Err(DeliveryFailure { cause, is_client_lost: false, needs_human: false });
        }
        Ok(())
    }
}
