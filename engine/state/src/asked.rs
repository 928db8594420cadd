//! What a person asked of a source, kept beside its state so that it outlives a restart.

/// The last wish of a person. Written by `pause`, `stop`, `start` and `resume`, obeyed when the process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asked {
    /// It should run; also what holds when nothing was ever asked.
    Running,
    /// It should hold its plugin open and not poll.
    Paused,
    /// It should hold nothing.
    Stopped,
}

impl Asked {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Asked::Running => "running",
            Asked::Paused => "paused",
            Asked::Stopped => "stopped",
        }
    }

    /// Reads the word; blanks around it are forgiven, since people may write the file by hand.
    pub(crate) fn parse(text: &[u8]) -> Option<Asked> {
        match text.trim_ascii() {
            b"running" => Some(Asked::Running),
            b"paused" => Some(Asked::Paused),
            b"stopped" => Some(Asked::Stopped),
            _ => None,
        }
    }
}
