//! The plainest condition, `.a.b == "text"`, told apart from all others: it can be answered without a tree.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::load::{self};
use jaq_core::ops::Cmp;
use jaq_core::path::{Opt, Part, Path};

/// A comparison of one field with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTest {
    /// Names of members, from the outside in; at least one, none of them made of digits.
    pub path: Vec<String>,
    /// The text it is compared with.
    pub text: String,
    /// `==`; false: `!=`.
    pub is_equal: bool,
}

impl FieldTest {
    /// None: the expression is another one.
    pub(super) fn of(expression: &str) -> Option<FieldTest> {
        let term = load::parse(expression, |parser| parser.term())?;
        let Term::BinOp(left, BinaryOp::Cmp(compare), right) = term else { return None };
        let is_equal = match compare {
            Cmp::Eq => true,
            Cmp::Ne => false,
            Cmp::Lt | Cmp::Le | Cmp::Gt | Cmp::Ge => return None,
        };
        Some(FieldTest { path: path(&left)?, text: text(&right)?, is_equal })
    }
}

fn path(term: &Term<&str>) -> Option<Vec<String>> {
    let Term::Path(start, Path(parts)) = term else { return None };
    if !matches!(**start, Term::Id) || parts.is_empty() {
        return None;
    }
    let names = parts.iter().map(|part| match part {
        // What is made of digits would also index an array, where jq gives an error.
        (Part::Index(name), Opt::Essential) => text(name).filter(|name| name.parse::<u64>().is_err()),
        (Part::Index(_), Opt::Optional) | (Part::Range(..), _) => None,
    });
    names.collect()
}

fn text(term: &Term<&str>) -> Option<String> {
    let Term::Str(None, parts) = term else { return None };
    let mut text = String::new();
    for part in parts {
        match part {
            StrPart::Str(part) => text.push_str(part),
            StrPart::Char(character) => text.push(*character),
            StrPart::Term(_) => return None,
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_comparison_is_told_apart() {
        let test = |path: &[&str], text: &str, is_equal| {
            let path = path.iter().map(|name| (*name).to_owned()).collect();
            Some(FieldTest { path, text: text.to_owned(), is_equal })
        };

        assert_eq!(FieldTest::of(".op == \"DELETE\""), test(&["op"], "DELETE", true));
        assert_eq!(
            FieldTest::of("  .a.b[\"c d\"] != \"x\\n\\u0041\""),
            test(&["a", "b", "c d"], "x\nA", false)
        );
        for other in [
            ".a == 1",
            ".a < \"x\"",
            ".a? == \"x\"",
            ". == \"x\"",
            ".a[0] == \"x\"",
            ".a[\"0\"] == \"x\"",
            ".a[] == \"x\"",
            ".a == \"x\\(.b)\"",
            ".a == \"x\" or .b == \"y\"",
            ".a == @base64 \"x\"",
            "$x.a == \"x\"",
            ".a == ",
        ] {
            assert_eq!(FieldTest::of(other), None, "{other}");
        }
    }
}
