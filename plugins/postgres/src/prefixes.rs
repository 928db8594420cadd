//! `message_prefixes`: which logical messages are wanted.

/// Messages whose prefix begins so are this source's own: heartbeats, marks of a snapshot.
pub(crate) const OWN: &str = "picomq";

/// `message_prefixes`: none means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefixes(Vec<String>);

impl Prefixes {
    /// Reads the list; a star at the end of an entry stands for anything.
    pub(crate) fn parse(list: &[String]) -> Result<Prefixes, String> {
        for text in list {
            if text.trim_end_matches('*').starts_with(OWN) {
                return Err(format!("\"{text}\": prefixes that begin with `{OWN}` are the source's own"));
            }
            if text.is_empty() {
                return Err("\"\": no message has an empty prefix; \"*\" stands for all".to_owned());
            }
        }
        Ok(Prefixes(list.to_vec()))
    }

    /// Whether messages of `prefix` are wanted.
    pub(crate) fn has(&self, prefix: &str) -> bool {
        let fits = |text: &String| match text.strip_suffix('*') {
            Some(start) => prefix.starts_with(start),
            None => prefix == text,
        };
        !prefix.starts_with(OWN) && (self.0.is_empty() || self.0.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(list: &[&str]) -> Result<Prefixes, String> {
        Prefixes::parse(&list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_star_at_the_end_stands_for_anything_and_our_own_are_never_meant() {
        let some = prefixes(&["outbox", "audit.*"]).unwrap();
        assert!(some.has("outbox") && some.has("audit.login") && some.has("audit."));
        assert!(!some.has("outbox2") && !some.has("audit"));
        let all = prefixes(&[]).unwrap();
        assert!(all.has("anything") && !all.has("picomq") && !all.has("picomq.mark"));
        assert!(prefixes(&["*"]).unwrap().has("x") && !prefixes(&["*"]).unwrap().has("picomq"));
        assert!(prefixes(&["picomq"]).is_err() && prefixes(&[""]).is_err());
    }
}
