//! One source on one site under one ledger: started, broken, observed, judged.
//!
//! A story calls these in its own order. Every look at the state goes into the ledger and the journal, every reading
//! of the logs is followed by [`Ledger::settle`], so that a violation names what was broken last.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reference_state_server::StateServer;

use crate::binaries;
use crate::consumer::LogReader;
use crate::daemon::Daemon;
use crate::journal::{Event, Journal, Saved, wall_ms};
use crate::launch::Launch;
use crate::ledger::{Figures, Ledger, Plan, Report};
use crate::site::{Site, scratch};
use crate::statefile::StateFile;
use crate::wait::{pause, wait_for};
use crate::workload::Workload;
use crate::{Error, Result};

/// Between two looks at the state file: shorter than the engine's own pace, so that few saves go unseen.
const LOOK_EVERY: Duration = Duration::from_millis(4);
/// The limit of one recovery (K11), for a debug build on two busy cores.
const RECOVERY_MAX: Duration = Duration::from_secs(20);

/// The seed of this process: `CHAOS_SEED`, else a fresh one. It is printed when it is first asked for.
pub fn seed() -> u64 {
    static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *SEED.get_or_init(|| {
        let seed = std::env::var("CHAOS_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| fastrand::u64(0..1_000_000));
        eprintln!("CHAOS_SEED={seed}");
        seed
    })
}

/// How often to do something: `name` in the environment, else `default`.
pub fn count(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A run of one source.
pub struct Campaign {
    /// Where its engine lives.
    pub site: Site,
    /// What its source does.
    pub workload: Workload,
    /// Random numbers from the seed of this process and the name of the story.
    pub random: fastrand::Rng,
    ledger: Ledger,
    journal: Journal,
    reader: LogReader,
    /// Where the state is looked at.
    states: States,
    /// The state that the next recovery must pass, and when its time began.
    recovering: Option<(u64, Instant)>,
    last: Option<Saved>,
}

impl Campaign {
    /// A fresh site for a story called `name`, against the broker at `engine_bootstrap`; the ledger reads from
    /// `reader_bootstrap`, which passes no proxy. `more` goes into `config.toml`.
    pub fn new(
        name: &str,
        workload: Workload,
        engine_bootstrap: &str,
        reader_bootstrap: &str,
        more: &str,
    ) -> Result<Self> {
        let dir = scratch().join(name);
        let site = Site::new(&dir, engine_bootstrap, more)?;
        site.define(&workload.key, &workload.definition())?;
        let plan = Plan {
            replay: format!("CHAOS_SEED={} cargo test -p chaos-tests --test chaos {name}", seed()),
            prefix: workload.prefix.clone(),
            pool: workload.pool,
            in_flight_max: workload.window * workload.batch_max,
            text_len: workload.payload_size,
            text_repeats: true,
            max_count: workload.max_count,
            recovery_max_ms: u64::try_from(RECOVERY_MAX.as_millis()).expect("a limit of seconds"),
        };
        let name_hash = u64::from(crc32c::crc32c(name.as_bytes()));
        Ok(Self {
            journal: Journal::create(&dir.join("events.jsonl"))?,
            ledger: Ledger::new(plan),
            reader: LogReader::new(reader_bootstrap)?,
            random: fastrand::Rng::with_seed(seed() ^ name_hash),
            states: States::Folder(site.state_folder()),
            site,
            workload,
            recovering: None,
            last: None,
        })
    }

    /// Starts an engine; from here the time of its recovery counts.
    pub fn start(&mut self, launch: &Launch) -> Result<Daemon> {
        // Whoever is first builds it, which is no part of its recovery.
        binaries::engine()?;
        let how = match (&launch.failpoints, &launch.injection) {
            (Some(points), _) => points.clone(),
            (None, Some(injection)) => injection.clone(),
            (None, None) => "plain".to_owned(),
        };
        self.note(Event::Started { wall_ms: wall_ms(), how })?;
        self.mended()?;
        self.site.start(launch)
    }

    /// Looks at the state as `daemon` sees it, in its mount namespace; it is gone with the process.
    pub fn look_inside(&mut self, daemon: &Daemon) {
        self.states = States::Folder(daemon.inside(&self.site.state_folder()));
    }

    /// Looks at the state on `server`, where the engine is told to keep it.
    pub fn look_at(&mut self, server: Arc<StateServer>) {
        self.states = States::Server(server);
    }

    /// Says that something was broken. `holds_bytes` when network bytes may arrive late.
    pub fn broken(&mut self, what: impl Into<String>, holds_bytes: bool) -> Result<()> {
        self.recovering = None;
        self.note(Event::Broken { what: what.into(), holds_bytes })
    }

    /// Says that the last fault is over: the next save past the present one is the recovery from it.
    pub fn mended(&mut self) -> Result<()> {
        self.recovering = Some((self.position(), Instant::now()));
        self.note(Event::Mended)
    }

    /// Stands by for `duration` and watches the state.
    pub fn run_for(&mut self, duration: Duration) -> Result<()> {
        let end = Instant::now() + duration;
        while Instant::now() < end {
            self.look()?;
            pause(LOOK_EVERY.min(end.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    /// Watches until the saved position is at least `position`.
    pub fn wait_position(&mut self, position: u64, within: Duration) -> Result<()> {
        let log = self.site.log();
        let end = Instant::now() + within;
        loop {
            self.look()?;
            if self.position() >= position {
                return Ok(());
            }
            if Instant::now() >= end {
                let what = format!("saved position {position}");
                let seen =
                    format!("position {}; the log ends\n{}", self.position(), crate::daemon::tail(&log));
                return Err(Error::Timeout { what, within, seen });
            }
            pause(LOOK_EVERY);
        }
    }

    /// Watches until `batches` more full batches are saved, and the source says that it runs.
    pub fn wait_progress(&mut self, daemon: &Daemon, batches: u64, within: Duration) -> Result<()> {
        self.wait_position(self.position() + batches * self.workload.batch_max, within)?;
        daemon.wait_status(&self.workload.key, "running", within).map(drop)
    }

    /// Watches until the engine ends by itself, as it does at a fail point.
    pub fn wait_death(&mut self, daemon: &mut Daemon, within: Duration) -> Result<()> {
        let what = "the death of the engine at its fail point (is it built with the feature failpoints?)";
        let end = Instant::now() + within;
        while daemon.exited().is_none() {
            if Instant::now() >= end {
                let seen = format!("it runs; the log ends\n{}", crate::daemon::tail(&self.site.log()));
                return Err(Error::Timeout { what: what.to_owned(), within, seen });
            }
            self.look()?;
            pause(LOOK_EVERY);
        }
        Ok(())
    }

    /// Reads the state, then the logs to their end, and settles.
    pub fn observe(&mut self) -> Result<()> {
        self.look()?;
        if self.last.is_none() {
            self.note(Event::SawNothing)?;
        }
        let topics = self.ledger.topics();
        let ledger = &mut self.ledger;
        self.reader.read_to_end(&topics, &mut |entry| ledger.take(&entry))?;
        self.ledger.settle();
        Ok(())
    }

    /// One look at the state file. A file that is not whole is an error at any time: it is replaced by a rename.
    fn look(&mut self) -> Result<()> {
        let Some(file) = self.states.read(&self.workload.key)? else {
            if self.last.is_some() {
                self.note(Event::SawNothing)?;
            }
            return Ok(());
        };
        let state = saved(&file)?;
        if self.last != Some(state) {
            self.last = Some(state);
            self.note(Event::Saw { wall_ms: wall_ms(), state })?;
        }
        let is_done = self.workload.max_count.is_some_and(|count| state.position >= count);
        if let Some((_, since)) = self.recovering.filter(|(past, _)| is_done || state.position > *past) {
            self.recovering = None;
            let after_ms = u64::try_from(since.elapsed().as_millis()).expect("a run of hours");
            self.note(Event::Recovered { after_ms })?;
        }
        Ok(())
    }

    /// The position last seen in the state file.
    pub fn position(&self) -> u64 {
        self.last.map_or(0, |saved| saved.position)
    }

    /// What there was so far.
    pub fn figures(&self) -> &Figures {
        self.ledger.figures()
    }

    /// The end of a story: SIGTERM, exit 0, a last observation, the verdict.
    pub fn drain(self, mut daemon: Daemon, within: Duration) -> Result<Report> {
        daemon.terminate();
        let status = daemon.wait_exit(within)?;
        if status.code() != Some(0) {
            let log = crate::daemon::tail(&self.site.log());
            return Err(Error::Ended {
                program: "a draining engine".to_owned(),
                status: status.to_string(),
                log,
            });
        }
        self.judge()
    }

    /// A last observation and the verdict, for an engine that has ended or stands still.
    pub fn judge(mut self) -> Result<Report> {
        self.observe()?;
        let report = self.ledger.finish();
        eprintln!("{}: {report}", self.workload.key);
        Ok(report)
    }

    fn note(&mut self, event: Event) -> Result<()> {
        self.journal.write(&event)?;
        self.ledger.note(&event);
        Ok(())
    }
}

/// Where an engine keeps its states.
enum States {
    Folder(PathBuf),
    Server(Arc<StateServer>),
}

impl States {
    /// A server keeps neither life nor number: its versions rise with each save, and stand in for them.
    fn read(&self, key: &str) -> Result<Option<StateFile>> {
        match self {
            States::Folder(folder) => StateFile::read(&folder.join(format!("{key}.state"))),
            States::Server(server) => Ok(server.saved(key).map(|entry| StateFile {
                life: 0,
                number: entry.version,
                blob: entry.state.to_vec(),
            })),
        }
    }
}

fn saved(file: &StateFile) -> Result<Saved> {
    Ok(Saved { life: file.life, number: file.number, position: file.position()? })
}

/// Waits until `topic` has at least `records`.
pub fn wait_records(reader: &LogReader, topic: &str, records: i64, within: Duration) -> Result<()> {
    wait_for(&format!("{records} records in {topic}"), within, || {
        match reader.end(topic).map_err(|error| error.to_string())? {
            Some(end) if end >= records => Ok(()),
            end => Err(format!("{end:?}")),
        }
    })
}
