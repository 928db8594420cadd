//! `dev`: a source, a broker inside the process, and its records on the screen, without anything to install. Also a
//! demonstration of the delivery contract: faults on a key, with what they lead to in words.

mod banner;
mod faults;
mod screen;
mod show;
mod watch;
mod world;

use std::time::Duration;

use jiff::tz::TimeZone;
use pico_actors::handle::Command;
use pico_actors::status::{SourceView, Status};
use pico_config::Env;
use pico_devbroker::{BrokerHandle, DevBroker, Tail, TailEvent};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing_subscriber::filter::LevelFilter;

use crate::cli::{Cli, DevArguments, Format};
use crate::error::Error;
use crate::findings::shown;
use crate::leave::Exit;
use crate::process::Started;
use crate::run::Daemon;
use crate::runtime;
use crate::signals::Signals;
use crate::telemetry::{Logs, start_logs};
use crate::terminal;
use banner::{Banner, farewell};
use faults::Fault;
use screen::{Look, Screen};
use show::Rates;
use world::World;

/// How often the sources are looked at; a nack and its recovery should both be seen.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks between two counts of the rate.
const LOOKS_A_COUNT: u32 = 10;

/// Records shown on a terminal in one look; a person reads no more. Plain and JSON lines show all.
const LIVE_LINES_A_LOOK: u32 = 40;

/// How long the tail may bring what was delivered last, once the sources have stopped.
const LAST_RECORDS_WITHIN: Duration = Duration::from_millis(200);

/// Runs until a key, a signal or `--seconds` ends it.
pub(crate) fn run(cli: &Cli, arguments: &DevArguments) -> Result<Exit, Error> {
    let started = Started::now();
    let env = Env::from_process();
    let screen = Screen::new(Look::of_stdout(cli.format() == Format::Json));
    start_logs(Logs::to(screen.clone(), LevelFilter::ERROR), &env, None)?;
    runtime::block_on(async {
        let signals = Signals::listen()?;
        let world = World::make(cli, arguments, &env).await?;
        let session = Session::begin(world, arguments, screen, started).await?;
        session.watch(signals, arguments.seconds).await
    })
}

/// Everything that runs while `dev` does.
struct Session {
    daemon: Daemon,
    broker: DevBroker,
    tail: Tail,
    screen: Screen,
    zone: TimeZone,
    keys: Option<mpsc::Receiver<char>>,
    seen: Seen,
    fault: Option<(Fault, Instant)>,
    /// Keeps temporary folders until all has stopped.
    _folder: Option<TempDir>,
}

/// What was seen so far.
#[derive(Default)]
struct Seen {
    sources: Vec<SourceView>,
    looks: u32,
    lines_this_look: u32,
    not_shown: u64,
    rates: Rates,
}

impl Session {
    async fn begin(
        world: World,
        arguments: &DevArguments,
        screen: Screen,
        started: Started,
    ) -> Result<Session, Error> {
        let World { engine, definitions, broker, remarks, folder } = world;
        let files = definitions.good.iter().map(|good| (good.key.as_str().to_owned(), good.file.clone()));
        let files: Vec<_> = files.collect();
        let tail = broker.handle().subscribe();
        let daemon = Daemon::start_with(engine, definitions, None, started).await?;
        let mut sources = Vec::new();
        for (key, file) in files {
            if let Some(detail) = daemon.running.get(&key).await {
                sources.push((detail, shown(&file).display().to_string()));
            }
        }
        let data = arguments.data.as_ref().map(|data| data.display().to_string());
        let banner = Banner {
            data: data.as_deref(),
            broker: broker.addr().to_string(),
            api: daemon.api.map(|address| address.to_string()),
            sources,
            remarks: &remarks,
        };
        screen.text(&banner.text());
        screen.object(&json!({
            "type": "started", "broker": banner.broker, "api": banner.api, "data": banner.data, "notes": remarks,
        }));
        let keys = if screen.look() == Look::Live { terminal::keys() } else { None };
        let (zone, seen) = (TimeZone::system(), Seen::default());
        Ok(Session { daemon, broker, tail, screen, zone, keys, seen, fault: None, _folder: folder })
    }

