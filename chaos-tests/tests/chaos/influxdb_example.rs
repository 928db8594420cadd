//! The example definition as it is shipped, with a real InfluxDB 1.6 and a real Kafka.

use std::path::Path;
use std::time::Duration;

use chaos_tests::campaign::seed;
use chaos_tests::influxdb::InfluxDb;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;

use crate::stage::{Stage, WITHIN};

#[test]
fn the_example_of_influxdb_brings_every_point_with_its_digits_into_the_topic_b101() {
    let name = "influxdb-example";
    let server = InfluxDb::start(&scratch().join(format!("{name}-server"))).unwrap();
    let write = server.writer();
    assert!(write(
        "cpu,host=a usage_user=0.5,n=9223372036854775807i 1534906009915285377\ncpu,host=b n=1i 1534906009915285378\n"
    ));
    let stage = Stage::new(name);
    let topic = format!("metrics-{}", seed());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/influxdb.toml");
    let example = std::fs::read_to_string(path).unwrap();
    // Where it is and what it is called is of this test; everything else is the example's.
    let definition = example
        .replace("http://localhost:8086", &server.url())
        .replace("\"telegraf\"", "\"db\"")
        .replace("\"metrics\"", &format!("\"{topic}\""));
    stage.site.define("influxdb", &definition).unwrap();
    let mut daemon = stage.start();
    let entries = wait_for("both points in the topic", WITHIN, || match stage.entries(&topic) {
        entries if entries.len() >= 2 => Ok(entries),
        entries => Err(format!("{} records", entries.len())),
    })
    .unwrap();
    assert_eq!(
        String::from_utf8_lossy(entries[0].payload.as_ref().unwrap()),
        r#"{"measurement":"cpu","timestamp":"2018-08-22T02:46:49.915285377Z","tags":{"host":"a"},"fields":{"n":9223372036854775807,"usage_user":0.5}}"#
    );
    assert_eq!(entries[1].key.as_deref(), Some(b"cpu,host=b".as_slice()));
    assert_eq!(entries[1].timestamp_ms, 1_534_906_009_915);
    // A late point, within the overlap of the example; the source looks every five seconds.
    assert!(write("cpu,host=late n=2i 1534906000000000000\n"));
    wait_for("the late point", Duration::from_secs(60), || match stage.entries(&topic).len() {
        3 => Ok(()),
        other => Err(format!("{other} records")),
    })
    .unwrap();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));
}
