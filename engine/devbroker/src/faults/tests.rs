//! When each fault strikes.

use super::*;

fn cuts(faults: &FaultKnobs, requests: usize) -> Vec<bool> {
    (0..requests).map(|_| faults.on_request(Api::Produce).cut).collect()
}

#[test]
fn every_nth_produce_is_cut_and_nothing_else() {
    let faults = FaultKnobs::none();
    faults.cut_every(3);

    assert!(!faults.on_request(Api::Fetch).cut);
    assert_eq!(cuts(&faults, 7), [false, false, true, false, false, true, false]);
    faults.cut_every(0);

    assert_eq!(cuts(&faults, 3), [false; 3]);
    assert_eq!(faults.counts().cut, 2);
}

#[test]
fn the_next_requests_fail_in_the_order_they_were_told_to() {
    let faults = FaultKnobs::none();
    faults.fail_next(Api::Produce, ResponseError::NotLeaderOrFollower, 2);
    faults.fail_next(Api::Produce, ResponseError::MessageTooLarge, 1);
    faults.fail_next(Api::Metadata, ResponseError::TopicAuthorizationFailed, 1);

    let refusals: Vec<_> = (0..4).map(|_| faults.on_request(Api::Produce).refuse).collect();

    let moved = Some(ResponseError::NotLeaderOrFollower);
    assert_eq!(refusals, [moved, moved, Some(ResponseError::MessageTooLarge), None]);
    assert_eq!(
        faults.on_request(Api::Metadata).refuse,
        Some(ResponseError::TopicAuthorizationFailed),
        "another API's failures wait for it"
    );
    assert_eq!(faults.counts().failed, 4);
}

#[test]
fn a_lie_is_told_after_the_deed() {
    let faults = FaultKnobs::none();
    faults.fail_after_append(ResponseError::NotEnoughReplicasAfterAppend, 1);

    let injected = faults.on_request(Api::Produce);

    assert_eq!((injected.refuse, injected.lie), (None, Some(ResponseError::NotEnoughReplicasAfterAppend)));
}

#[tokio::test(start_paused = true)]
async fn a_period_of_being_down_ends_by_itself() {
    let faults = FaultKnobs::none();
    faults.take_down_for(Duration::from_secs(5));
    assert!(faults.refuses_connections());

    tokio::time::advance(Duration::from_secs(5)).await;

    assert!(!faults.refuses_connections());
    assert_eq!(faults.counts().refused, 1);
}

#[test]
fn clearing_ends_all_faults_and_keeps_the_counts() {
    let faults = FaultKnobs::none();
    faults.cut_next(5);
    faults.fail_next(Api::Fetch, ResponseError::UnknownServerError, 5);
    faults.delay_answers(Duration::from_secs(1));
    faults.swallow_answers(true);
    faults.fill_up("t", Some(0));
    faults.take_down();
    assert!(faults.on_request(Api::Produce).cut);

    faults.clear();

    assert_eq!(faults.on_request(Api::Produce), Injected::default());
    assert_eq!(faults.on_request(Api::Fetch), Injected::default());
    assert_eq!(faults.on_answer(), AnswerFault { delay: Duration::ZERO, is_swallowed: false });
    assert!(faults.has_room("t", 1));
    assert!(!faults.refuses_connections());
    assert_eq!(faults.counts().cut, 1);
}
