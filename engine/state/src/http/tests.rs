//! The record against a server, a network that loses, repeats and delays, and callers that go away: random stories,
//! judged by what the server applied.
//!
//! What they do not prove: that the shell around it sends what the record says (the stories over a socket do).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::meaning::{Answer, Attempt, Saved, Tag, of_save};
use super::record::{Condition, Known, Next, NotBegun, Record, Request};

/// What becomes of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It arrives, and so does its answer.
    Works,
    /// It arrives, its answer does not.
    AnswerLost,
    /// It arrives, and a 503 says that something broke after it.
    BrokenAfter,
    /// It is lost on its way.
    Lost,
    /// It arrives much later, when nobody waits for it.
    Late,
    /// 503 or 409, and nothing was done.
    Broken,
    Conflict,
    /// Nobody listens.
    NotSent,
    /// 400, now and whenever it comes again, unless it landed before.
    Rejected,
}

#[derive(Debug, Clone)]
enum Act {
    /// A new save, tried with each of these fates until it is settled.
    Save(Vec<Fate>),
    /// The failed save once more.
    Probe(Vec<Fate>),
    /// An attempt that nobody waits for any more: its tree died.
    CallerGone(Fate),
    /// The tree is opened again.
    Reopen(Vec<Fate>),
    /// The oldest delayed request arrives.
    Arrive,
    /// Another engine takes the source and saves.
    Stranger,
}

/// A server that keeps the contract.
#[derive(Debug, Default)]
struct Server {
    has_tags: bool,
    tag: u64,
    is_there: bool,
    /// What each key was answered with.
    answers: HashMap<String, u64>,
    /// Keys of what it will never take.
    rejected: HashSet<String>,
    /// Ours, in the order in which they landed.
    landed: Vec<u64>,
}

impl Server {
    fn tag(&self, number: u64) -> Option<Vec<u8>> {
        self.has_tags.then(|| format!("\"{number}\"").into_bytes())
    }

    fn take(&mut self, request: &Request) -> Answer {
        if let Some(&tag) = self.answers.get(&request.key) {
            return Answer { status: 200, tag: self.tag(tag), ..Answer::default() };
        }
        if self.rejected.contains(&request.key) {
            return Answer { status: 400, ..Answer::default() };
        }
        let holds = match &request.condition {
            Condition::Absent => !self.is_there,
            Condition::Is(tag) => self.is_there && tag.as_str() == format!("\"{}\"", self.tag),
            Condition::None => true,
        };
        if !holds {
            return Answer { status: 412, ..Answer::default() };
        }
        (self.tag, self.is_there) = (self.tag + 1, true);
        self.answers.insert(request.key.clone(), self.tag);
        self.landed.push(u64::from_le_bytes(request.state[..].try_into().unwrap()));
        Answer { status: 200, tag: self.tag(self.tag), ..Answer::default() }
    }

    fn known(&self) -> Known {
        match (self.is_there, self.tag(self.tag)) {
            (false, _) => Known::Absent,
            (true, Some(tag)) => Known::Tagged(Tag::strong(&tag).unwrap()),
            (true, None) => Known::Untagged,
        }
    }
}

struct World {
    record: Record,
    opening: u64,
    server: Server,
    delayed: Vec<Request>,
    /// Numbers are never used twice, so that order can be judged.
    number: u64,
    /// Whether the failed save may be probed; `None` after one that landed.
    failed: bool,
    strangers: u32,
    /// Somebody else saved since this opening loaded.
    is_taken: bool,
}

