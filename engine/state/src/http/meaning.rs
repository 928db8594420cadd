//! What an attempt means: for a save, whether it landed; for a load, what is there.

use std::time::Duration;

use crate::format::STATE_BYTES_MAX;

/// How one attempt of a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The server answered.
    Answered(Answer),
    /// Nothing of it left this machine.
    NotSent(String),
    /// It left, and no answer came back whole.
    Lost(String),
}

/// The parts of an answer that mean something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `ETag` as it stands there; `None` when there is none, or more than one.
    pub(super) tag: Option<Vec<u8>>,
    pub(super) retry_after: Option<Duration>,
    /// `Content-Encoding` is there and not `identity`.
    pub(super) is_encoded: bool,
    /// Of a load only.
    pub(super) body: Body,
}

/// What came as body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    Whole(Vec<u8>),
    /// Longer than a state may be.
    TooLarge,
}

impl Default for Body {
    fn default() -> Body {
        Body::Whole(Vec::new())
    }
}

/// A strong entity tag, quotes included: what `If-Match` can rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag(String);

impl Tag {
    /// `None` for a weak one, or for what is no tag at all (RFC 9110, 8.8.3).
    pub(super) fn strong(text: &[u8]) -> Option<Tag> {
        let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let is_tag = inner.iter().all(|&byte| byte == b'!' || (b'#'..=b'~').contains(&byte));
        (is_tag && text.len() >= 2).then(|| Tag(String::from_utf8_lossy(text).into_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an attempt to save means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saved {
    /// It landed; the tag of what is there now, where it is a strong one.
    Landed(Option<Tag>),
    /// The condition does not hold: somebody else wrote.
    Refused,
    /// It may have landed; the same request settles it.
    Unknown(Again),
    /// It did not land this time, and may the next time.
    NotTaken(Again),
    /// It did not land and will not by itself.
    Rejected(String),
}

/// Why the same request is sent again, and when the server wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) reason: String,
    pub(super) after: Option<Duration>,
}

/// What an attempt to load means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loaded {
    /// This is there.
    Found(Vec<u8>, Option<Tag>),
    /// Nothing was ever saved, or it was removed.
    Absent,
    /// Worth another attempt.
    Again(Again),
    /// The server wants other credentials.
    Denied(u16),
    /// Something is there that is no state of ours (I8: an error, never a fresh start).
    Unreadable(String),
    /// It will not do by itself.
    Rejected(String),
}

pub(super) fn of_save(attempt: Attempt) -> Saved {
    let answer = match attempt {
        Attempt::NotSent(reason) => return Saved::NotTaken(Again { reason, after: None }),
        Attempt::Lost(reason) => return Saved::Unknown(Again { reason, after: None }),
        Attempt::Answered(answer) => answer,
    };
    let again = || Again { reason: answered(answer.status), after: answer.retry_after };
    match answer.status {
        // Accepted is not saved.
        202 => Saved::Unknown(again()),
        200..=299 => Saved::Landed(answer.tag.as_deref().and_then(Tag::strong)),
        412 => Saved::Refused,
        // Another request is under way there (409), or it broke half way.
        408 | 409 | 500..=599 => Saved::Unknown(again()),
        425 | 429 => Saved::NotTaken(again()),
        status => Saved::Rejected(rejected(status)),
    }
}

/// What an attempt to remove means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Removed {
    /// Nothing is there any more.
    Gone,
    /// Somebody else wrote.
    Refused,
    /// Worth another attempt.
    Again(Again),
    /// It will not do by itself.
    Rejected(String),
}

pub(super) fn of_removal(attempt: Attempt) -> Removed {
    let is_gone = matches!(&attempt, Attempt::Answered(Answer { status: 404 | 410, .. }));
    if is_gone {
        return Removed::Gone;
    }
    match of_save(attempt) {
        Saved::Landed(_) => Removed::Gone,
        Saved::Refused => Removed::Refused,
        Saved::Unknown(again) | Saved::NotTaken(again) => Removed::Again(again),
        Saved::Rejected(reason) => Removed::Rejected(reason),
    }
}

pub(super) fn of_load(attempt: Attempt) -> Loaded {
    let answer = match attempt {
        Attempt::NotSent(reason) | Attempt::Lost(reason) => {
            return Loaded::Again(Again { reason, after: None });
        }
        Attempt::Answered(answer) => answer,
    };
    match answer.status {
        200 if answer.is_encoded => {
            Loaded::Unreadable("it answered with a Content-Encoding, which nobody asked for".to_owned())
        }
        200 => match answer.body {
            Body::Whole(state) => Loaded::Found(state, answer.tag.as_deref().and_then(Tag::strong)),
            Body::TooLarge => {
                Loaded::Unreadable(format!("it answered with more than {STATE_BYTES_MAX} bytes"))
            }
        },
        404 => Loaded::Absent,
        401 | 403 | 407 => Loaded::Denied(answer.status),
        408 | 409 | 425 | 429 | 500..=599 => {
            Loaded::Again(Again { reason: answered(answer.status), after: answer.retry_after })
        }
        status => Loaded::Rejected(rejected(status)),
    }
}

fn answered(status: u16) -> String {
    format!("it answered {status}")
}

fn rejected(status: u16) -> String {
    let advice = match status {
        300..=399 => ": redirects are not followed; write the URL it leads to into [state.http] url",
        401 | 403 | 407 => ": mend the credentials in [state.http] request_headers",
        404 | 410 => ": the place that [state.http] url names is not there",
        405 | 501 => ": the server does not take this method; see save_method and load_method",
        413 => ": the state is too large for it",
        _ => "",
    };
    format!("it answered {status}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(status: u16) -> &'static str {
        match of_save(Attempt::Answered(Answer { status, ..Answer::default() })) {
            Saved::Landed(_) => "landed",
            Saved::Refused => "refused",
            Saved::Unknown(_) => "unknown",
            Saved::NotTaken(_) => "not taken",
            Saved::Rejected(_) => "rejected",
        }
    }

    fn load(status: u16) -> &'static str {
        match of_load(Attempt::Answered(Answer { status, ..Answer::default() })) {
            Loaded::Found(..) => "found",
            Loaded::Absent => "absent",
            Loaded::Again(_) => "again",
            Loaded::Denied(_) => "denied",
            Loaded::Unreadable(_) => "unreadable",
            Loaded::Rejected(_) => "rejected",
        }
    }

