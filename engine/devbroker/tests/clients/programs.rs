//! Running a client program with a deadline, and reading what the broker has.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use pico_devbroker::{Config, DevBroker};

use crate::interpreter::interpreter;

/// No client may run longer; `timeout` ends it and its exit code tells.
const SECONDS_MAX: &str = "90";

/// A broker in memory with these topics.
pub(crate) async fn broker_with(topics: &[&str]) -> DevBroker {
    let broker = pico_devbroker::start(Config::default()).await.unwrap();
    for topic in topics {
        broker.handle().create_topic(topic).await.unwrap();
    }
    broker
}

/// A command that ends by itself in time.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX, program]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a program with this input, without blocking the broker, and returns what it printed.
pub(crate) async fn run(program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = command(program, arguments);
    let what = format!("{program} {arguments:?}");
    let input = input.to_owned();
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().expect("`timeout` of the coreutils runs");
        child
            .stdin
            .take()
            .expect("it is piped")
            .write_all(input.as_bytes())
            .expect("the client reads its input");
        child.wait_with_output().expect("the client can be waited for")
    });
    checked(&what, ended.await.unwrap())
}

/// What a program printed; panics with its complaint if it failed or is missing.
pub(crate) fn checked(what: &str, output: Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{complaint}", output.status);
    String::from_utf8(output.stdout).expect("the client prints UTF-8")
}

/// Runs a command of `client.py`; it prints one JSON document.
pub(crate) async fn python(broker: &DevBroker, arguments: &[&str]) -> serde_json::Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/client.py");
    let address = broker.addr().to_string();
    let arguments = [&[script, &address], arguments].concat();
    let interpreter = tokio::task::spawn_blocking(interpreter).await.unwrap();
    serde_json::from_str(&run(interpreter, &arguments, "").await).expect("the script prints JSON")
}

/// All values of a topic in order, read directly.
pub(crate) fn values(broker: &DevBroker, topic: &str) -> Vec<String> {
    let records = broker.handle().records(topic, 0, usize::MAX).unwrap();
    records.into_iter().map(|r| String::from_utf8(r.value.unwrap().to_vec()).unwrap()).collect()
}

/// The numbers from 0 as the clients write them.
pub(crate) fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

/// Records beyond the first of each value.
pub(crate) fn duplicates(values: &[String]) -> usize {
    values.len() - values.iter().collect::<BTreeSet<_>>().len()
}