impl World {
    fn new(has_tags: bool) -> World {
        let mut world = World {
            record: Record::new(),
            opening: 0,
            server: Server { has_tags, ..Server::default() },
            delayed: Vec::new(),
            number: 0,
            failed: false,
            strangers: 0,
            is_taken: false,
        };
        world.reopen(&[Fate::Works]);
        world
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Save(fates) => self.save(fates),
            Act::Probe(fates) => self.probe(fates),
            Act::CallerGone(fate) => {
                if let Some(request) = self.record.send() {
                    self.attempt(&request, *fate);
                    self.failed = true;
                }
            }
            Act::Reopen(fates) => self.reopen(fates),
            Act::Arrive => {
                if !self.delayed.is_empty() {
                    let request = self.delayed.remove(0);
                    self.server.take(&request);
                }
            }
            Act::Stranger => {
                self.strangers += 1;
                (self.server.tag, self.server.is_there) = (self.server.tag + 1, true);
                self.is_taken = true;
            }
        }
    }

    fn save(&mut self, fates: &[Fate]) {
        if self.failed {
            // The lifecycle never starts a save before the probe has landed or the source was opened again.
            return;
        }
        self.number += 1;
        let state: Arc<[u8]> = self.number.to_le_bytes().as_slice().into();
        match self.record.begin(self.opening, self.number, state, format!("key {}", self.number)) {
            Ok(()) => self.run(fates),
            Err(reason) => assert_eq!(reason, NotBegun::Fenced),
        }
    }

    fn probe(&mut self, fates: &[Fate]) {
        if self.failed && self.record.check_again(self.opening).is_ok() {
            self.run(fates);
        }
    }

    fn run(&mut self, fates: &[Fate]) {
        self.failed = true;
        for fate in fates {
            let request = self.record.send().expect("a save is pending");
            let before = self.server.landed.len();
            let attempt = self.attempt(&request, *fate);
            match self.record.took(of_save(attempt)) {
                Next::Done => {
                    let number = u64::from_le_bytes(request.state[..].try_into().unwrap());
                    assert!(self.server.landed.contains(&number), "{number} is told as saved and is not");
                    self.failed = false;
                    return;
                }
                Next::Fenced => {
                    assert!(self.strangers > 0, "fenced although nobody else ever wrote");
                    assert_eq!(before, self.server.landed.len());
                    return;
                }
                Next::GiveUp(_) => return,
                Next::Again(_) => {}
            }
        }
    }

    fn attempt(&mut self, request: &Request, fate: Fate) -> Attempt {
        let status = |status| Attempt::Answered(Answer { status, ..Answer::default() });
        let lost = || Attempt::Lost("lost".to_owned());
        match fate {
            Fate::Works => Attempt::Answered(self.server.take(request)),
            Fate::AnswerLost => {
                self.server.take(request);
                lost()
            }
            Fate::BrokenAfter => {
                self.server.take(request);
                status(503)
            }
            Fate::Lost => lost(),
            Fate::Late => {
                self.delayed.push(request.clone());
                lost()
            }
            Fate::Broken => status(503),
            Fate::Conflict => status(409),
            Fate::NotSent => Attempt::NotSent("refused".to_owned()),
            Fate::Rejected => {
                self.server.rejected.insert(request.key.clone());
                Attempt::Answered(self.server.take(request))
            }
        }
    }

    /// As the store does it: claim, settle what is owed, load.
    fn reopen(&mut self, fates: &[Fate]) {
        self.opening = self.record.claim();
        if self.record.owes() {
            self.run(fates);
            if self.record.owes() {
                // The opening fails for a passing reason: it does not load, and saves nothing.
                self.failed = true;
                return;
            }
        }
        self.record.loaded(self.server.known());
        (self.failed, self.is_taken) = (false, false);
    }

    /// Nothing that is still on its way may change what was loaded.
    fn check_late_copies(&mut self) {
        let before = self.server.landed.clone();
        for request in std::mem::take(&mut self.delayed) {
            self.server.take(&request);
        }
        assert_eq!(before, self.server.landed, "a late copy landed behind what was loaded or saved after it");
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    use Fate::{AnswerLost, Broken, BrokenAfter, Conflict, Late, Lost, NotSent, Works};
    prop_oneof![
        4 => Just(Works),
        6 => prop::sample::select(vec![AnswerLost, BrokenAfter, Lost, Late, Broken, Conflict, NotSent]),
    ]
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    (prop::collection::vec(fate(), 1..5), prop::bool::weighted(0.1)).prop_map(|(mut fates, is_rejected)| {
        fates.extend(is_rejected.then_some(Fate::Rejected));
        fates
    })
}

