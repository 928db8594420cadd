//! "Did you mean": at most one name, and only a near one.

/// Similarity (Jaro-Winkler, 0 to 1) from which a name is offered.
const NEAR: f64 = 0.8;

/// The most similar of `known`, if any is near enough.
pub(crate) fn closest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let wrong = wrong.to_ascii_lowercase();
    let scored = known.iter().map(|name| (strsim::jaro_winkler(&wrong, &name.to_ascii_lowercase()), *name));
    let best = scored.fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(kept) if kept.0 >= next.0 => Some(kept),
        Some(_) | None => Some(next),
    });
    best.filter(|(score, _)| *score >= NEAR).map(|(_, name)| name)
}
