//! A source over a shelf of numbered items in memory, right or with one flaw. It keeps its books by hand, so that the
//! kit is not tested with the SDK's own.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use picomq_connector_sdk::conformance::Subject;
use picomq_connector_sdk::ffi::host::RecordView;
use picomq_connector_sdk::{
    Batch, Capabilities, Error, Interrupt, Mode, OpenContext, Record, Schema, Source, State, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const ITEMS: u64 = 20;
const BATCH: u64 = 3;

/// What is wrong with the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Flaw {
    None,
    CommitsInPoll,
    IgnoresAck,
    SkipsOne,
    NoState,
    IgnoresState,
    FreshOnBadState,
    TransientOnBadState,
    StateOnEmpty,
    MovesBeforeAwait,
    Deaf,
    DeletesInPoll,
    NeverDeletes,
    ForgetsOwed,
    FailsOnSecondDelete,
    DeletesToInspect,
    ReadsFromCommitted,
    NackKeepsLater,
    OwesOnlyLast,
    DeletesToHead,
}

/// The upstream of one test, found by the source under a number in its configuration.
pub(crate) struct Shelf {
    number: u64,
    flaw: Flaw,
    deleted: Deleted,
}

type Deleted = Arc<Mutex<BTreeSet<u64>>>;

static SHELVES: LazyLock<Mutex<HashMap<u64, Deleted>>> = LazyLock::new(Mutex::default);

impl Shelf {
    pub(crate) fn new(flaw: Flaw) -> Shelf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let deleted = Deleted::default();
        SHELVES.lock().expect("whole").insert(number, Arc::clone(&deleted));
        Shelf { number, flaw, deleted }
    }
}

impl Subject for Shelf {
    type Source = Toy;

    async fn reset(&self) {
        self.deleted.lock().expect("whole").clear();
    }

    fn config(&self) -> Value {
        json!({ "shelf": self.number, "flaw": self.flaw })
    }

    fn expected(&self) -> Vec<String> {
        (1..=ITEMS).map(|item| item.to_string()).collect()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        record.id.expect("each record has one").to_owned()
    }

    async fn changed(&self) -> BTreeSet<String> {
        self.deleted.lock().expect("whole").iter().map(ToString::to_string).collect()
    }

    fn has_effects(&self) -> bool {
        true
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Config {
    shelf: u64,
    flaw: Flaw,
}

/// The last item read, and the items to be deleted once that is acknowledged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Position {
    last: u64,
    owed: Vec<u64>,
}

pub(crate) struct Toy {
    flaw: Flaw,
    deleted: Deleted,
    interrupt: Interrupt,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    committed: Position,
    /// One entry a returned batch, with or without a candidate.
    queue: VecDeque<Option<Position>>,
}

impl Books {
    fn head(&self) -> Position {
        self.queue.iter().rev().flatten().next().unwrap_or(&self.committed).clone()
    }
}

impl Source for Toy {
    type Config = Config;
    const NAME: &'static str = "toy";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    async fn open(config: Config, context: OpenContext) -> Result<Toy, Error> {
        let Config { shelf, flaw } = config;
        let deleted = Arc::clone(&SHELVES.lock().expect("whole")[&shelf]);
        let committed = committed(flaw, context.state.as_ref())?;
        let toy = Toy { flaw, deleted, interrupt: context.interrupt, books: Mutex::default() };
        let is_owed = context.mode == Mode::Run || flaw == Flaw::DeletesToInspect;
        if is_owed && flaw != Flaw::ForgetsOwed {
            toy.delete(&committed.owed)?;
        }
        toy.books.lock().expect("whole").committed = committed;
        Ok(toy)
    }

