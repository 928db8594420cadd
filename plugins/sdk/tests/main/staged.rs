//! Stage and apply: which candidate a verdict promotes, whatever happened to the polls before.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{
    Batch, Capabilities, Error, OpenContext, Record, Schema, Source, Staged, State, Verdict,
};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// A counter whose next poll is set by the test.
struct Counter {
    staged: Staged<u64>,
    next: Mutex<Next>,
    promoted: Mutex<Vec<Option<u64>>>,
    /// Does not hand its next Ack on.
    forgets: AtomicBool,
}

/// What a poll does.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// One record and the next number.
    Record,
    /// Neither record nor candidate.
    Empty,
    /// One record, whose candidate is not saved.
    Unsaved,
    /// Stages, and then fails: its batch never existed for the engine.
    StageAndFail,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing {}

impl Source for Counter {
    type Config = Nothing;
    const NAME: &'static str = "counter";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    async fn open(_: Nothing, context: OpenContext) -> Result<Counter, Error> {
        let staged = Staged::open(&context, 1, || 0)?;
        Ok(Counter {
            staged,
            next: Mutex::new(Next::Record),
            promoted: Mutex::default(),
            forgets: AtomicBool::new(false),
        })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        let next = *self.next.lock().expect("whole");
        let number = self.staged.head() + 1;
        let mut batch = Batch::new(Schema::Text);
        batch.push(Record::new(number.to_string()));
        match next {
            Next::Empty => Ok(Batch::empty()),
            Next::Record => self.staged.stage(batch, number),
            Next::Unsaved => Ok(self.staged.stage_unsaved(batch, number)),
            Next::StageAndFail => {
                let _ = self.staged.stage(batch, number)?;
                Err(Error::transient("after staging"))
            }
        }
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack if self.forgets.swap(false, Ordering::SeqCst) => {}
            Verdict::Ack => self.promoted.lock().expect("whole").push(self.staged.ack()),
            Verdict::Nack => self.staged.nack(),
        }
        Ok(())
    }

    async fn close(&self) {}
}

async fn open() -> Bench<Counter> {
    Bench::open(Setting::new(json!({}))).await.expect("nothing can be wrong")
}

async fn poll(bench: &Bench<Counter>, next: Next) {
    *bench.source().next.lock().expect("whole") = next;
    let _ = bench.poll().await;
}

fn promoted(bench: &Bench<Counter>) -> Vec<Option<u64>> {
    bench.source().promoted.lock().expect("whole").clone()
}

#[tokio::test]
async fn an_empty_batch_between_two_takes_its_turn() {
    let bench = open().await;
    for next in [Next::Record, Next::Empty, Next::Record] {
        poll(&bench, next).await;
    }
    for _ in 0..3 {
        bench.resolve(Verdict::Ack).await.unwrap();
    }
    assert_eq!(promoted(&bench), [Some(1), None, Some(2)]);
}

#[tokio::test]
async fn a_candidate_whose_poll_failed_is_never_promoted() {
    let bench = open().await;
    poll(&bench, Next::StageAndFail).await;
    poll(&bench, Next::Empty).await;
    bench.resolve(Verdict::Ack).await.unwrap();
    assert_eq!(promoted(&bench), [None]);
    assert_eq!(bench.source().staged.committed(), 0);
}

#[tokio::test]
async fn the_head_skips_a_candidate_whose_poll_failed() {
    let bench = open().await;
    poll(&bench, Next::Record).await;
    poll(&bench, Next::StageAndFail).await;
    assert_eq!(bench.source().staged.head(), 1);
    poll(&bench, Next::Record).await;
    bench.resolve(Verdict::Ack).await.unwrap();
    bench.resolve(Verdict::Ack).await.unwrap();
    assert_eq!(promoted(&bench), [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_nack_forgets_every_candidate() {
    let bench = open().await;
    for _ in 0..3 {
        poll(&bench, Next::Record).await;
    }
    bench.resolve(Verdict::Ack).await.unwrap();
    bench.resolve(Verdict::Nack).await.unwrap();
    assert_eq!((bench.source().staged.committed(), bench.source().staged.head()), (1, 1));
}

#[tokio::test]
async fn an_ack_that_was_not_handed_on_is_made_up_by_the_next() {
    let bench = open().await;
    poll(&bench, Next::Record).await;
    poll(&bench, Next::Record).await;
    bench.source().forgets.store(true, Ordering::SeqCst);
    bench.resolve(Verdict::Ack).await.unwrap();
    bench.resolve(Verdict::Ack).await.unwrap();
    assert_eq!(promoted(&bench), [Some(2)]);
}

#[tokio::test]
async fn what_is_not_saved_is_promoted_all_the_same_and_carries_no_state() {
    let bench = open().await;
    *bench.source().next.lock().expect("whole") = Next::Unsaved;
    assert!(bench.poll().await.unwrap().state().is_none());
    bench.resolve(Verdict::Ack).await.unwrap();
    assert_eq!((promoted(&bench), bench.source().staged.committed()), (vec![Some(1)], 1));
}

#[tokio::test]
async fn a_saved_state_is_where_it_goes_on() {
    let state = State::encode(&41_u64, 1).unwrap();
    let setting = Setting::new(json!({})).with_state(Some(state));
    let bench = Bench::<Counter>::open(setting).await.unwrap();
    assert_eq!(bench.source().staged.committed(), 41);
}

/// What may happen to a source, as the engine orders it: polls, and verdicts while something is unresolved.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Poll(Next),
    Resolve(Verdict),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => Just(Happening::Poll(Next::Record)),
        1 => Just(Happening::Poll(Next::Unsaved)),
        1 => Just(Happening::Poll(Next::Empty)),
        1 => Just(Happening::Poll(Next::StageAndFail)),
        3 => Just(Happening::Resolve(Verdict::Ack)),
        1 => Just(Happening::Resolve(Verdict::Nack)),
    ]
}

proptest! {
    /// Against a queue kept by hand: the same is promoted, committed and read on from.
    #[test]
    fn every_history_promotes_what_a_plain_queue_would(history in proptest::collection::vec(happening(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let bench = open().await;
            let (mut committed, mut queue) = (0_u64, std::collections::VecDeque::new());
            for happening in history {
                let head = queue.iter().rev().copied().flatten().next().unwrap_or(committed);
                prop_assert_eq!(bench.source().staged.head(), head);
                match happening {
                    Happening::Poll(next) => {
                        poll(&bench, next).await;
                        match next {
                            Next::Record | Next::Unsaved => queue.push_back(Some(head + 1)),
                            Next::Empty => queue.push_back(None),
                            Next::StageAndFail => {}
                        }
                    }
                    Happening::Resolve(_) if queue.is_empty() => {}
                    Happening::Resolve(verdict) => {
                        bench.resolve(verdict).await.expect("a counter takes every verdict");
                        match verdict {
                            Verdict::Ack => committed = queue.pop_front().flatten().unwrap_or(committed),
                            Verdict::Nack => queue.clear(),
                        }
                    }
                }
                prop_assert_eq!(bench.source().staged.committed(), committed);
            }
            Ok(())
        })?;
    }
}
