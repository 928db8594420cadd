//! jq expressions of a definition, checked at load. Running one is the record crate's.
//!
//! The language is jq as jaq speaks it, without what reaches out of the record (`env`, `input`, `debug`, `stderr`,
//! `halt`, modules) and without what could run for ever: a definition must not call itself, and what repeats
//! (`range`, `repeat`, `while`, `until`, `recurse`) takes its turns from a budget for each record.

mod comparison;
mod language;

use jaq_core::Compiler;
use jaq_core::load::{self, Arena, File, Loader};

pub use comparison::FieldTest;
pub use language::{Budget, Language, json_nesting};

use crate::parse_error::ParseError;

/// Longest expression, in bytes.
const EXPRESSION_BYTES_MAX: usize = 16 * 1024;
/// Parser and compiler go down by recursion, some kilobytes for each byte of an expression; what is not touched costs
/// nothing.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// An expression made ready for running.
pub type Filter = jaq_core::Filter<Language>;

/// A jq expression that compiles. Two are equal if their texts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(String);

impl Expression {
    /// Compiles the text to see that it can be.
    pub fn parse(text: &str) -> Result<Expression, ParseError> {
        if text.len() > EXPRESSION_BYTES_MAX {
            let reason = format!("the expression is longer than {EXPRESSION_BYTES_MAX} bytes");
            return Err(ParseError::new(EXPRESSION_BYTES_MAX, reason));
        }
        compiled(text)?;
        let recursion =
            || load::parse(text, |parser| parser.term()).and_then(|term| language::recursion(&term));
        if let Some(name) = stacker::grow(STACK_BYTES, recursion) {
            let reason = format!("the definition of {name} calls itself, which could go on for ever");
            let hint = "write it with reduce, foreach, recurse or until";
            return Err(ParseError::new(load::span(text, name).start, reason).hint(hint));
        }
        Ok(Expression(text.to_owned()))
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The comparison it is, if it is a plain one.
    pub fn field_test(&self) -> Option<FieldTest> {
        stacker::grow(STACK_BYTES, || FieldTest::of(&self.0))
    }

    /// The expression made ready. Costs about as much as starting a program: once for each opening.
    pub fn compile(&self) -> Filter {
        compiled(&self.0).expect("`parse` has compiled the same text")
    }
}

fn compiled(text: &str) -> Result<Filter, ParseError> {
    stacker::grow(STACK_BYTES, || compile(text))
}

fn compile(text: &str) -> Result<Filter, ParseError> {
    let arena = Arena::default();
    let loader = Loader::new(language::definitions());
    let modules =
        loader.load(&arena, File { code: text, path: () }).map_err(|errors| not_loaded(text, errors))?;
    let compiler = Compiler::default().with_funs(language::functions());
    compiler.compile(modules).map_err(|errors| not_compiled(text, errors))
}

fn not_loaded(text: &str, errors: load::Errors<&str, ()>) -> ParseError {
    let first = errors.into_iter().next().map(|(_, error)| error);
    match first {
        Some(load::Error::Lex(errors)) => {
            expected(text, errors.first().map(|(what, at)| (what.as_str(), *at)))
        }
        Some(load::Error::Parse(errors)) => {
            expected(text, errors.first().map(|(what, at)| (what.as_str(), *at)))
        }
        Some(load::Error::Io(errors)) => {
            let at = errors.first().map_or(0, |(path, _)| load::span(text, path).start);
            ParseError::new(at, "an expression cannot load modules")
        }
        None => ParseError::new(0, "it is no jq expression"),
    }
}

fn expected(text: &str, what: Option<(&str, &str)>) -> ParseError {
    let Some((what, found)) = what else { return ParseError::new(0, "it is no jq expression") };
    let at = load::span(text, found).start.min(text.len());
    let found =
        if at == text.len() { "the end".to_owned() } else { format!("`{}`", crate::scalar::cut(found)) };
    ParseError::new(at, format!("jq expects {what} where {found} stands"))
}

fn not_compiled(text: &str, errors: jaq_core::compile::Errors<&str, ()>) -> ParseError {
    let mut undefined = errors.into_iter().flat_map(|(_, errors)| errors);
    let Some((name, what)) = undefined.next() else { return ParseError::new(0, "it is no jq expression") };
    let at = load::span(text, name).start;
    let error = ParseError::new(at, format!("there is no {} `{name}`", what.as_str()));
    match language::refused(name) {
        Some(why) => error.hint(why),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (usize, String) {
        let error = Expression::parse(text).unwrap_err();
        (error.at, error.reason)
    }

    #[test]
    fn expressions_of_everyday_use_are_taken() {
        let good = [
            ".operation_type == \"DELETE\"",
            ".a.b[0] // \"none\"",
            "has(\"x\") | not",
            "del(.secret) | .at = (.ts_ms / 1000 | todate)",
            "{id, name: (.first + \" \" + .last)}",
            ".items[] |= select(.price > 10)",
            "def full(f): f | ascii_downcase; .name |= full(.)",
            ".email | test(\"@example[.]com$\"; \"i\")",
            "[range(3)] | map(. * 2) | add",
            "reduce .[] as $x (0; . + $x)",
            ".. |= (if type == \"string\" then ltrimstr(\" \") else . end)",
            "[recurse(if . < 3 then . + 1 else empty end)] | [limit(2; .[])] | first",
            "[.[] | @base64]",
            "with_entries(.value |= tostring) | tojson | fromjson",
            "until(. > 100; . * 2)",
            "walk(if type == \"number\" then round else . end)",
        ];
        for text in good {
            Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    #[test]
    fn what_is_no_expression_is_refused_at_its_place() {
        assert_eq!(refusal(".a == "), (6, "jq expects term where the end stands".to_owned()));
        assert_eq!(refusal("  .a | nothere(1)"), (7, "there is no filter `nothere`".to_owned()));
        assert_eq!(refusal(".a + $x"), (5, "there is no variable `$x`".to_owned()));
        assert_eq!(refusal("(.a").0, 3);
        assert!(refusal(&" ".repeat(70_000)).1.contains("longer"));
        assert!(refusal("").1.contains("jq expects"));
    }

    #[test]
    fn the_longest_expressions_reach_no_stack() {
        for (open, close) in
            [("[", "]"), ("(", ")"), ("{a:", "}"), (".|", "."), ("-", "1"), ("if 1 then ", " else 2 end")]
        {
            let half = EXPRESSION_BYTES_MAX / (open.len() + close.len()) - 2;
            let text = format!(
                "{}.{}",
                open.repeat(half),
                if close == "." || close == "1" { "" } else { close }.repeat(half)
            );
            assert!(text.len() <= EXPRESSION_BYTES_MAX);
            // Taken or refused, but there is an answer.
            drop(Expression::parse(&text).map(|expression| (expression.field_test(), expression.compile())));
        }
    }

    #[test]
    fn nothing_outside_the_record_is_reached() {
        for text in [
            "env",
            "$ENV",
            "input",
            "inputs",
            "debug",
            "stderr",
            "halt",
            "halt_error",
            "import \"a\" as a; a::b",
            "include \"a\"; .",
        ] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_definition_that_calls_itself_is_refused() {
        for text in [
            "def f: f; f",
            "def g: def f(x): [1, f(x)]; f(.); g",
            ". as $x | def f: if . then (1 | f) else 2 end; f",
        ] {
            assert!(refusal(text).1.contains("calls itself"), "{text}: {:?}", refusal(text));
        }
        assert_eq!(refusal(".a | def f: f; f").0, 9);
        // The inner one shadows the outer, and has another number of arguments there.
        for text in ["def f: def f: 1; f; f", "def f(x): x; def f: f(1); f"] {
            assert!(Expression::parse(text).is_ok(), "{text}");
        }
    }
}
