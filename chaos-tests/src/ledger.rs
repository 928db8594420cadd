//! The checker: one pass over the logs, in small memory, that finds what must never be.
//!
//! It is told what the harness did and saw ([`Event`]s) and given every record ([`Entry`]) in offset order within
//! its topic. After each reading of the saved state the logs are read to their end and [`Ledger::settle`] is
//! called, so that a loss names the kill that made it. [`Ledger::finish`] gives the [`Report`].
//!
//! A batch is known by (life, number) from the header `picomq.batch`. Lives are ordered by the time their records
//! carry, which is the clock of the same machine that the harness notes its starts with; so this ledger is not for
//! runs that turn the engine's clock.
//!
//! What it does not prove: that records with no header were never sent elsewhere, and anything about topics that
//! it was not given.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::consumer::Entry;
use crate::journal::Event;

mod batches;
mod effects;
mod history;
mod intervals;
mod lane;
mod report;
mod sighting;

use batches::Batches;
pub use effects::{SideEffects, check_side_effects};
use history::History;
use lane::Lane;
pub use report::{Figures, Law, Report, Violation};
pub use sighting::BatchId;
use sighting::{Seen, describe, name};

/// What the workload was and what is allowed.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How to run the same again: stands in every violation.
    pub replay: String,
    /// What stands before `user-k` in the topics.
    pub prefix: String,
    /// How many topics: record `s` belongs to `user-(s mod pool)`.
    pub pool: u64,
    /// The most records that can be in flight: window × largest batch.
    pub in_flight_max: u64,
    /// The length of the random text of every record; 0 for a source that writes none.
    pub text_len: usize,
    /// The text of a record is the same in every copy (the source has a `seed`).
    pub text_repeats: bool,
    /// No sequence reaches this.
    pub max_count: Option<u64>,
    /// The longest that a recovery may take.
    pub recovery_max_ms: u64,
}

/// The document of the random source, and of the faulty source's script, which has no text.
#[derive(Deserialize)]
struct Document<'a> {
    sequence: u64,
    user_id: &'a str,
    #[serde(default)]
    text: &'a str,
}

/// The checker of one run of one source.
#[derive(Debug)]
pub struct Ledger {
    plan: Plan,
    lanes: Vec<Lane>,
    batches: Batches,
    history: History,
    /// CRC of the text of each sequence, kept only when texts repeat.
    texts: BTreeMap<u64, u32>,
    starts: Vec<(i64, String)>,
    broken: Vec<String>,
    holds_bytes: bool,
    waits_for_recovery: bool,
    figures: Figures,
    violations: Vec<Violation>,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(plan: Plan) -> Self {
        let lanes = (0..plan.pool).map(|lane| Lane::new(lane, plan.pool)).collect();
        Self {
            plan,
            lanes,
            batches: Batches::default(),
            history: History::default(),
            texts: BTreeMap::new(),
            starts: Vec::new(),
            broken: Vec::new(),
            holds_bytes: false,
            waits_for_recovery: false,
            figures: Figures::default(),
            violations: Vec::new(),
        }
    }

    /// The topics whose records it wants.
    pub fn topics(&self) -> Vec<String> {
        (0..self.plan.pool).map(|lane| format!("{}user-{lane}", self.plan.prefix)).collect()
    }

