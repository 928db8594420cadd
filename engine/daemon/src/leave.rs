//! The one way out of the process.

use std::io::Write as _;

/// What the process ends with. The numbers are public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; of `run`: everything in flight was delivered and saved.
    Ok,
    /// It failed while running; of `run`: the grace was over before all had drained.
    Runtime,
    /// Files, variables or arguments cannot be used as they are.
    Config,
    /// Something outside is not as needed: no daemon at this address, a port that is taken.
    Environment,
    /// Nothing was done: a person has to say yes to what was shown.
    Confirmation,
}

impl Exit {
    /// The number for the shell.
    pub(crate) fn code(self) -> i32 {
        match self {
            Exit::Ok => 0,
            Exit::Runtime => 1,
            Exit::Config => 2,
            Exit::Environment => 3,
            Exit::Confirmation => 4,
        }
    }
}

/// Ends the process without running exit handlers or destructors: threads of plugins and of librdkafka may still
/// run, and the handlers of `exit` would take the ground from under them. All that had to be durable is by now.
pub(crate) fn leave(exit: Exit) -> ! {
    crate::terminal::restore();
    // A closed pipe is no reason for another exit code.
    std::io::stdout().flush().ok();
    std::io::stderr().flush().ok();
    signal_hook::low_level::exit(exit.code())
}
