//! `test`: runs the `[[tests]]` of definitions with the code that runs their records, without plugin and broker.

mod canonical;
mod judge;
mod report;

use std::path::PathBuf;

use pico_config::{Definition, Env, Finding, Limits, RecordTest};
use pico_record::{Provenance, RecordPath, RouteFailure, RuleError};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Header, Record};

use crate::cli::{Cli, Format, TestArguments};
use crate::definition_check;
use crate::error::Error;
use crate::findings;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::targets::Target;
use judge::{Actual, Judged, SentRecord, judge};

/// What stands for the opening and batch of a test, in headers that name them.
const PROVENANCE: Provenance = Provenance { life: 0, number: 0 };

/// The tests of one definition, run.
struct File {
    path: PathBuf,
    key: String,
    outcomes: Vec<Outcome>,
}

struct Outcome {
    test: RecordTest,
    judged: Judged,
}

/// Runs every test of the files named, or of all that `run` would read. Exit code 2 when a file cannot be used, 1
/// when a test fails.
pub(crate) fn run(cli: &Cli, arguments: &TestArguments) -> Result<Exit, Error> {
    let env = Env::from_process();
    let (mut files, mut found) = (Vec::new(), Vec::new());
    for target in Target::all(cli.config.as_deref(), &arguments.paths)? {
        let loaded = target.load(&env);
        found.extend(loaded.findings.into_iter().filter(Finding::is_error));
        for definition in loaded.definitions {
            match run_tests(&definition, &loaded.engine.limits) {
                Ok(file) => files.push(file),
                Err(error) => found.push(definition_check::rule(&definition, &error)),
            }
        }
    }
    match cli.format() {
        Format::Json => output::write_json(&report::document(&files, &found)),
        Format::Human | Format::Github => {
            output::write(Stream::Stderr, &findings::render(&found, Format::Human, Stream::Stderr));
            output::write(Stream::Stdout, &report::text(&files, report::is_fancy()));
        }
    }
    let has_failed = files.iter().flat_map(|file| &file.outcomes).any(|one| !one.judged.has_passed());
    Ok(match (found.is_empty(), has_failed) {
        (false, _) => Exit::Config,
        (true, true) => Exit::Runtime,
        (true, false) => Exit::Ok,
    })
}

fn run_tests(definition: &Definition, limits: &Limits) -> Result<File, RuleError> {
    let mut outcomes = Vec::with_capacity(definition.tests.len());
    // Also without tests: a definition whose rules cannot be compiled is no definition that passed.
    definition_check::record_path(definition, limits, None)?;
    for test in &definition.tests {
        // A path of its own: what one test taught it is nothing to the next.
        let mut path = definition_check::record_path(definition, limits, None)?;
        let judged = judge(&test.expectation, &actual(&mut path, test));
        outcomes.push(Outcome { test: test.clone(), judged });
    }
    Ok(File { path: definition.file.clone(), key: definition.key.as_str().to_owned(), outcomes })
}

fn actual(path: &mut RecordPath, test: &RecordTest) -> Actual {
    let routed = match path.route(batch(test), PROVENANCE) {
        Ok(routed) => routed,
        Err(RouteFailure { code, message, stage: _, needs_human: _ }) => {
            return Actual::Failed { code: code.to_owned(), message };
        }
    };
    let records: Vec<SentRecord> = routed
        .groups()
        .iter()
        .flat_map(|group| {
            let sent = |outgoing| SentRecord::new(group.block, &group.topic, &outgoing);
            routed.entries(group).map(sent).collect::<Vec<_>>()
        })
        .collect();
    if records.is_empty() { Actual::Filtered } else { Actual::Sent(records) }
}

fn batch(test: &RecordTest) -> GuestBatch {
    let input = &test.input;
    let header = |(name, value): &(String, Vec<u8>)| Header { name: name.clone(), value: value.clone() };
    let mut batch = Batch::new(input.schema);
    batch.push(Record {
        payload: input.payload.clone(),
        key: input.key.clone(),
        headers: input.headers.iter().map(header).collect(),
        timestamp_ms: input.timestamp_ms,
        id: input.id.clone(),
        event_time_ns: None,
    });
    GuestBatch::from_batch(batch)
}
