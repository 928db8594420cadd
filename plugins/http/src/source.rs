//! The source: opens listener and spool, hands out what came in, and tells the senders what became of it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use picomq_connector_sdk::doctor::COMMAND;
use picomq_connector_sdk::{
    Batch, Capabilities, Check, CheckStatus, Error, Gauge, Host, Interrupt, Mode, OpenContext, Source,
    Staged, Verdict,
};
use serde_json::Value;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep};
use tracing::info;

use crate::config::HttpConfig;
use crate::desk::{Counts, Desk};
use crate::doctor;
use crate::endpoints::Endpoints;
use crate::filling;
use crate::gate::Gate;
use crate::listener::{self, Seat};
use crate::position::{Position, STATE_VERSION};
use crate::settings::{Durability, Settings};
use crate::spool::{self, Opened, Opening, Room, Spool, SpoolError};

/// How long an opening waits for address and spool of an instance that was just destroyed.
const HANDOVER: Duration = Duration::from_secs(3);
const HANDOVER_STEP: Duration = Duration::from_millis(20);

/// A batch from the spool that is not full waits so long for more.
const SPOOL_LINGER: Duration = Duration::from_millis(25);

/// Takes webhooks. `docs/sources/http.md` says how.
pub struct HttpSource {
    desk: Arc<Desk>,
    spool: Option<Arc<Spool>>,
    position: Staged<Position>,
    interrupt: Interrupt,
    host: Host,
    room: Room,
    /// None when it only looks.
    running: Mutex<Option<Running>>,
    local: Option<SocketAddr>,
}

/// What ends with the source.
struct Running {
    seat: Seat,
    filling: Option<JoinHandle<()>>,
}

impl Source for HttpSource {
    type Config = HttpConfig;
    const NAME: &'static str = "http";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: true, own_runtime: false };

    async fn maintain(
        config: HttpConfig,
        context: OpenContext,
        name: &str,
        _: Value,
    ) -> Result<Option<Value>, Error> {
        if name != COMMAND {
            return Ok(None);
        }
        let settings = config.check(&context)?;
        let committed = Staged::open(&context, STATE_VERSION, Position::default)?.committed();
        let has_spool = settings.spool_folder.is_some() || committed.is_spooled;
        let spool = match has_spool {
            true => Some(open_spool(&settings, &committed, true).await.map(drop)),
            false => None,
        };
        Ok(Some(doctor::looks(&settings, spool).await))
    }

    fn check(config: HttpConfig, context: &OpenContext) -> Result<(), Error> {
        config.check(context).map(drop)
    }

    async fn open(config: HttpConfig, context: OpenContext) -> Result<HttpSource, Error> {
        let settings = config.check(&context)?;
        let position = Staged::open(&context, STATE_VERSION, Position::default)?;
        let committed = position.committed();
        let is_inspection = context.mode == Mode::Inspect;
        let opened = open_spool(&settings, &committed, is_inspection).await?;
        let spool = opened.spool.map(Arc::new);
        let gate = Arc::new(Gate::new(settings.bounds, spool.clone(), committed.next));
        committed.digests()?.into_iter().chain(opened.digests).for_each(|digest| gate.remember(digest));
        let endpoints = load_endpoints(&settings).await?;
        let room = Room { records: settings.batch_records, bytes: settings.batch_bytes };
        let desk = Arc::new(Desk { settings, gate, endpoints, counts: Counts::default() });
        let running = match is_inspection {
            true => None,
            false => Some(start(&desk, &context.host, spool.clone().zip(opened.writer)).await?),
        };
        let local = running.as_ref().map(|running| running.seat.local_addr());
        report(&desk.settings, &context.host);
        info!(address = ?local, next = committed.next, "http source opened");
        let (interrupt, host) = (context.interrupt, context.host);
        Ok(HttpSource { desk, spool, position, interrupt, host, room, running: Mutex::new(running), local })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        let _polling = self.desk.gate.polling();
        let (batch, candidate) = loop {
            let head = self.position.head();
            if let Some(found) = self.next_batch(head).await? {
                break found;
            }
            self.interrupt.race(self.desk.gate.arrived.notified()).await?;
        };
        self.host.gauge(Gauge::LagBytes, self.desk.gate.bytes() as f64);
        match candidate.must_be_saved {
            true => self.position.stage(batch, candidate.position),
            false => Ok(self.position.stage_unsaved(batch, candidate.position)),
        }
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => {
                if let Some(position) = self.position.ack() {
                    self.desk.gate.acked(position.next);
                    self.remove_delivered(position.next).await;
                }
            }
            Verdict::Nack => {
                self.position.nack();
                self.desk.gate.nacked();
            }
        }
        Ok(())
    }

    async fn close(&self) {
        self.desk.gate.close();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { seat, filling }) = running {
            seat.leave().await;
            if let Some(filling) = filling {
                let _ = filling.await;
            }
        }
        info!(next = self.position.committed().next, "http source closed");
    }

    async fn command(&self, name: &str, arguments: Value) -> Result<Option<Value>, Error> {
        match name {
            "status" => Ok(Some(self.desk.status())),
            "list_endpoints" => Ok(Some(self.desk.endpoints.list())),
            change => self.desk.endpoints.change(change, arguments).await,
        }
    }
}

/// Where a batch ends, and whether the engine should keep that.
struct Candidate {
    position: Position,
    must_be_saved: bool,
}

