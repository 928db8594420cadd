//! The kit against sources that are wrong on purpose: each rule must find the source that breaks it, and none may find
//! fault with a good one.

use picomq_connector_sdk::conformance::{Rule, violations};

use crate::toy::{Flaw, Shelf};

/// The rules the kit finds broken by a source with this flaw.
async fn broken_by(flaw: Flaw) -> Vec<Rule> {
    let found = violations(&Shelf::new(flaw)).await;
    found.into_iter().map(|violation| violation.rule).collect()
}

#[tokio::test(start_paused = true)]
async fn a_good_source_breaks_no_rule() {
    let found = violations(&Shelf::new(Flaw::None)).await;
    assert_eq!(found, []);
}

/// One test a flaw: the rule it breaks must be among those found.
macro_rules! finds {
    ($($name:ident: $flaw:ident breaks $rule:ident;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                let found = broken_by(Flaw::$flaw).await;
                assert!(found.contains(&Rule::$rule), "{found:?}");
            }
        )+
    };
}

finds! {
    promoting_in_poll_is_found: CommitsInPoll breaks NackReplays;
    never_moving_on_is_found: IgnoresAck breaks AckMovesOn;
    a_gap_is_found: SkipsOne breaks AckMovesOn;
    a_batch_without_state_is_found: NoState breaks AckMovesOn;
    starting_over_after_a_restart_is_found: IgnoresState breaks RestartResumes;
    a_fresh_start_on_a_bad_state_is_found: FreshOnBadState breaks BadStateRefused;
    a_bad_state_called_passing_is_found: TransientOnBadState breaks BadStateRefused;
    a_state_on_an_empty_batch_is_found: StateOnEmpty breaks EmptyCarriesNoState;
    moving_before_an_await_is_found: MovesBeforeAwait breaks InterruptReturns;
    not_hearing_the_interrupt_is_found: Deaf breaks InterruptReturns;
    deleting_in_poll_is_found: DeletesInPoll breaks EffectsAfterAck;
    not_deleting_at_all_is_found: NeverDeletes breaks EffectsAfterAck;
    forgetting_what_is_owed_is_found: ForgetsOwed breaks OwedIsDoneOnOpen;
    failing_to_delete_twice_is_found: FailsOnSecondDelete breaks OwedIsDoneOnOpen;
    deleting_to_inspect_is_found: DeletesToInspect breaks OwedIsDoneOnOpen;
    reading_from_the_committed_state_is_found: ReadsFromCommitted breaks PipelinedRewinds;
    keeping_later_candidates_is_found: NackKeepsLater breaks PipelinedRewinds;
    owing_the_last_batch_only_is_found: OwesOnlyLast breaks PipelinedRewinds;
    deleting_up_to_the_head_is_found: DeletesToHead breaks PipelinedRewinds;
}
