//! Files that a definition names and whose content is part of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::context::{Context, Draft, Place};

/// Largest file of a schema, and of certificates.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// None when a finding at `place` says why not.
pub(crate) fn read_bytes(cx: &mut Context<'_>, file: &Path, place: &Place) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|opened| opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    let reason = match read {
        Ok(_) if bytes.len() as u64 > FILE_BYTES_MAX => format!("is larger than {FILE_BYTES_MAX} bytes"),
        Ok(_) => return Some(bytes),
        Err(error) => format!("cannot be read: {error}"),
    };
    let reason = format!("{} of `{}` {reason}", file.display(), place.name());
    let hint = "a relative path is taken from the folder of the definition";
    cx.add(place, Draft::error("config.unreadable", reason).hint(hint));
    None
}

/// Likewise, for text.
pub(crate) fn read_text(cx: &mut Context<'_>, file: &Path, place: &Place) -> Option<String> {
    let bytes = read_bytes(cx, file, place)?;
    match String::from_utf8(bytes) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let reason = format!("{} of `{}` is not UTF-8, from byte {at} on", file.display(), place.name());
            cx.add(place, Draft::error("config.unreadable", reason));
            None
        }
    }
}
