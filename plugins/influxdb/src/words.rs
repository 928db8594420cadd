//! What the server's words of an error mean: something that is not there, a query that is wrong, or something that may pass.

use crate::error::Error;

/// Most of the words that are shown.
const SHOWN: usize = 400;

/// What may be made meanwhile.
const MISSING: [&str; 4] =
    ["database not found", "could not find bucket", "retention policy not found", "bucket not found"];

/// A span whose end is not after its beginning: Flux refuses it, and it holds no rows.
const EMPTY: &str = "cannot query an empty range";

/// Columns of one name and several types in one table: until the query parts them, whatever the data.
const COLLISION: &str = "schema collision";

/// While rows were made: a value that does not fit the query, or something that the query asked of others.
const RUNNING: &str = "runtime error";

/// The query as it is written: Flux compiles and plans it, InfluxQL says it inside a 200.
const BROKEN: [&str; 15] = [
    "compilation failed",
    "undefined identifier",
    "error calling function",
    "error in building plan",
    "type error",
    "error parsing query",
    "undefined function",
    "invalid operation",
    "invalid number of arguments",
    "expected field argument",
    "mixing aggregate and non-aggregate",
    "group by requires",
    "is not supported",
    "unsupported",
    "incompatible types",
];

/// The error that the words of an answer tell.
pub(crate) fn error(words: &str) -> Error {
    let lower = words.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let text = words.chars().take(SHOWN).collect::<String>();
    if MISSING.iter().any(|part| has(part)) {
        Error::NotFound(text)
    } else if has(EMPTY) {
        Error::EmptyRange
    } else if has(RUNNING) && !has(COLLISION) {
        Error::Running(text)
    } else if has(COLLISION) || BROKEN.iter().any(|part| has(part)) {
        Error::Query(text)
    } else {
        Error::Server(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As InfluxDB 1.6 and 2.8 wrote them.
    #[test]
    fn the_servers_words_tell_what_can_be_done() {
        for words in
            ["database not found: none", "could not find bucket \"none\"", "retention policy not found: r"]
        {
            assert!(matches!(error(words), Error::NotFound(_)), "{words}");
        }
        for words in [
            "error parsing query: found SELEC",
            "undefined function foo()",
            "invalid operation: time and *influxql.StringLiteral are not compatible",
            "mixing aggregate and non-aggregate queries is not supported",
            "GROUP BY requires at least one aggregate function",
            "type error: v::integer + s::string: incompatible types: integer and string",
            "unsupported mean iterator type: *query.stringInterruptIterator",
            "compilation failed: error @1:60-1:89: expected RPAREN, got EOF",
            "error @1:60-1:64: undefined identifier nope",
            "error calling function \"time\" @1:35-1:49: cannot convert string \"zzz\" to time",
            "schema collision: cannot group string and integer types together",
            "runtime error: schema collision: cannot group integer and string types together",
        ] {
            assert!(matches!(error(words), Error::Query(_)), "{words}");
        }
        for words in [
            "runtime error: cannot divide by zero",
            "runtime error @1:97-1:147: map: failed to evaluate map function: cannot convert string \"x\" to int",
        ] {
            assert!(matches!(error(words), Error::Running(_)), "{words}");
        }
        let empty = "error in building plan while starting program: cannot query an empty range";
        assert!(matches!(error(empty), Error::EmptyRange));
        for words in ["timeout", "engine: disk on fire", "An internal error has occurred - check server logs"]
        {
            assert!(matches!(error(words), Error::Server(_)), "{words}");
        }
    }
}
