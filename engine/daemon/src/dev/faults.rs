//! Faults on a key: what can be made to go wrong, one after the other, each ending by itself.

use std::time::Duration;

use pico_devbroker::FaultKnobs;

/// How long answers are lost. Longer than `dev`'s batch deadline, so that a batch is nacked.
const DROP_ACKS_FOR: Duration = Duration::from_secs(4);
const DOWN_FOR: Duration = Duration::from_secs(5);
const SLOW_FOR: Duration = Duration::from_secs(8);
const SLOW_BY: Duration = Duration::from_millis(700);

/// One of the faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Records are appended, the answers are lost.
    DropAcks,
    /// No connection holds.
    BrokerDown,
    /// Every answer comes late.
    SlowBroker,
}

impl Fault {
    /// The first one.
    pub(crate) const FIRST: Fault = Fault::DropAcks;

    /// The one after it.
    pub(crate) fn next(self) -> Fault {
        match self {
            Fault::DropAcks => Fault::BrokerDown,
            Fault::BrokerDown => Fault::SlowBroker,
            Fault::SlowBroker => Fault::DropAcks,
        }
    }

    /// Stable, for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::DropAcks => "drop_acks",
            Fault::BrokerDown => "broker_down",
            Fault::SlowBroker => "slow_broker",
        }
    }

    /// How long it lasts.
    pub(crate) fn duration(self) -> Duration {
        match self {
            Fault::DropAcks => DROP_ACKS_FOR,
            Fault::BrokerDown => DOWN_FOR,
            Fault::SlowBroker => SLOW_FOR,
        }
    }

    /// What is about to happen, and what to look for.
    pub(crate) fn announcement(self) -> String {
        let seconds = self.duration().as_secs();
        match self {
            Fault::DropAcks => format!(
                "the broker keeps what it gets and its answers are lost for {seconds} s: the batch is nacked and read \
                 again, so some sequences come twice and none is missing"
            ),
            Fault::BrokerDown => format!(
                "the broker is down for {seconds} s: nothing is read ahead, nothing is lost; the batch under way is \
                 read again when it is back"
            ),
            Fault::SlowBroker => format!(
                "every answer comes {} ms late for {seconds} s: slower, but nothing is nacked",
                SLOW_BY.as_millis()
            ),
        }
    }

    /// Makes it happen.
    pub(crate) fn begin(self, knobs: &FaultKnobs) {
        knobs.clear();
        match self {
            Fault::DropAcks => knobs.swallow_answers(true),
            Fault::BrokerDown => knobs.take_down_for(DOWN_FOR),
            Fault::SlowBroker => knobs.delay_answers(SLOW_BY),
        }
    }
}
