//! The state of a source: opaque bytes to the engine, a versioned MessagePack map when made here.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Error;

/// What the engine stores for a source and hands back unchanged.
///
/// It is cumulative: it holds the position *and* the effects owed by every batch not acknowledged yet. It is
/// rewritten with each batch, so its size must stay constant.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State(Vec<u8>);

/// Borrowed for writing, so that encoding clones nothing.
#[derive(Serialize)]
struct Envelope<'a, T> {
    v: u32,
    state: &'a T,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Opened<T> {
    v: u32,
    state: T,
}

impl State {
    /// Writes `state` down as the MessagePack map `{"v": version, "state": {…}}`, with named fields, so that a
    /// field added later does not break what is stored.
    ///
    /// # Errors
    /// [`Error::Serialization`] when `state` cannot be written. It is an error of the poll: a batch must not be
    /// returned without the state that its delivery would make true.
    pub fn encode<T: Serialize>(state: &T, version: u32) -> Result<State, Error> {
        let envelope = Envelope { v: version, state };
        rmp_serde::to_vec_named(&envelope)
            .map(State)
            .map_err(|error| Error::serialization("the candidate state cannot be written").with_cause(error))
    }

    /// Reads back what [`encode`](State::encode) wrote with `version` or an older one. A field that an older
    /// version did not have needs a `serde` default.
    ///
    /// # Errors
    /// [`Error::State`] when the bytes are damaged, foreign, followed by more, or of a newer version. Never
    /// answer it by starting afresh.
    pub fn decode<T: DeserializeOwned>(&self, version: u32) -> Result<T, Error> {
        let found = self.version()?;
        if found > version {
            return Err(Error::state(format!(
                "the saved state has version {found}, this build of the plugin reads up to {version}: \
                 run the newer build"
            )));
        }
        self.open::<T>().map(|opened| opened.state)
    }

    /// The version the state was written with.
    ///
    /// # Errors
    /// [`Error::State`] when the bytes are not such a map.
    pub fn version(&self) -> Result<u32, Error> {
        self.open::<IgnoredAny>().map(|opened| opened.v)
    }

    /// The state as JSON for people: `{"version": n, "state": …}`.
    ///
    /// # Errors
    /// [`Error::State`] when it is not such a map or holds what JSON cannot, such as raw bytes.
    pub fn describe(&self) -> Result<Value, Error> {
        let opened = self.open::<Value>()?;
        Ok(json!({ "version": opened.v, "state": opened.state }))
    }

    /// Takes the bytes as they are, for a source with a format of its own.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> State {
        State(bytes.into())
    }

    /// What is stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What is stored, given away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn open<T: DeserializeOwned>(&self) -> Result<Opened<T>, Error> {
        let mut rest = self.0.as_slice();
        let mut reader = rmp_serde::Deserializer::new(&mut rest);
        let opened = Opened::<T>::deserialize(&mut reader).map_err(|error| {
            Error::state("the saved state is damaged or not of this plugin").with_cause(error)
        })?;
        if rest.is_empty() {
            return Ok(opened);
        }
        Err(Error::state(format!("the saved state is damaged: {} bytes follow its end", rest.len())))
    }
}

/// Says how long it is and no more: a state may hold upstream data.
impl std::fmt::Debug for State {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "State({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Position {
        lsn: u64,
        #[serde(default)]
        owed: Vec<String>,
    }

    #[derive(Serialize)]
    struct OldPosition {
        lsn: u64,
    }

    fn position() -> Position {
        Position { lsn: 7, owed: vec!["a".into()] }
    }

    #[test]
    fn a_state_comes_back_as_it_was_written() {
        let state = State::encode(&position(), 3).unwrap();
        assert_eq!(state.version().unwrap(), 3);
        assert_eq!(state.decode::<Position>(3).unwrap(), position());
    }

    #[test]
    fn an_older_version_is_read_with_defaults() {
        let state = State::encode(&OldPosition { lsn: 9 }, 1).unwrap();
        assert_eq!(state.decode::<Position>(2).unwrap(), Position { lsn: 9, owed: vec![] });
    }

    #[test]
    fn a_newer_version_is_refused_by_number() {
        let state = State::encode(&position(), 4).unwrap();
        let error = state.decode::<Position>(3).unwrap_err();
        assert!(matches!(error, Error::State(_)));
        assert!(error.to_string().contains("version 4"), "{error}");
    }

    #[test]
    fn every_cut_and_every_tail_of_a_state_is_refused() {
        let whole = State::encode(&position(), 1).unwrap().into_bytes();
        for length in 0..whole.len() {
            let cut = State::from_bytes(&whole[..length]);
            assert!(matches!(cut.decode::<Position>(1), Err(Error::State(_))), "cut at {length}");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(matches!(State::from_bytes(longer).decode::<Position>(1), Err(Error::State(_))));
    }

    #[test]
    fn a_foreign_map_is_refused() {
        let foreign = rmp_serde::to_vec_named(&position()).unwrap();
        assert!(matches!(State::from_bytes(foreign).decode::<Position>(1), Err(Error::State(_))));
    }

    #[test]
    fn debug_shows_no_byte_of_the_state() {
        assert_eq!(format!("{:?}", State::from_bytes(b"secret".to_vec())), "State(6 bytes)");
    }
}
