//! How much of the server's log the slot holds, as a check. Pure.
//!
//! A slot that holds too much is never given up here: reading on is what makes it hold less, and dropping it is a
//! person's decision.

use picomq_connector_sdk::{Check, CheckStatus};

/// What the server says about the slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldWal {
    /// From where the slot must be able to begin again to the end of the log.
    pub(crate) bytes: u64,
    /// What may still be written before the server gives the slot up, if it has such a limit.
    pub(crate) left: Option<i64>,
    /// `reserved`, `extended`, `unreserved` or `lost`.
    pub(crate) status: String,
}

impl HeldWal {
    /// The check `slot_wal`: it warns from four fifths of `max` on and fails past it, or when the server is about to give up.
    pub(crate) fn check(&self, slot: &str, max: Option<u64>) -> Check {
        let mut status = CheckStatus::Ok;
        let mut advice = format!("the slot `{slot}` holds {} MiB of the log", self.bytes >> 20);
        if let Some(max) = max {
            advice.push_str(&format!(", max_retained_wal is {} MiB", max >> 20));
            if self.bytes > max {
                status = CheckStatus::Fail;
            } else if self.bytes > max / 5 * 4 {
                status = CheckStatus::Warn;
            }
        }
        match self.status.as_str() {
            "unreserved" | "lost" => {
                status = CheckStatus::Fail;
                advice.push_str("; the server is about to give it up, and changes would be lost: raise max_slot_wal_keep_size now");
            }
            "extended" if status == CheckStatus::Ok && self.left.is_some() => {
                status = CheckStatus::Warn;
                let left = self.left.unwrap_or_default() >> 20;
                advice.push_str(&format!(
                    "; after {left} MiB more the server gives it up (max_slot_wal_keep_size)"
                ));
            }
            _ => {}
        }
        if status != CheckStatus::Ok {
            advice.push_str(
                "; it follows what is delivered, but not past the oldest open transaction: SELECT pid, xact_start, query FROM pg_stat_activity \
                 WHERE backend_xid IS NOT NULL ORDER BY xact_start;",
            );
        }
        Check { name: "slot_wal".to_owned(), status, since_ms: None, advice }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(mib: u64, left: Option<i64>, word: &str, max_mib: Option<u64>) -> CheckStatus {
        let held = HeldWal { bytes: mib << 20, left, status: word.to_owned() };
        held.check("s", max_mib.map(|mib| mib << 20)).status
    }

    #[test]
    fn it_warns_before_the_limit_and_fails_past_it() {
        assert_eq!(status(10, None, "reserved", None), CheckStatus::Ok);
        assert_eq!(status(79, None, "reserved", Some(100)), CheckStatus::Ok);
        assert_eq!(status(81, None, "reserved", Some(100)), CheckStatus::Warn);
        assert_eq!(status(101, None, "reserved", Some(100)), CheckStatus::Fail);
    }

    #[test]
    fn a_server_that_is_about_to_give_up_is_told_about() {
        assert_eq!(status(10, Some(1 << 20), "extended", None), CheckStatus::Warn);
        assert_eq!(status(10, None, "extended", None), CheckStatus::Ok);
        assert_eq!(status(10, Some(-1), "unreserved", None), CheckStatus::Fail);
        let held = HeldWal { bytes: 10 << 20, left: Some(-1), status: "unreserved".to_owned() };
        assert!(held.check("s", None).advice.contains("max_slot_wal_keep_size"));
    }
}
