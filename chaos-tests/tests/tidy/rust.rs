//! Just enough of Rust's grammar to tell code from comments and strings.

/// The code of a Rust text: comments and the insides of strings and characters are blanks, so every byte keeps its
/// place and every line its number.
pub(crate) fn code(text: &str) -> String {
    let mut scrub = Scrub { text: text.as_bytes(), out: text.as_bytes().to_vec(), at: 0 };
    while scrub.at < scrub.text.len() {
        scrub.step();
    }
    String::from_utf8(scrub.out)
        .expect("whole characters are blanked, byte by byte, and ASCII is put in their place")
}

struct Scrub<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    at: usize,
}

impl Scrub<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        if rest.starts_with(b"//") {
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            self.blank(end);
        } else if rest.starts_with(b"/*") {
            self.block_comment();
        } else if rest[0] == b'"' {
            self.string(0, 0);
        } else if let Some((opening, hashes)) = raw_opening(rest).filter(|_| !self.is_in_word()) {
            self.string(opening, hashes + 1);
        } else if rest[0] == b'\'' {
            self.character();
        } else {
            self.at += 1;
        }
    }

    /// Is the byte before this one part of a name? Then `r` or `b` opens no string.
    fn is_in_word(&self) -> bool {
        self.at > 0 && is_word(self.text[self.at - 1])
    }

    fn block_comment(&mut self) {
        let rest = &self.text[self.at..];
        let (mut depth, mut end) = (0, 0);
        while end < rest.len() {
            if rest[end..].starts_with(b"/*") {
                (depth, end) = (depth + 1, end + 2);
            } else if rest[end..].starts_with(b"*/") {
                (depth, end) = (depth - 1, end + 2);
            } else {
                end += 1;
            }
            if depth == 0 {
                break;
            }
        }
        self.blank(end);
    }

    /// A string whose quote stands `opening` bytes on. `raw` is 0, or the number of hashes + 1.
    fn string(&mut self, opening: usize, raw: usize) {
        self.at += opening + 1;
        let rest = &self.text[self.at..];
        let mut end = 0;
        while end < rest.len() {
            match rest[end] {
                b'\\' if raw == 0 => end += 2,
                b'"' if raw == 0 || is_closing(&rest[end + 1..], raw - 1) => break,
                _ => end += 1,
            }
        }
        self.blank(end.min(rest.len()));
        self.at = (self.at + raw.max(1)).min(self.text.len());
    }

    /// A character, or a lifetime, which has no second quote.
    fn character(&mut self) {
        let rest = &self.text[self.at..];
        let inside = match rest.get(1) {
            Some(b'\\') => rest.iter().skip(3).position(|&byte| byte == b'\'').map(|end| end + 2),
            Some(_) => (2..=5).find(|&end| rest.get(end) == Some(&b'\'')).map(|end| end - 1),
            None => None,
        };
        // `'a` followed by no quote is a lifetime; so is the first of `'a, 'b`: a name is longer than one character.
        let is_lifetime = inside.is_some_and(|length| length > 1 && rest[1].is_ascii() && rest[1] != b'\\');
        match inside.filter(|_| !is_lifetime) {
            Some(length) => {
                self.at += 1;
                self.blank(length);
                self.at += 1;
            }
            None => self.at += 1,
        }
    }

    fn blank(&mut self, length: usize) {
        for byte in &mut self.out[self.at..self.at + length] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        self.at += length;
    }
}

/// `r"`, `r#"`, `br"`, `b"` …: where the quote stands, and how many hashes are before it. `b"` counts as no raw string.
fn raw_opening(rest: &[u8]) -> Option<(usize, usize)> {
    let after = rest.strip_prefix(b"b").unwrap_or(rest).strip_prefix(b"r")?;
    let hashes = after.iter().take_while(|&&byte| byte == b'#').count();
    (after.get(hashes) == Some(&b'"')).then(|| (rest.len() - after.len() + hashes, hashes))
}

fn is_closing(after: &[u8], hashes: usize) -> bool {
    after.len() >= hashes && after[..hashes].iter().all(|&byte| byte == b'#')
}

/// May this byte stand in a name?
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where `word` stands in `code` as a whole name.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(at + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The names of all functions in a Rust text.
pub(crate) fn functions(text: &str) -> Vec<String> {
    let code = code(text);
    let name =
        |at: usize| code[at + 2..].trim_start().bytes().take_while(|&byte| is_word(byte)).map(char::from);
    words(&code, "fn").map(|at| name(at).collect()).filter(|name: &String| !name.is_empty()).collect()
}

#[test]
fn comments_and_strings_are_blank_and_everything_keeps_its_place() {
    let text = "let a = \"x \\\" unsafe\"; // unsafe\n/* unsafe /* */ unsafe */ let b = r#\"\"unsafe\"#;\nlet c = '\"';";

    let code = code(text);

    assert_eq!(code.len(), text.len());
    assert!(!code.contains("unsafe"), "{code}");
    assert_eq!(words(&code, "let").count(), 3, "{code}");
}

#[test]
fn lifetimes_are_no_characters() {
    let code = code("fn f<'a, 'b>(x: &'a str, y: &'b u8) -> &'a str { 'x'; '\\''; b'\"'; 'é'; x }");

    assert!(code.contains("<'a, 'b>(x: &'a str"), "{code}");
    assert!(code.ends_with("x }"), "{code}");
    assert!(!code.contains('"'), "{code}");
}

#[test]
fn functions_are_found_by_name() {
    assert_eq!(
        functions("pub fn one() {} // fn two()\nasync fn three<T>() { \"fn four()\"; }"),
        ["one", "three"]
    );
}
