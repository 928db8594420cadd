//! `custom_query` with its placeholders as bound parameters. Pure.

use crate::quote::TableName;

/// A placeholder whose value is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placeholder {
    Offset,
    Limit,
    /// RFC 3339.
    Now,
    /// Seconds.
    NowUnix,
}

/// The query with `$1`, `$2` … and what each of them is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Custom {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Placeholder>,
}

/// Longest first, since one begins with another.
const WORDS: [(&str, Placeholder); 4] = [
    ("$now_unix", Placeholder::NowUnix),
    ("$offset", Placeholder::Offset),
    ("$limit", Placeholder::Limit),
    ("$now", Placeholder::Now),
];

/// Reads a query for `table`. A placeholder may stand bare or alone in single quotes; it is bound either way.
///
/// # Errors
/// A placeholder inside a longer string, or a query that is cut off without an order.
pub(crate) fn parse(query: &str, table: &TableName) -> Result<Custom, String> {
    let mut custom = Custom { sql: String::new(), parameters: Vec::new() };
    let mut rest = query;
    while let Some(character) = rest.chars().next() {
        let quoted = WORDS.iter().find_map(|(word, one)| {
            rest.strip_prefix('\'')?.strip_prefix(word)?.strip_prefix('\'').map(|rest| (*one, rest))
        });
        let bare = WORDS.iter().find_map(|(word, one)| rest.strip_prefix(word).map(|rest| (*one, rest)));
        if let Some((placeholder, after)) = quoted.or(bare) {
            custom.bind(placeholder);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("$table") {
            custom.sql.push_str(&table.quoted());
            rest = after;
        } else if character == '\'' {
            let end = rest[1..].find('\'').map_or(rest.len(), |end| end + 2);
            if WORDS.iter().any(|(word, _)| rest[..end].contains(word)) || rest[..end].contains("$table") {
                return Err(format!(
                    "a placeholder inside a longer string cannot be bound: {}; write it bare, such as created_at > $offset",
                    &rest[..end]
                ));
            }
            custom.sql.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            custom.sql.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    let words = custom.sql.to_lowercase();
    let is_cut = custom.parameters.contains(&Placeholder::Limit) || words.contains("limit");
    if is_cut && !words.split_whitespace().collect::<Vec<_>>().windows(2).any(|two| two == ["order", "by"]) {
        return Err("it has a limit and no ORDER BY, so it would leave rows out by chance; order it by the tracking column".into());
    }
    while custom.sql.trim_end().ends_with(';') {
        custom.sql.truncate(custom.sql.trim_end().len() - 1);
    }
    Ok(custom)
}

impl Custom {
    fn bind(&mut self, placeholder: Placeholder) {
        let place = self.parameters.iter().position(|known| *known == placeholder).unwrap_or_else(|| {
            self.parameters.push(placeholder);
            self.parameters.len() - 1
        });
        self.sql.push_str(&format!("${}", place + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> Result<Custom, String> {
        parse(query, &TableName::new("public", "orders"))
    }

    #[test]
    fn placeholders_are_bound_bare_or_in_quotes_and_the_long_one_is_not_cut_b128() {
        let custom = parsed(
            "SELECT * FROM $table WHERE id > '$offset' AND a < $now_unix AND b < $now AND c > $offset ORDER  BY id LIMIT $limit;",
        )
        .unwrap();
        assert_eq!(
            custom.sql,
            "SELECT * FROM \"public\".\"orders\" WHERE id > $1 AND a < $2 AND b < $3 AND c > $1 ORDER  BY id LIMIT $4"
        );
        assert_eq!(
            custom.parameters,
            [Placeholder::Offset, Placeholder::NowUnix, Placeholder::Now, Placeholder::Limit]
        );
    }

    #[test]
    fn a_limit_without_an_order_is_refused_b040() {
        assert!(parsed("SELECT * FROM $table LIMIT 100").unwrap_err().contains("ORDER BY"));
        assert!(parsed("SELECT * FROM $table").is_ok());
    }

    #[test]
    fn a_placeholder_inside_a_string_is_refused() {
        assert!(parsed("SELECT 'x $offset y'").is_err());
        assert!(parsed("SELECT 'it''s' WHERE a = '$offset'").is_ok());
    }
}