fn act(with_strangers: bool) -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => fates().prop_map(Act::Save),
        3 => fates().prop_map(Act::Probe),
        1 => fate().prop_map(Act::CallerGone),
        2 => fates().prop_map(Act::Reopen),
        2 => Just(Act::Arrive),
        u32::from(with_strangers) => Just(Act::Stranger),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn alone_nothing_is_ever_refused_lost_or_out_of_order(
        has_tags in any::<bool>(),
        acts in prop::collection::vec(act(false), 1..40),
    ) {
        let mut world = World::new(has_tags);
        for act in &acts {
            world.act(act);
            let landed = &world.server.landed;
            prop_assert!(landed.is_sorted_by(|one, next| one < next), "{landed:?}");
        }
    }

    #[test]
    fn after_an_opening_no_late_copy_changes_what_was_loaded(acts in prop::collection::vec(act(true), 1..40)) {
        let mut world = World::new(true);
        for act in &acts {
            world.act(act);
        }
        world.reopen(&[Fate::Works]);
        world.check_late_copies();
    }

    #[test]
    fn after_a_stranger_nothing_of_ours_lands_until_the_source_is_opened_again(
        acts in prop::collection::vec(act(true), 1..40),
    ) {
        let mut world = World::new(true);
        for act in &acts {
            let (was_taken, before) = (world.is_taken, world.server.landed.len());
            world.act(act);
            if was_taken && world.is_taken {
                prop_assert_eq!(before, world.server.landed.len());
            }
        }
    }
}

#[test]
fn a_server_that_loses_its_tags_and_finds_them_again_is_fenced_again() {
    let mut record = Record::new();
    let opening = record.claim();
    record.loaded(Known::Tagged(Tag::strong(b"\"1\"").unwrap()));
    let is_unfenced = record.unfenced();
    let mut save = |number, tag: Option<Tag>| {
        record.begin(opening, number, Vec::new().into(), number.to_string()).unwrap();
        let condition = record.send().unwrap().condition;
        assert_eq!(record.took(Saved::Landed(tag)), Next::Done);
        (condition, is_unfenced.load(std::sync::atomic::Ordering::Relaxed))
    };
    let tag = |text: &str| Tag::strong(text.as_bytes()).unwrap();
    assert_eq!(save(1, None), (Condition::Is(tag("\"1\"")), true));
    assert_eq!(save(2, Some(tag("\"3\""))), (Condition::None, false));
    assert_eq!(save(3, Some(tag("\"4\""))), (Condition::Is(tag("\"3\"")), false));
}

#[test]
fn a_lease_of_a_former_opening_saves_nothing() {
    let mut record = Record::new();
    let former = record.claim();
    record.loaded(Known::Absent);
    let present = record.claim();
    record.loaded(Known::Absent);
    let mut begin = |opening| record.begin(opening, 1, Vec::new().into(), String::new());
    assert_eq!(begin(former), Err(NotBegun::NotOwner));
    assert_eq!(begin(present), Ok(()));
    assert_eq!(record.check_again(former), Err(NotBegun::NotOwner));
}

#[test]
fn after_a_refusal_nothing_is_sent_any_more() {
    let mut record = Record::new();
    let opening = record.claim();
    record.loaded(Known::Absent);
    record.begin(opening, 1, Vec::new().into(), "a".to_owned()).unwrap();
    record.send().unwrap();
    assert_eq!(record.took(Saved::Refused), Next::Fenced);
    assert_eq!(record.begin(opening, 2, Vec::new().into(), "b".to_owned()), Err(NotBegun::Fenced));
    assert_eq!(record.check_again(opening), Err(NotBegun::Fenced));
    assert_eq!(record.send(), None);
}

#[test]
fn nothing_newer_begins_before_the_outcome_is_known() {
    let mut record = Record::new();
    let opening = record.claim();
    record.loaded(Known::Absent);
    record.begin(opening, 1, Vec::new().into(), "a".to_owned()).unwrap();
    let first = record.send().unwrap();
    record.took(of_save(Attempt::Lost("cut".to_owned())));
    assert_eq!(record.begin(opening, 2, Vec::new().into(), "b".to_owned()), Err(NotBegun::Owing));
    assert_eq!(record.send().unwrap(), first, "the probe is the very same request");
    record.took(Saved::Landed(None));
    assert_eq!(record.begin(opening, 2, Vec::new().into(), "b".to_owned()), Ok(()));
    assert_eq!(record.begin(opening, 2, Vec::new().into(), "c".to_owned()), Err(NotBegun::NotRising(2)));
}
