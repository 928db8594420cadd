//! Random runs of the protocol as it should be: kills, nacks, windows, held bytes. The ledger must find nothing in
//! them, and must find one lost record wherever it is taken out.

use fastrand::Rng;

use super::*;

struct Run {
    random: Rng,
    window: usize,
    holds: bool,
    now_ms: i64,
    saved: Saved,
    number: u64,
    /// What reached each topic since the last reading.
    fresh: Vec<Vec<Entry>>,
    /// What is on its way in a connection that is held.
    held: Vec<Vec<Entry>>,
    steps: Vec<Step>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let lanes = || (0..POOL).map(|_| Vec::new()).collect();
        Self {
            window: random.usize(1..4),
            holds: random.bool(),
            random,
            now_ms: 1_000,
            saved: Saved { life: 0, number: 0, position: 0 },
            number: 0,
            fresh: lanes(),
            held: lanes(),
            steps: Vec::new(),
        }
    }

    fn play(mut self, lives: usize) -> (Plan, Vec<Step>) {
        for _ in 0..lives {
            self.now_ms += 500;
            self.steps.push(started(self.now_ms));
            self.live();
            self.steps.push(if self.holds { held() } else { killed() });
            self.read();
        }
        self.steps.push(recovered(1));
        let in_flight_max = 8 * self.window as u64;
        (Plan { in_flight_max, ..plan() }, self.steps)
    }

    fn live(&mut self) {
        self.now_ms += 200;
        self.saved.life = self.random.u64(..);
        self.number = self.saved.number;
        for _ in 0..self.random.usize(1..6) {
            self.now_ms += 1;
            let batches = self.poll();
            self.send(&batches);
            self.let_go();
            if self.random.u8(..) < 60 {
                let at = self.now_ms;
                let Saved { life, number, position } = self.saved;
                self.steps.push(saw(at, life, number, position));
            }
        }
    }

    /// A window full of batches from the committed position.
    fn poll(&mut self) -> Vec<Sent> {
        let mut start = self.saved.position;
        let mut batches = Vec::new();
        for _ in 0..self.window {
            self.number += 1;
            let size = self.random.u64(1..=8);
            let (life, number) = (self.saved.life, self.number);
            batches.push(Sent { life, number, start, size, at_ms: self.now_ms });
            start += size;
        }
        batches
    }

    /// A prefix of what goes to each topic arrives; the rest is lost, or held. Then the state of some of the batches
    /// that arrived whole is saved; the others count as nacked.
    fn send(&mut self, batches: &[Sent]) {
        let fails = self.random.bool();
        let end = batches.last().map_or(0, |batch| batch.start + batch.size);
        let mut arrived_below = end;
        for lane in 0..POOL {
            let records: Vec<Entry> = batches
                .iter()
                .flat_map(|batch| {
                    (batch.start..batch.start + batch.size).map(move |sequence| (sequence, batch))
                })
                .filter(|(sequence, _)| sequence % POOL == lane)
                .map(|(sequence, batch)| batch.record(sequence))
                .collect();
            let count = if fails { self.random.usize(0..=records.len()) } else { records.len() };
            let place = usize::try_from(lane).unwrap();
            self.fresh[place].extend_from_slice(&records[..count]);
            if count < records.len() {
                let lost = batches.iter().flat_map(|batch| batch.start..batch.start + batch.size);
                let first = lost.filter(|sequence| sequence % POOL == lane).nth(count).unwrap();
                arrived_below = arrived_below.min(first);
                if self.holds && self.held[place].is_empty() {
                    self.held[place] = records[count..].to_vec();
                }
            }
        }
        let whole = batches.iter().filter(|batch| batch.start + batch.size <= arrived_below).count();
        let taken = if fails { self.random.usize(0..=whole) } else { whole };
        if let Some(last) = batches[..taken].last() {
            self.saved.number = last.number;
            self.saved.position = last.start + last.size;
        }
    }

    /// Held bytes arrive at last, when the topics have what they repeat: only then are they late *copies*.
    fn let_go(&mut self) {
        let past = self.saved.position;
        for (held, fresh) in self.held.iter_mut().zip(&mut self.fresh) {
            let all_are_copies = held.iter().all(|entry| sequence_of(entry) < past);
            if all_are_copies && self.random.bool() {
                fresh.append(held);
            }
        }
    }

    fn read(&mut self) {
        self.now_ms += 1;
        let Saved { life, number, position } = self.saved;
        self.steps.push(saw(self.now_ms, life, number, position));
        let fresh: Vec<Entry> = self.fresh.iter_mut().flat_map(std::mem::take).collect();
        self.steps.extend(fresh.into_iter().map(Step::Record));
        self.steps.push(Step::Settle);
    }
}

fn sequence_of(entry: &Entry) -> u64 {
    let document: serde_json::Value = serde_json::from_slice(entry.payload.as_deref().unwrap()).unwrap();
    document["sequence"].as_u64().unwrap()
}

#[test]
fn two_thousand_right_runs_are_clean() {
    let (mut duplicates, mut late) = (0, 0);
    for seed in 0..2_000 {
        let (plan, steps) = Run::new(seed).play(8);
        let report = judge(plan, &steps);
        assert!(report.violations.is_empty(), "seed {seed}: {report}");
        duplicates += report.figures.duplicates;
        late += report.figures.late_copies;
    }
    assert!(duplicates > 10_000 && late > 1_000, "the runs hold what they are for: {duplicates}, {late}");
}

#[test]
fn one_record_lost_from_any_right_run_is_found() {
    for seed in 0..500 {
        let (plan, mut steps) = Run::new(seed).play(6);
        let saved = steps.iter().rev().find_map(|step| match step {
            Step::Event(Event::Saw { state, .. }) => Some(state.position),
            Step::Event(_) | Step::Record(_) | Step::Settle => None,
        });
        let Some(lost) = saved.filter(|saved| *saved > 0).map(|saved| seed % saved) else { continue };
        steps.retain(|step| !matches!(step, Step::Record(entry) if sequence_of(entry) == lost));

        let report = judge(plan, &steps);

        let laws: Vec<Law> = report.violations.iter().map(|violation| violation.law).collect();
        assert!(laws.contains(&Law::K1) && laws.contains(&Law::K3), "seed {seed}, sequence {lost}: {report}");
    }
}