    async fn poll(&self) -> Result<Batch, Error> {
        self.pause().await?;
        let head = self.begin();
        let mut end = (head.last + BATCH).min(ITEMS);
        if head.last == end {
            return Ok(self.nothing(&head));
        }
        if self.flaw == Flaw::SkipsOne {
            end = (end + 1).min(ITEMS);
        }
        let items: Vec<u64> = (head.last + 1..=end.min(head.last + BATCH)).collect();
        let kept = if self.flaw == Flaw::OwesOnlyLast { Vec::new() } else { head.owed };
        let candidate = Position { last: end, owed: [kept, items.clone()].concat() };
        if self.flaw == Flaw::MovesBeforeAwait {
            self.books.lock().expect("whole").committed.last = end;
            tokio::task::yield_now().await;
        }
        if self.flaw == Flaw::DeletesInPoll {
            self.delete(&items)?;
        }
        self.finish(&items, candidate)
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => self.ack(),
            Verdict::Nack => {
                let mut books = self.books.lock().expect("whole");
                if self.flaw == Flaw::NackKeepsLater {
                    books.queue.pop_front();
                } else {
                    books.queue.clear();
                }
                Ok(())
            }
        }
    }

    async fn close(&self) {}
}

fn committed(flaw: Flaw, state: Option<&State>) -> Result<Position, Error> {
    let Some(state) = state.filter(|_| flaw != Flaw::IgnoresState) else { return Ok(Position::default()) };
    let read = state.decode::<Position>(1);
    match flaw {
        Flaw::FreshOnBadState => Ok(read.unwrap_or_default()),
        Flaw::TransientOnBadState => read.map_err(|error| Error::transient(error.to_string())),
        _ => read,
    }
}

impl Toy {
    async fn pause(&self) -> Result<(), Error> {
        if self.flaw == Flaw::Deaf {
            tokio::time::sleep(Duration::from_secs(8)).await;
            return Ok(());
        }
        self.interrupt.sleep(Duration::from_millis(1)).await
    }

    fn begin(&self) -> Position {
        let books = self.books.lock().expect("whole");
        if self.flaw == Flaw::ReadsFromCommitted { books.committed.clone() } else { books.head() }
    }

    /// Nothing new.
    fn nothing(&self, head: &Position) -> Batch {
        self.books.lock().expect("whole").queue.push_back(None);
        let state = State::encode(head, 1).expect("numbers can be written");
        if self.flaw == Flaw::StateOnEmpty { Batch::empty().with_state(state) } else { Batch::empty() }
    }

    fn finish(&self, items: &[u64], candidate: Position) -> Result<Batch, Error> {
        let mut batch = Batch::new(Schema::Text);
        for item in items {
            batch.push(Record::new(item.to_string()).with_id(item.to_string()));
        }
        let state = State::encode(&candidate, 1)?;
        let mut books = self.books.lock().expect("whole");
        if self.flaw == Flaw::CommitsInPoll {
            books.committed = candidate.clone();
        }
        books.queue.push_back(Some(candidate));
        Ok(if self.flaw == Flaw::NoState { batch } else { batch.with_state(state) })
    }

    fn ack(&self) -> Result<(), Error> {
        let mut books = self.books.lock().expect("whole");
        let head = books.head();
        let Some(candidate) = books.queue.pop_front().flatten() else { return Ok(()) };
        let owed = if self.flaw == Flaw::DeletesToHead { head.owed } else { candidate.owed.clone() };
        if self.flaw != Flaw::IgnoresAck {
            // What is done now is owed by no later state.
            books.committed = Position { last: candidate.last, owed: Vec::new() };
            for later in books.queue.iter_mut().flatten() {
                later.owed.retain(|item| !candidate.owed.contains(item));
            }
        }
        drop(books);
        if self.flaw == Flaw::NeverDeletes { Ok(()) } else { self.delete(&owed) }
    }

    fn delete(&self, items: &[u64]) -> Result<(), Error> {
        let mut deleted = self.deleted.lock().expect("whole");
        for item in items {
            if !deleted.insert(*item) && self.flaw == Flaw::FailsOnSecondDelete {
                return Err(Error::permanent(format!("{item} is gone")));
            }
        }
        Ok(())
    }
}