    /// The table of docs/state-http.md.
    #[test]
    fn every_status_means_what_the_contract_says() {
        let table = [
            (100, "rejected", "rejected"),
            (200, "landed", "found"),
            (201, "landed", "rejected"),
            (202, "unknown", "rejected"),
            (204, "landed", "rejected"),
            (206, "landed", "rejected"),
            (301, "rejected", "rejected"),
            (304, "rejected", "rejected"),
            (308, "rejected", "rejected"),
            (400, "rejected", "rejected"),
            (401, "rejected", "denied"),
            (403, "rejected", "denied"),
            (404, "rejected", "absent"),
            (405, "rejected", "rejected"),
            (407, "rejected", "denied"),
            (408, "unknown", "again"),
            (409, "unknown", "again"),
            (410, "rejected", "rejected"),
            (412, "refused", "rejected"),
            (413, "rejected", "rejected"),
            (425, "not taken", "again"),
            (428, "rejected", "rejected"),
            (429, "not taken", "again"),
            (500, "unknown", "again"),
            (503, "unknown", "again"),
            (599, "unknown", "again"),
            (600, "rejected", "rejected"),
        ];
        for (status, saved, loaded) in table {
            assert_eq!((save(status), load(status)), (saved, loaded), "{status}");
        }
    }

    #[test]
    fn without_an_answer_only_what_never_left_is_known_not_to_have_landed() {
        let again = |reason: &str| Again { reason: reason.to_owned(), after: None };
        assert_eq!(of_save(Attempt::NotSent("refused".to_owned())), Saved::NotTaken(again("refused")));
        assert_eq!(of_save(Attempt::Lost("cut".to_owned())), Saved::Unknown(again("cut")));
        assert_eq!(of_load(Attempt::Lost("cut".to_owned())), Loaded::Again(again("cut")));
    }

    #[test]
    fn an_empty_body_is_a_state_and_a_strange_one_is_not() {
        let answer = |body, is_encoded| Answer { status: 200, body, is_encoded, ..Answer::default() };
        let of = |answer| of_load(Attempt::Answered(answer));
        assert_eq!(of(answer(Body::default(), false)), Loaded::Found(Vec::new(), None));
        assert!(matches!(of(answer(Body::TooLarge, false)), Loaded::Unreadable(_)));
        assert!(matches!(of(answer(Body::default(), true)), Loaded::Unreadable(_)));
    }

    #[test]
    fn only_a_strong_tag_is_one() {
        for good in ["\"\"", "\"1\"", "\"a!#~\""] {
            assert_eq!(Tag::strong(good.as_bytes()).unwrap().as_str(), good);
        }
        for bad in ["W/\"1\"", "1", "\"", "", "\"a\"b\"", "\"a b\"", "\"\u{e9}\"", "\"\n\""] {
            assert_eq!(Tag::strong(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn the_servers_wish_for_a_wait_is_carried_on() {
        let after = Some(Duration::from_secs(7));
        let answer = Answer { status: 503, retry_after: after, ..Answer::default() };
        assert!(
            matches!(of_save(Attempt::Answered(answer.clone())), Saved::Unknown(again) if again.after == after)
        );
        assert!(matches!(of_load(Attempt::Answered(answer)), Loaded::Again(again) if again.after == after));
    }
}
