//! The broker refuses one record while later ones of its partition are already in the client.
//!
//! Each refusal is brought about by a setting of the topic that is turned on and off again under load, through a slow
//! network, so that four batches are always on their way. Whatever the broker and its client make of it, first
//! occurrences stay in order and nothing is lost.

use std::time::Duration;

use chaos_tests::admin::Admin;
use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::launch::Launch;
use chaos_tests::proxy::Proxy;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::nacks;

const WITHIN: Duration = Duration::from_secs(40);
const KEY: &str = "refused";
const ROUNDS: u32 = 6;
/// A topic setting, the value with which the broker refuses our records, and the one with which it takes them.
const REFUSALS: [(&str, &str, &str); 2] =
    [("cleanup.policy", "compact", "delete"), ("max.message.bytes", "200", "1048588")];

/// A topic as it was refuses at least one batch, and takes the next a few milliseconds later.
fn refuse_for_a_moment(campaign: &mut Campaign, daemon: &Daemon, admin: &Admin, round: u32) {
    let (setting, refusing, taking) = REFUSALS[round as usize % REFUSALS.len()];
    let topic = campaign.workload.topic(0);
    let before = nacks(daemon, KEY);
    admin.configure(&topic, setting, refusing).unwrap();
    campaign.broken(format!("{setting} = {refusing} for a moment"), false).unwrap();
    wait_for("a refused batch", WITHIN, || match nacks(daemon, KEY) {
        now if now > before => Ok(()),
        now => Err(format!("{now} nacks, {:?}", daemon.source(KEY))),
    })
    .unwrap();
    admin.configure(&topic, setting, taking).unwrap();
    campaign.mended().unwrap();
    campaign.wait_progress(daemon, 6, WITHIN).unwrap();
}

#[test]
fn after_a_refused_record_nothing_later_of_its_partition_is_accepted_before_it() {
    let kafka =
        Kafka::start(&scratch().join("refused-kafka"), Switches { proxied: true, ..Switches::default() });
    let kafka = kafka.unwrap();
    let proxy = Proxy::start(kafka.proxied()).unwrap();
    let sections = "[supervision]\nbackoff_initial = \"10ms\"\nbackoff_max = \"100ms\"\nnack_limit = 1000\n";
    let workload = Workload {
        window: 4,
        pool: 2,
        interval: "5ms".to_owned(),
        sections: sections.to_owned(),
        ..Workload::new(KEY, seed())
    };
    let admin = Admin::new(&kafka.bootstrap()).unwrap();
    admin.create(&workload.topics(), &[]).unwrap();
    let bootstrap = kafka.proxied_bootstrap();
    let mut campaign = Campaign::new("refused-site", workload, &bootstrap, &kafka.bootstrap(), "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    proxy.delay(Duration::from_millis(10));

    for round in 0..ROUNDS {
        refuse_for_a_moment(&mut campaign, &daemon, &admin, round);
        campaign.observe().unwrap();
    }

    proxy.delay(Duration::ZERO);
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}
