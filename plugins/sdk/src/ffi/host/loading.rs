//! Loading a library on a thread of its own: the call that describes it may never end; then that thread is lost, and nobody else.
//!
//! Its initialisers are another matter: while they run, the system's loader holds a lock that each new thread needs, so one that
//! hangs in them stops the whole process. Who loads what he does not trust tries it in a process of its own first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::LoadError;

/// Loads each path once, however many wait for it.
pub(super) struct Loader<T> {
    under_way: Mutex<BTreeMap<PathBuf, Arc<Loading<T>>>>,
}

struct Loading<T> {
    began: Instant,
    outcome: Mutex<Outcome<T>>,
    is_over: Condvar,
}

enum Outcome<T> {
    Awaited,
    Loaded(T),
    /// Whoever takes the error has it; those who come later try for themselves.
    Refused(Option<LoadError>),
}

/// What came of a load.
pub(super) struct Loaded<T> {
    pub(super) outcome: Result<T, LoadError>,
    /// Initialisers ran on this thread, so it stays: to an allocator, for one, it is the main thread from then on, and another
    /// thread that got its address once it ended would be taken for it.
    pub(super) has_begun: bool,
}

/// What loads the library at a real path.
pub(super) type Load<T> = fn(PathBuf) -> Loaded<T>;

impl<T: Clone + Send + 'static> Loader<T> {
    pub(super) const fn new() -> Loader<T> {
        Loader { under_way: Mutex::new(BTreeMap::new()) }
    }

    /// The library at the real path `path`, once `load` has loaded it; `within` counts from when that began. What takes longer
    /// goes on by itself, and who asks later may find it loaded.
    pub(super) fn load(&'static self, path: &Path, within: Duration, load: Load<T>) -> Result<T, LoadError> {
        loop {
            let loading = self.under_way(path, load)?;
            if let Some(outcome) = loading.wait(within) {
                return outcome;
            }
            if loading.is_awaited() {
                let seconds = loading.began.elapsed().as_secs();
                return Err(LoadError::Hung { path: path.to_owned(), seconds });
            }
        }
    }

    /// Joins whoever loads it already, or begins.
    fn under_way(&'static self, path: &Path, load: Load<T>) -> Result<Arc<Loading<T>>, LoadError> {
        let mut all = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(path) {
            return Ok(Arc::clone(known));
        }
        let loading = Arc::new(Loading {
            began: Instant::now(),
            outcome: Mutex::new(Outcome::Awaited),
            is_over: Condvar::new(),
        });
        let (ours, real) = (Arc::clone(&loading), path.to_owned());
        let work = move || {
            let Loaded { outcome, has_begun } = load(real.clone());
            // First, so that who finds no error left begins anew.
            self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&real);
            ours.end(outcome);
            drop(ours);
            if has_begun {
                rest();
            }
        };
        // By the name of its thread a person sees which library hangs.
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let spawned = thread::Builder::new().name(name).spawn(work);
        spawned.map_err(|source| LoadError::NoThread { path: path.to_owned(), source })?;
        all.insert(path.to_owned(), Arc::clone(&loading));
        Ok(loading)
    }
}

fn rest() -> ! {
    loop {
        thread::park();
    }
}

impl<T: Clone> Loading<T> {
    fn end(&self, outcome: Result<T, LoadError>) {
        let outcome = match outcome {
            Ok(loaded) => Outcome::Loaded(loaded),
            Err(error) => Outcome::Refused(Some(error)),
        };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
        self.is_over.notify_all();
    }

    /// `None` when it is not over, or somebody else has the error.
    fn wait(&self, within: Duration) -> Option<Result<T, LoadError>> {
        let left = within.saturating_sub(self.began.elapsed());
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.is_over.wait_timeout_while(outcome, left, |now| matches!(now, Outcome::Awaited));
        match &mut *waited.unwrap_or_else(PoisonError::into_inner).0 {
            Outcome::Awaited => None,
            Outcome::Loaded(loaded) => Some(Ok(loaded.clone())),
            Outcome::Refused(error) => error.take().map(Err),
        }
    }

    fn is_awaited(&self) -> bool {
        matches!(*self.outcome.lock().unwrap_or_else(PoisonError::into_inner), Outcome::Awaited)
    }
}
