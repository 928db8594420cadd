//! The topics of one client: which are known to exist, and how they become known.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use rdkafka::types::RDKafkaErrorCode as Code;

use crate::context::Producer;
use crate::error;
use crate::native::{self, Handle};

/// Records of a topic with one partition go there by number, so that not even a fault of the partitioner moves them.
const ONLY_PARTITION: i32 = 0;
/// The client's partitioner decides.
const BY_PARTITIONER: i32 = -1;

/// A topic that exists.
pub(crate) struct Topic {
    pub(crate) handle: Handle,
    /// What to give librdkafka as partition.
    pub(crate) partition: i32,
    /// How many it has.
    pub(crate) partitions: u32,
    /// Whether the first record of its client for it, which goes alone, has not been taken yet.
    is_new: Cell<bool>,
}

impl Topic {
    fn new(handle: Handle, partitions: i32) -> Topic {
        let is_single = partitions == 1;
        let partition = if is_single { ONLY_PARTITION } else { BY_PARTITIONER };
        // Of several partitions nobody knows beforehand which one a record will go to.
        Topic { handle, partition, partitions: partitions.unsigned_abs(), is_new: Cell::new(is_single) }
    }

    /// Whether the broker has yet to take a record of this client here; from now on it is not asked again.
    pub(crate) fn take_new(&self) -> bool {
        self.is_new.take()
    }

    /// It did not take the record.
    pub(crate) fn put_new_back(&self) {
        self.is_new.set(true);
    }
}

/// What one look at the broker said of the topics asked for.
#[derive(Default)]
pub(crate) struct Look {
    /// Not there, as far as the broker that answered knows.
    pub(crate) missing: Vec<Arc<str>>,
    /// There, but not for us.
    pub(crate) refused: Option<(Arc<str>, Code)>,
}

/// Known topics by name, at most `most` of them beside those of one batch.
pub(crate) struct Topics {
    known: HashMap<Arc<str>, Rc<Topic>>,
    most: usize,
}

impl Topics {
    pub(crate) fn new(most: usize) -> Topics {
        Topics { known: HashMap::new(), most }
    }

    /// A topic that is known to exist.
    pub(crate) fn get(&self, name: &str) -> Option<&Rc<Topic>> {
        self.known.get(name)
    }

    /// The topic may be gone or another one: it has to be looked for anew.
    pub(crate) fn forget(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// Looks for `wanted` in the broker's metadata, all in one request, and remembers those that exist. Blocks for
    /// at most `wait_ms`.
    ///
    /// The request goes through the client that will send, so what it learns, the client's own queues know too.
    pub(crate) fn look(
        &mut self,
        producer: &Arc<Producer>,
        wanted: &[Arc<str>],
        wait_ms: i32,
    ) -> Result<Look, Code> {
        let mut asked = HashMap::with_capacity(wanted.len());
        for name in wanted {
            let handle = Handle::open(producer, &error::c_string(name))?;
            asked.insert(name.clone(), handle);
        }
        let seen: HashMap<_, _> = native::metadata(producer, wait_ms)?.into_iter().collect();
        let mut look = Look::default();
        for (name, handle) in asked {
            match seen.get(&*name) {
                Some(Ok(partitions)) if *partitions > 0 => {
                    self.known.insert(name, Rc::new(Topic::new(handle, *partitions)));
                }
                // Just being made: the broker knows the name and no partition yet.
                Some(Ok(_)) | None | Some(Err(Code::LeaderNotAvailable)) => look.missing.push(name),
                Some(Err(code)) if error::is_unknown(*code) => look.missing.push(name),
                Some(Err(code)) => look.refused = Some((name, *code)),
            }
        }
        Ok(look)
    }

    /// Lets go of handles beyond the bound; those of the batch at hand stay.
    pub(crate) fn trim(&mut self, is_needed: impl Fn(&str) -> bool) {
        if self.known.len() > self.most {
            self.known.retain(|name, _| is_needed(name));
        }
    }
}
