//! The terminal we were started from: its width, and single keys instead of lines.

use std::io::Read as _;
use std::sync::OnceLock;

use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc;

/// Settings of the terminal before we changed them. Static, since every way out of the process puts them back.
static ORIGINAL: OnceLock<Termios> = OnceLock::new();

/// Columns of a terminal that does not tell.
const COLUMNS_DEFAULT: usize = 100;

/// Keys that were pressed and nobody took yet; more are dropped.
const KEYS_WAITING_MAX: usize = 16;

/// The keys pressed from now on, one by one and unseen. `None` when standard input is no terminal.
///
/// Only line editing and echo are switched off: Ctrl-C still sends its signal, and output stays as it was.
pub(crate) fn keys() -> Option<mpsc::Receiver<char>> {
    let stdin = std::io::stdin();
    if !isatty(&stdin) {
        return None;
    }
    let original = tcgetattr(&stdin).ok()?;
    let mut changed = original.clone();
    changed.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    ORIGINAL.set(original).ok()?;
    tcsetattr(&stdin, OptionalActions::Now, &changed).ok()?;
    let (sender, keys) = mpsc::channel(KEYS_WAITING_MAX);
    // Blocks in a read for as long as the process lives; the process leaves without waiting for it.
    std::thread::Builder::new().name("keys".to_owned()).spawn(move || read(&sender)).ok()?;
    Some(keys)
}

fn read(sender: &mpsc::Sender<char>) {
    for byte in std::io::stdin().lock().bytes().map_while(Result::ok) {
        if let Err(mpsc::error::TrySendError::Closed(_)) =
            sender.try_send(char::from(byte).to_ascii_lowercase())
        {
            return;
        }
    }
}

/// Puts the terminal back as we found it. Harmless when nothing was changed.
pub(crate) fn restore() {
    if let Some(original) = ORIGINAL.get() {
        tcsetattr(std::io::stdin(), OptionalActions::Now, original).ok();
    }
}

/// Columns of the terminal behind standard output.
pub(crate) fn columns() -> usize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        Ok(_) | Err(_) => COLUMNS_DEFAULT,
    }
}
