//! Values of records as messages show them: quoted, escaped and cut short.

/// Most characters of a value that a message shows; a value may be a whole document.
const SHOWN_MAX: usize = 60;

/// `value` in quotes, with everything unprintable escaped, cut after 60 characters.
pub(crate) fn shorten(value: &[u8]) -> String {
    // Cut before decoding: a value may be megabytes, and a character is at most four bytes. One more than is shown
    // tells that something was cut.
    let head = &value[..value.len().min(4 * (SHOWN_MAX + 1))];
    let text = String::from_utf8_lossy(head);
    let mut shown = String::from("\"");
    let mut left = SHOWN_MAX;
    for character in text.chars() {
        let escaped = character.escape_debug();
        if escaped.len() > left {
            shown.push('…');
            break;
        }
        left -= escaped.len();
        shown.extend(escaped);
    }
    shown.push('"');
    shown
}

/// A message of others, cut after 200 characters.
pub(crate) fn cut(message: &str) -> String {
    const MESSAGE_MAX: usize = 200;
    match message.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_value_is_shown_whole() {
        assert_eq!(shorten(b"acme"), "\"acme\"");
        assert_eq!(shorten("ä\n\u{1b}".as_bytes()), "\"ä\\n\\u{1b}\"");
        assert_eq!(shorten(b"\xff"), "\"\u{fffd}\"");
    }

    #[test]
    fn a_long_value_is_cut_whatever_it_is_made_of() {
        for value in ["a".repeat(5_000), "\u{1}".repeat(5_000), "😀".repeat(5_000), "\"".repeat(61)] {
            let shown = shorten(value.as_bytes());
            assert!(shown.ends_with("…\""), "{shown}");
            assert!(shown.chars().count() <= 64, "{shown}");
        }
    }
}
