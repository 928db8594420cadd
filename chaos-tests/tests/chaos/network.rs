//! The network between engine and broker: cut after the append, cut in the middle of a request, answers that never
//! come, bytes that arrive after their client has gone. All pass one proxy in front of the shared Kafka.

use std::time::Duration;

use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::proxy::Proxy;
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::{WITHIN, nacks};

const KEY: &str = "network";

/// Until the engine gave a batch up because the network swallowed it.
fn wait_nack(campaign: &mut Campaign, daemon: &Daemon) {
    let before = nacks(daemon, KEY);
    wait_for("a nack", WITHIN, || match nacks(daemon, KEY) {
        now if now > before => Ok(()),
        now => Err(format!("{now} nacks")),
    })
    .unwrap();
    campaign.run_for(Duration::from_millis(100)).unwrap();
}

fn mend(campaign: &mut Campaign, daemon: &Daemon) {
    campaign.mended().unwrap();
    campaign.wait_progress(daemon, 2, WITHIN).unwrap();
}

fn cut(campaign: &mut Campaign, daemon: &Daemon, proxy: &Proxy) {
    for _ in 0..8 {
        let before = proxy.appends_cut();
        proxy.cut_after_append(campaign.random.u32(1..4));
        wait_for("a cut after an append", WITHIN, || match proxy.appends_cut() {
            now if now > before => Ok(()),
            now => Err(format!("{now} cuts")),
        })
        .unwrap();
        campaign.broken("the connection was cut between append and answer", false).unwrap();
        mend(campaign, daemon);
    }
    campaign.observe().unwrap();
    assert_eq!(campaign.figures().duplicates, 0, "the broker knows a repeated request by its sequence");
    for _ in 0..4 {
        proxy.cut_requests_after(campaign.random.u64(1..30_000));
        campaign.broken("the connection was cut within a request", false).unwrap();
        mend(campaign, daemon);
        proxy.cut_responses_after(campaign.random.u64(1..500));
        campaign.broken("the connection was cut within an answer", false).unwrap();
        mend(campaign, daemon);
    }
    campaign.observe().unwrap();
    assert_eq!(campaign.figures().duplicates, 0, "the broker knows a repeated request by its sequence");
}

fn silence(campaign: &mut Campaign, daemon: &Daemon, proxy: &Proxy) {
    proxy.swallow_responses(true);
    campaign.broken("answers were swallowed", true).unwrap();
    wait_nack(campaign, daemon);
    proxy.swallow_responses(false);
    // A stream with a hole in it is of no use to its client.
    proxy.cut_all();
    mend(campaign, daemon);
    for _ in 0..2 {
        proxy.hold();
        campaign.broken("requests were held until their client had gone", true).unwrap();
        wait_nack(campaign, daemon);
        proxy.release();
        mend(campaign, daemon);
    }
}

fn delay(campaign: &mut Campaign, daemon: &Daemon, proxy: &Proxy) {
    let before = nacks(daemon, KEY);
    proxy.delay(Duration::from_millis(60));
    campaign.broken("every chunk was delayed", false).unwrap();
    mend(campaign, daemon);
    proxy.delay(Duration::ZERO);
    assert_eq!(nacks(daemon, KEY), before, "slow is not broken");
    proxy.refuse(true);
    proxy.cut_all();
    campaign.broken("connections were refused for a second", false).unwrap();
    campaign.run_for(Duration::from_secs(1)).unwrap();
    proxy.refuse(false);
    mend(campaign, daemon);
}

#[test]
fn a_network_that_cuts_swallows_and_holds_loses_nothing() {
    let kafka = Kafka::shared();
    let proxy = Proxy::start(kafka.proxied()).unwrap();
    let sections = "[supervision]\nbatch_deadline = \"2s\"\nbackoff_max = \"500ms\"\n".to_owned();
    let workload = Workload { window: 4, sections, ..Workload::new(KEY, seed()) };
    let mut campaign =
        Campaign::new(KEY, workload, &kafka.proxied_bootstrap(), &kafka.bootstrap(), "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 2, WITHIN).unwrap();

    cut(&mut campaign, &daemon, &proxy);
    delay(&mut campaign, &daemon, &proxy);
    silence(&mut campaign, &daemon, &proxy);

    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}
