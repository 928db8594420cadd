//! Patterns of topic names, as a shell writes them: `*` stands for any text, `?` for one character.

/// Longest pattern; a topic name is no longer.
const LENGTH_MAX: usize = 249;

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// `None` for an empty pattern and one longer than any topic name.
    pub fn new(pattern: &str) -> Option<Glob> {
        (1..=LENGTH_MAX).contains(&pattern.len()).then(|| Glob(pattern.to_owned()))
    }

    /// Whether the whole name fits. Looks at each character of the name at most once for each `*`.
    pub fn fits(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut read) = (0, 0);
        // Where to go on when a guess about the last `*` was wrong.
        let mut star: Option<(usize, usize)> = None;
        while read < name.len() {
            match (pattern.get(at), star) {
                (Some(b'*'), _) => {
                    star = Some((at + 1, read));
                    at += 1;
                }
                (Some(byte), _) if *byte == b'?' || *byte == name[read] => {
                    at += 1;
                    read += 1;
                }
                (_, Some((after, from))) => {
                    at = after;
                    read = from + 1;
                    star = Some((after, read));
                }
                (_, None) => return false,
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text_and_question_marks_for_one_character() {
        let fits = |pattern: &str, name: &str| Glob::new(pattern).unwrap().fits(name);
        for (pattern, name) in [
            ("*", "orders"),
            ("orders.*", "orders.acme"),
            ("orders.*", "orders."),
            ("*.acme", "orders.eu.acme"),
            ("o*s.*e", "orders.acme"),
            ("user-?", "user-3"),
            ("a**b", "ab"),
            ("orders", "orders"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("orders.*", "orders"),
            ("orders", "orders.acme"),
            ("user-?", "user-10"),
            ("*.acme", "acme"),
            ("a*b", "abc"),
            ("?", ""),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
        assert_eq!(Glob::new(""), None);
        assert_eq!(Glob::new(&"x".repeat(250)), None);
    }

    #[test]
    fn a_pattern_of_stars_costs_no_more_than_the_name_is_long() {
        let pattern = Glob::new(&"a*".repeat(120)).unwrap();
        assert!(!pattern.fits(&format!("{}b", "a".repeat(100))));
    }
}
