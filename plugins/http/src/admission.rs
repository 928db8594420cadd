//! Whether a post may come in now. Pure: the caller says what it sees.

use std::time::Duration;

/// Without a poll for so long nobody can promise a delivery: the source is paused, backing off or in error.
pub const STALLED_AFTER: Duration = Duration::from_secs(5);

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The source is being closed.
    pub is_closed: bool,
    /// Since a poll was outstanding; zero while one is.
    pub unpolled: Duration,
    /// Consecutive nacks, and how many of them are too many.
    pub nacks: u32,
    /// None: never too many.
    pub nacks_max: Option<u32>,
    /// A spool that takes posts also while nothing is polled.
    pub takes_while_stalled: bool,
    /// The spool cannot be written.
    pub is_broken: bool,
    /// Posts taken and not delivered (or not yet spooled).
    pub posts: u64,
    /// Most of them.
    pub posts_max: u64,
    /// Their bytes, those of bodies under way, and those in the spool.
    pub bytes: u64,
    /// Most of them.
    pub bytes_max: u64,
    /// Of the post in question, as far as known.
    pub post_bytes: u64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may come in.
    Admitted,
    /// 429: later, once there is room.
    Full,
    /// 503: the source cannot deliver now.
    Unavailable,
}

/// Decides. What cannot be delivered at all goes before what is only full.
pub fn admit(view: &View) -> Admission {
    let is_stalled = view.unpolled >= STALLED_AFTER || view.nacks_max.is_some_and(|max| view.nacks >= max);
    if view.is_closed || view.is_broken || (is_stalled && !view.takes_while_stalled) {
        return Admission::Unavailable;
    }
    if view.posts >= view.posts_max || view.bytes.saturating_add(view.post_bytes) > view.bytes_max {
        return Admission::Full;
    }
    Admission::Admitted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPEN: View = View {
        is_closed: false,
        unpolled: Duration::ZERO,
        nacks: 0,
        nacks_max: None,
        takes_while_stalled: false,
        is_broken: false,
        posts: 0,
        posts_max: 10,
        bytes: 0,
        bytes_max: 100,
        post_bytes: 10,
    };

    #[test]
    fn the_last_place_is_given_and_the_next_is_not() {
        assert_eq!(admit(&View { posts: 9, ..OPEN }), Admission::Admitted);
        assert_eq!(admit(&View { posts: 10, ..OPEN }), Admission::Full);
        assert_eq!(admit(&View { bytes: 90, ..OPEN }), Admission::Admitted);
        assert_eq!(admit(&View { bytes: 91, ..OPEN }), Admission::Full);
    }

    #[test]
    fn five_seconds_without_a_poll_are_unavailable_unless_the_spool_takes_on() {
        let just = STALLED_AFTER.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(admit(&View { unpolled: just, ..OPEN }), Admission::Admitted);
        let stalled = View { unpolled: STALLED_AFTER, ..OPEN };
        assert_eq!(admit(&stalled), Admission::Unavailable);
        assert_eq!(admit(&View { takes_while_stalled: true, ..stalled }), Admission::Admitted);
    }

    #[test]
    fn too_many_nacks_are_unavailable_only_where_that_was_asked_for() {
        assert_eq!(admit(&View { nacks: 29, ..OPEN }), Admission::Admitted);
        assert_eq!(admit(&View { nacks: 2, nacks_max: Some(3), ..OPEN }), Admission::Admitted);
        assert_eq!(admit(&View { nacks: 3, nacks_max: Some(3), ..OPEN }), Admission::Unavailable);
    }

    proptest! {
        /// Nothing that makes things worse lets a post in that was kept out.
        #[test]
        fn what_is_kept_out_stays_out_when_things_get_worse(
            seconds in 0..10_u64, posts in 0..12_u64, bytes in 0..200_u64, more in 0..50_u64,
            is_closed: bool, is_broken: bool, takes_while_stalled: bool,
        ) {
            let view = View {
                unpolled: Duration::from_secs(seconds), posts, bytes, is_closed, is_broken, takes_while_stalled, ..OPEN
            };
            let worse = View { posts: posts + more, bytes: bytes + more, ..view };
            if admit(&view) != Admission::Admitted {
                prop_assert_eq!(admit(&worse), admit(&view));
            }
            if admit(&view) == Admission::Admitted {
                prop_assert!(!is_closed && !is_broken && posts < view.posts_max);
                prop_assert!(bytes + view.post_bytes <= view.bytes_max);
            }
        }
    }
}