    /// Takes one event, in the order of the journal.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Started { wall_ms, how } => {
                self.figures.starts += 1;
                self.starts.push((*wall_ms, how.clone()));
            }
            Event::Broken { what, holds_bytes } => {
                self.figures.incidents += 1;
                self.holds_bytes |= holds_bytes;
                self.waits_for_recovery = true;
                self.broken.push(what.clone());
            }
            Event::Mended => self.waits_for_recovery = true,
            Event::Saw { wall_ms, state } => {
                let found = self.history.saw(*wall_ms, *state);
                self.report(Law::K8, found);
            }
            Event::SawNothing => {
                let found = self.history.saw_nothing();
                self.report(Law::K8, found);
            }
            Event::Recovered { after_ms } => self.recovered(*after_ms),
        }
    }

    fn recovered(&mut self, after_ms: u64) {
        self.waits_for_recovery = false;
        self.figures.recoveries_ms.push(after_ms);
        let limit = self.plan.recovery_max_ms;
        let late =
            (after_ms > limit).then(|| format!("recovered after {after_ms} ms, the limit is {limit} ms"));
        self.report(Law::K11, late);
    }

    /// Takes one record. Within a topic they come in the order of their offsets.
    pub fn take(&mut self, entry: &Entry) {
        self.figures.records += 1;
        match self.read(entry) {
            Ok((lane, seen)) => self.check(lane, &seen, &entry.topic),
            Err(reason) => {
                let text = format!("topic {} offset {}: {reason}", entry.topic, entry.offset);
                self.report(Law::K2, Some(text));
            }
        }
    }

    /// The form of one record: everything about it that can be judged without any other.
    fn read(&mut self, entry: &Entry) -> Result<(usize, Seen), String> {
        let payload = entry.payload.as_deref().ok_or("a tombstone")?;
        let document: Document<'_> =
            serde_json::from_slice(payload).map_err(|error| format!("the payload is not ours: {error}"))?;
        let provenance = entry.provenance().ok_or("the header picomq.batch is missing or malformed")?;
        let sequence = document.sequence;
        let lane = sequence % self.plan.pool;
        let user = format!("user-{lane}");
        if document.user_id != user {
            return Err(format!("sequence {sequence} has user_id {:?}, not {user}", document.user_id));
        }
        if entry.topic != format!("{}{user}", self.plan.prefix) {
            return Err(format!("sequence {sequence} belongs to another topic, {user}"));
        }
        if document.text.len() != self.plan.text_len
            || !document.text.bytes().all(|b| b.is_ascii_alphanumeric())
        {
            return Err(format!("sequence {sequence} has a text that the source does not make"));
        }
        if self.plan.max_count.is_some_and(|count| sequence >= count) {
            return Err(format!("sequence {sequence} is past max_count"));
        }
        if self.plan.text_repeats {
            let hash = crc32c::crc32c(document.text.as_bytes());
            if *self.texts.entry(sequence).or_insert(hash) != hash {
                return Err(format!("sequence {sequence} has another text than its earlier copy"));
            }
        }
        let batch = BatchId { life: provenance.life, number: provenance.number };
        let rank = self.batches.rank(batch, entry.timestamp_ms);
        let seen = Seen {
            sequence,
            offset: entry.offset,
            batch,
            rank,
            index: provenance.index,
            size: provenance.size,
        };
        Ok((usize::try_from(lane).expect("a pool fits in memory"), seen))
    }

    /// What one record says together with all before it.
    fn check(&mut self, lane: usize, seen: &Seen, topic: &str) {
        let place = format!(
            "topic {topic} offset {}: sequence {} of batch {}",
            seen.offset,
            seen.sequence,
            name(seen.batch)
        );
        let (findings, kind) = self.lanes[lane].take(seen, self.plan.pool);
        match kind {
            lane::Kind::First => self.figures.distinct += 1,
            lane::Kind::Copy => self.figures.duplicates += 1,
            lane::Kind::Late => self.figures.late_copies += 1,
        }
        for (law, text) in findings {
            self.report(law, Some(format!("{place} {text}")));
        }
        if kind == lane::Kind::Late && !self.holds_bytes {
            let text = format!("{place} is a late copy, and nothing held bytes back in this run");
            self.report(Law::K7, Some(text));
        }
        let found = self.batches.take(seen, kind == lane::Kind::Copy);
        self.report(found.0, found.1.map(|text| format!("{place} {text}")));
        let floor = self.history.floor(seen.batch, seen.rank.life_began_ms);
        if let Some(saved) = floor.filter(|saved| seen.sequence < saved.position) {
            let text = format!("{place} was polled after {} had been saved", describe(saved));
            self.report(Law::K4, Some(text));
        }
    }

    /// What there was so far.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// To be called when the logs have been read to an end that was fixed after the last observed state was read:
    /// everything below that state must be there.
    pub fn settle(&mut self) {
        let Some(saved) = self.history.last() else { return };
        for lane in 0..self.lanes.len() {
            let missing = self.lanes[lane].first_missing();
            if missing < saved.position {
                let topic = &self.topics()[lane];
                let text = format!(
                    "topic {topic}: sequence {missing} is not there, but {} is saved",
                    describe(saved)
                );
                self.report(Law::K3, Some(text));
            }
        }
    }

    /// Judges the whole. Call it after a last observation, reading and [`settle`](Self::settle).
    pub fn finish(mut self) -> Report {
        let position = self.history.last().map_or(0, |saved| saved.position);
        let topics = self.topics();
        for (lane, topic) in topics.iter().enumerate() {
            for hole in self.lanes[lane].holes(position) {
                let text = format!("topic {topic}: sequences {} to {} never came", hole.start, hole.end);
                self.report(Law::K1, Some(text));
            }
        }
        let (bounds, most) = self.batches.rewinds(self.plan.in_flight_max);
        self.figures.most_at_one_incident = most;
        self.figures.bound = self.plan.in_flight_max;
        for text in bounds {
            self.report(Law::K5, Some(text));
        }
        if self.waits_for_recovery {
            self.report(Law::K11, Some("the source has not recovered after the last incident".to_owned()));
        }
        self.figures.position = position;
        self.figures.batches = self.batches.len();
        Report { figures: self.figures, violations: self.violations, replay: self.plan.replay }
    }

    fn report(&mut self, law: Law, text: Option<String>) {
        let Some(text) = text else { return };
        let start = self.starts.last().map_or("before any start", |(_, how)| how);
        let incident = format!(
            "{} (start {}: {start})",
            self.broken.last().map_or("nothing broken yet", String::as_str),
            self.starts.len()
        );
        self.violations.push(Violation { law, text, incident, replay: self.plan.replay.clone() });
    }
}

#[cfg(test)]
mod tests;