    /// Shows what happens until it is time to end.
    async fn watch(mut self, mut signals: Signals, seconds: Option<Duration>) -> Result<Exit, Error> {
        // Far enough away to be never.
        let end = Instant::now() + seconds.unwrap_or(Duration::from_secs(365 * 86_400));
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // `dev | head` ends when `head` has had enough.
        while !self.screen.is_closed() {
            tokio::select! {
                biased;
                _ = signals.next() => break,
                () = sleep_until(end) => break,
                key = next_key(&mut self.keys) => match key {
                    Some('q') => break,
                    Some('p') => self.pause_or_resume().await,
                    Some('f') => self.next_fault(),
                    Some(_) => {}
                    None => self.keys = None,
                },
                _ = looks.tick() => self.look().await,
                event = self.tail.next() => match event {
                    Some(event) => self.show(&event),
                    None => break,
                },
            }
        }
        signals.leave_on_next();
        self.end().await
    }

    fn show(&mut self, event: &TailEvent) {
        let look = self.screen.look();
        self.seen.lines_this_look += 1;
        if look == Look::Live && self.seen.lines_this_look > LIVE_LINES_A_LOOK {
            self.seen.not_shown += 1;
            return;
        }
        match look {
            Look::Json => self.screen.object(&show::object(event)),
            Look::Live | Look::Plain => self.screen.line(&show::line(event, look, &self.zone)),
        }
    }

    async fn look(&mut self) {
        let now = self.daemon.running.list().await;
        for change in watch::changes(&self.seen.sources, &now) {
            self.screen.note(&change.line());
            self.screen.object(&change.object());
        }
        self.seen.sources = now;
        self.seen.lines_this_look = 0;
        if let Some((fault, _)) = self.fault.filter(|(_, end)| *end <= Instant::now()) {
            self.end_fault(fault);
        }
        if self.seen.looks.is_multiple_of(LOOKS_A_COUNT) {
            self.count().await;
        }
        self.seen.looks += 1;
    }

    async fn count(&mut self) {
        let totals = self.daemon.running.totals().await;
        let delivered = totals.iter().map(|(_, totals)| totals.messages_sent).sum();
        let handle: BrokerHandle = self.broker.handle();
        let rates = Rates {
            per_second: u64::saturating_sub(delivered, self.seen.rates.delivered),
            topics: handle.topics().len(),
            delivered,
            missed: self.tail.missed() + self.seen.not_shown,
        };
        self.seen.rates = rates;
        self.screen.set_status(&rates.line(self.keys.is_some()));
    }

    async fn pause_or_resume(&mut self) {
        for source in &self.seen.sources {
            let command = if source.status == Status::Paused { Command::Resume } else { Command::Pause };
            if let Err(error) = self.daemon.running.command(&source.key, command).await {
                self.screen.note(&format!("▸ {}  {error}", source.key));
            }
        }
    }

    fn next_fault(&mut self) {
        let fault = self.fault.map_or(Fault::FIRST, |(last, _)| last.next());
        let broker = self.broker.handle();
        fault.begin(broker.faults());
        self.fault = Some((fault, Instant::now() + fault.duration()));
        self.screen.note(&format!("▸ fault  {}", fault.announcement()));
        self.screen.object(&json!({ "type": "fault", "fault": fault.name() }));
    }

    fn end_fault(&mut self, fault: Fault) {
        self.broker.handle().faults().clear();
        // Remembered, so that the next press brings the next fault; never due again.
        self.fault = Some((fault, Instant::now() + Duration::from_secs(365 * 86_400)));
        self.screen.note(&format!("▸ fault  {} is over", fault.name()));
        self.screen.object(&json!({ "type": "fault_over", "fault": fault.name() }));
    }

    /// Stops the sources, shows what they delivered last, says good-bye.
    async fn end(mut self) -> Result<Exit, Error> {
        self.broker.handle().faults().clear();
        let exit = self.daemon.stop().await;
        let last = Instant::now() + LAST_RECORDS_WITHIN;
        while let Ok(Some(event)) = tokio::time::timeout_at(last, self.tail.next()).await {
            let look = self.screen.look();
            match look {
                Look::Json => self.screen.object(&show::object(&event)),
                Look::Live | Look::Plain => self.screen.line(&show::line(&event, look, &self.zone)),
            }
        }
        self.screen.set_status("");
        let topics = self.broker.handle().topics();
        let records: i64 = topics.iter().map(|topic| topic.end).sum();
        self.broker.shutdown().await;
        self.screen.text(&farewell(records, topics.len(), exit == Exit::Ok));
        self.screen.object(&json!({ "type": "stopped", "records": records, "drained": exit == Exit::Ok }));
        Ok(exit)
    }
}

/// The next key; never when there are none.
async fn next_key(keys: &mut Option<mpsc::Receiver<char>>) -> Option<char> {
    match keys {
        Some(keys) => keys.recv().await,
        None => std::future::pending().await,
    }
}
