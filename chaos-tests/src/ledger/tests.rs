//! The checker checked: a log as it should be passes, and every violation planted in it is found under its law. A
//! checker that never failed is no evidence.

use super::*;
use crate::consumer::PROVENANCE;
use crate::journal::Saved;

mod planted;
mod simulation;

const POOL: u64 = 4;
const TEXT_LEN: usize = 12;

fn plan() -> Plan {
    Plan {
        replay: "CHAOS_SEED=1 make chaos".to_owned(),
        prefix: "p-".to_owned(),
        pool: POOL,
        in_flight_max: 8,
        text_len: TEXT_LEN,
        text_repeats: true,
        max_count: None,
        recovery_max_ms: 5_000,
    }
}

/// One thing that the ledger is told.
#[derive(Debug, Clone)]
enum Step {
    Event(Event),
    Record(Entry),
    Settle,
}

fn judge(plan: Plan, steps: &[Step]) -> Report {
    let mut ledger = Ledger::new(plan);
    for step in steps {
        match step {
            Step::Event(event) => ledger.note(event),
            Step::Record(entry) => ledger.take(entry),
            Step::Settle => ledger.settle(),
        }
    }
    ledger.finish()
}

/// A batch as the engine would send it.
#[derive(Debug, Clone, Copy)]
struct Sent {
    life: u64,
    number: u64,
    start: u64,
    size: u64,
    at_ms: i64,
}

impl Sent {
    fn record(&self, sequence: u64) -> Entry {
        let lane = sequence % POOL;
        let text = format!("{sequence:0>TEXT_LEN$}");
        let payload = serde_json::json!({
            "id": "fresh", "sequence": sequence, "user_id": format!("user-{lane}"), "text": text
        });
        let header = format!("{}/{}/{}/{}", self.life, self.number, sequence - self.start, self.size);
        Entry {
            topic: format!("p-user-{lane}"),
            offset: 0,
            timestamp_ms: self.at_ms,
            key: None,
            payload: Some(payload.to_string().into_bytes()),
            headers: vec![(PROVENANCE.to_owned(), header.into_bytes())],
        }
    }

    fn all(&self) -> Vec<Step> {
        (self.start..self.start + self.size).map(|sequence| Step::Record(self.record(sequence))).collect()
    }

    fn some(&self, sequences: &[u64]) -> Vec<Step> {
        sequences.iter().map(|sequence| Step::Record(self.record(*sequence))).collect()
    }
}

fn started(wall_ms: i64) -> Step {
    Step::Event(Event::Started { wall_ms, how: "plain".to_owned() })
}

fn killed() -> Step {
    Step::Event(Event::Broken { what: "kill 1".to_owned(), holds_bytes: false })
}

fn held() -> Step {
    Step::Event(Event::Broken { what: "hold".to_owned(), holds_bytes: true })
}

fn saw(wall_ms: i64, life: u64, number: u64, position: u64) -> Step {
    Step::Event(Event::Saw { wall_ms, state: Saved { life, number, position } })
}

fn recovered(after_ms: u64) -> Step {
    Step::Event(Event::Recovered { after_ms })
}