impl HttpSource {
    /// Where it listens; none when it only looks.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.local
    }

    /// The posts after `head`, if there are any.
    async fn next_batch(&self, head: Position) -> Result<Option<(Batch, Candidate)>, Error> {
        let schema = self.desk.settings.format.schema();
        let Some(spool) = &self.spool else {
            let mut batch = Batch::new(schema);
            let Some(taken) = self.desk.gate.take(head.next, self.room, &mut batch) else { return Ok(None) };
            let must_be_saved = !taken.digests.is_empty() || head.is_spooled;
            let position = head.delivered(&taken);
            return Ok(Some((batch, Candidate { position, must_be_saved })));
        };
        let next = head.next.max(spool.first());
        if next >= spool.next() {
            return Ok(None);
        }
        // Its senders are answered: what comes in meanwhile shares the batch and the save of its state.
        if spool.next() - next < self.room.records as u64 {
            self.interrupt.sleep(SPOOL_LINGER).await?;
        }
        let (spool, room) = (Arc::clone(spool), self.room);
        let read = spawn_blocking(move || {
            let mut batch = Batch::new(schema);
            spool.read(next, room, &mut batch).map(|next| (batch, next))
        });
        let (batch, next) = joined(read.await)??;
        let position = head.spooled(next);
        Ok(Some((batch, Candidate { position, must_be_saved: true })))
    }

    async fn remove_delivered(&self, next: u64) {
        if let Some(spool) = self.spool.clone() {
            let _ = spawn_blocking(move || spool.delivered(next)).await;
        }
    }
}

impl Drop for HttpSource {
    /// After a panic there is no close: senders must not wait for what nobody will deliver.
    fn drop(&mut self) {
        self.desk.gate.close();
    }
}

/// What opening a spool gives.
#[derive(Default)]
struct OpenedSpool {
    spool: Option<Spool>,
    writer: Option<spool::Writer>,
    digests: Vec<crate::replays::Digest>,
}

async fn open_spool(
    settings: &Settings,
    committed: &Position,
    is_inspection: bool,
) -> Result<OpenedSpool, Error> {
    let Some(folder) = settings.spool_folder.clone() else {
        return if committed.is_spooled {
            Err(unread_spool(settings, None))
        } else {
            Ok(OpenedSpool::default())
        };
    };
    let next = committed.next;
    if settings.bounds.durability == Durability::Delivered {
        let left = joined(spawn_blocking(move || spool::leftovers(&folder, next)).await)??;
        return if left > 0 { Err(unread_spool(settings, Some(left))) } else { Ok(OpenedSpool::default()) };
    }
    let (is_expected, segment_bytes) = (committed.is_spooled, settings.segment_bytes);
    let began = Instant::now();
    loop {
        let folder = folder.clone();
        let opened = spawn_blocking(move || {
            let opening =
                Opening { folder: &folder, committed: next, is_expected, is_inspection, segment_bytes };
            let mut digests = Vec::new();
            Opened::open(&opening, &mut |post| digests.extend(post.digest)).map(|opened| (opened, digests))
        });
        match joined(opened.await)? {
            Ok((Opened { spool, writer }, digests)) => {
                return Ok(OpenedSpool { spool: Some(spool), writer, digests });
            }
            Err(SpoolError::Busy { .. }) if began.elapsed() < HANDOVER => sleep(HANDOVER_STEP).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Posts that were answered and would be forgotten.
fn unread_spool(settings: &Settings, left: Option<u64>) -> Error {
    let what = match (left, &settings.spool_folder) {
        (Some(left), Some(folder)) => format!("{left} posts in the spool {} are", folder.display()),
        _ => "posts in the spool of this source may be".to_owned(),
    };
    Error::config(format!(
        "{what} not delivered yet, and ack = \"delivered\" would forget them: set ack = \"spooled\" with its spool_dir \
         until the lag is 0, then keep spool_dir for one start with ack = \"delivered\""
    ))
}

async fn load_endpoints(settings: &Settings) -> Result<Endpoints, Error> {
    let settings = settings.clone();
    joined(spawn_blocking(move || Endpoints::open(&settings)).await)?
}

/// Binds the address, waiting a moment for an instance that is just leaving it, and starts the spool's writer.
async fn start(
    desk: &Arc<Desk>,
    host: &Host,
    spool: Option<(Arc<Spool>, spool::Writer)>,
) -> Result<Running, Error> {
    let began = Instant::now();
    let seat = loop {
        match listener::join(desk, host) {
            Ok(seat) => break seat,
            Err(Error::Transient(_)) if began.elapsed() < HANDOVER => sleep(HANDOVER_STEP).await,
            Err(error) => return Err(error),
        }
    };
    let filling = spool.map(|(spool, writer)| {
        let gate = Arc::clone(&desk.gate);
        tokio::spawn(host.scope(filling::run(gate, spool, writer, host.clone())))
    });
    Ok(Running { seat, filling })
}

/// What a person should look at; nothing of what does not leave this machine.
fn report(settings: &Settings, host: &Host) {
    let (status, advice) = match (settings.listening.tls.is_some(), settings.is_local()) {
        (true, _) => (CheckStatus::Ok, ""),
        (false, true) => return,
        (false, false) => {
            (CheckStatus::Warn, "tokens and bodies travel unencrypted: set tls, or put a TLS proxy before it")
        }
    };
    host.check(Check { name: "encrypted".to_owned(), status, since_ms: None, advice: advice.to_owned() });
}

fn joined<T>(joined: Result<T, tokio::task::JoinError>) -> Result<T, Error> {
    joined.map_err(|error| Error::transient("a thread for disk work ended early").with_cause(error))
}

#[cfg(test)]
mod tests;
