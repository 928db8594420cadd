//! What is to be done with the text of a type.

use std::collections::HashMap;

/// How deep a domain may be based on domains, and arrays on types, before we give up and copy text.
const DEPTH_MAX: u32 = 32;

/// The first id that a database gives to types of its own.
const OID_OWN_MIN: u32 = 16_384;

/// How the text of a type becomes JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `t` and `f`.
    Bool,
    /// int2, int4, oid: a JSON number.
    Integer,
    Int8,
    /// float4 and float8: a number, or a string where JSON has none.
    Float,
    Numeric,
    /// json and jsonb: spliced in as they are.
    Json,
    /// Hexadecimal with `\x` before it: base64.
    Bytea,
    /// `T` instead of the blank.
    Timestamp,
    /// The same, and `Z` instead of `+00`.
    TimestampTz,
    Hstore,
    Array {
        element: Box<Kind>,
        delimiter: u8,
    },
    /// A string of the text as it is.
    Text,
}

impl Kind {
    fn array(element: Kind) -> Kind {
        Kind::Array { element: Box::new(element), delimiter: b',' }
    }

    /// The kind of a type that every server has.
    pub(crate) fn built_in(oid: u32) -> Option<Kind> {
        if let Some(kind) = scalar(oid) {
            return Some(kind);
        }
        if oid == 1020 {
            return Some(Kind::Array { element: Box::new(Kind::Text), delimiter: b';' });
        }
        if let Some((_, element)) = ARRAYS.iter().find(|(array, _)| *array == oid) {
            return Some(Kind::array(scalar(*element).unwrap_or(Kind::Text)));
        }
        (oid < OID_OWN_MIN).then_some(Kind::Text)
    }

    /// The kind of a type by its name, which the stream gives for those that are not built in.
    pub(crate) fn by_name(schema: &str, name: &str) -> Kind {
        if schema == "pg_catalog" || schema.is_empty() {
            if let Some(oid) = oid_of(name) {
                return scalar(oid).unwrap_or(Kind::Text);
            }
            return name
                .strip_prefix('_')
                .map_or(Kind::Text, |name| Kind::array(Kind::by_name(schema, name)));
        }
        match name {
            "hstore" => Kind::Hstore,
            "_hstore" => Kind::array(Kind::Hstore),
            _ if name.starts_with('_') => Kind::array(Kind::Text),
            _ => Kind::Text,
        }
    }
}

fn scalar(oid: u32) -> Option<Kind> {
    Some(match oid {
        16 => Kind::Bool,
        21 | 23 | 26 => Kind::Integer,
        20 => Kind::Int8,
        700 | 701 => Kind::Float,
        1700 => Kind::Numeric,
        114 | 3802 => Kind::Json,
        17 => Kind::Bytea,
        1114 => Kind::Timestamp,
        1184 => Kind::TimestampTz,
        _ => return None,
    })
}

/// Names of the scalars that are more than text in some envelope: the base types a domain may have.
const NAMES: [(u32, &str); 20] = [
    (16, "bool"),
    (17, "bytea"),
    (20, "int8"),
    (21, "int2"),
    (23, "int4"),
    (26, "oid"),
    (114, "json"),
    (600, "point"),
    (700, "float4"),
    (701, "float8"),
    (790, "money"),
    (1082, "date"),
    (1083, "time"),
    (1114, "timestamp"),
    (1184, "timestamptz"),
    (1186, "interval"),
    (1266, "timetz"),
    (1560, "bit"),
    (1562, "varbit"),
    (1700, "numeric"),
];

fn oid_of(name: &str) -> Option<u32> {
    NAMES.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid)
}

/// Built-in array types and what they hold; a test compares them with a server's own catalog.
#[rustfmt::skip]
const ARRAYS: [(u32, u32); 80] = [
    (143, 142), (199, 114), (210, 71), (270, 75), (271, 5069), (272, 81), (273, 83), (629, 628),
    (651, 650), (719, 718), (775, 774), (791, 790), (1000, 16), (1001, 17), (1002, 18), (1003, 19),
    (1005, 21), (1006, 22), (1007, 23), (1008, 24), (1009, 25), (1010, 27), (1011, 28), (1012, 29),
    (1013, 30), (1014, 1042), (1015, 1043), (1016, 20), (1017, 600), (1018, 601), (1019, 602), (1021, 700),
    (1022, 701), (1027, 604), (1028, 26), (1034, 1033), (1040, 829), (1041, 869), (1115, 1114),
    (1182, 1082), (1183, 1083), (1185, 1184), (1187, 1186), (1231, 1700), (1263, 2275), (1270, 1266),
    (1561, 1560), (1563, 1562), (2201, 1790), (2207, 2202), (2208, 2203), (2209, 2204), (2210, 2205),
    (2211, 2206), (2949, 2970), (2951, 2950), (3221, 3220), (3643, 3614), (3644, 3642), (3645, 3615),
    (3735, 3734), (3770, 3769), (3807, 3802), (3905, 3904), (3907, 3906), (3909, 3908), (3911, 3910),
    (3913, 3912), (3927, 3926), (4073, 4072), (4090, 4089), (4097, 4096), (4192, 4191), (5039, 5038),
    (6150, 4451), (6151, 4532), (6152, 4533), (6153, 4534), (6155, 4535), (6157, 4536),
];

/// The types a database has of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    kinds: HashMap<u32, Kind>,
    rows: HashMap<u32, TypeRow>,
}

/// What a type is in the end, once no domain is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) oid: u32,
    /// What stands in parentheses behind the type, encoded as the type likes it; -1 for nothing.
    pub(crate) modifier: i32,
    /// Empty for built-in types.
    pub(crate) name: String,
    pub(crate) is_hstore: bool,
    /// What an array holds, and what stands between.
    pub(crate) element: Option<(Box<Root>, u8)>,
}

/// One row of `pg_type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeRow {
    pub(crate) oid: u32,
    pub(crate) name: String,
    /// For an array what it holds, else 0.
    pub(crate) element: u32,
    pub(crate) delimiter: u8,
    /// For a domain what it is based on, else 0.
    pub(crate) base: u32,
    /// For a domain the modifier of its base, else -1.
    pub(crate) modifier: i32,
}

impl Catalog {
    /// Asks for what [`from_rows`](Catalog::from_rows) reads. Composites, the row type of every table among them, are text anyway; arrays of
    /// them are not.
    pub(crate) const SQL: &str = "SELECT t.oid::text, t.typname::text, \
         (CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END)::text, t.typdelim::text, t.typbasetype::text, t.typtypmod::text \
         FROM pg_catalog.pg_type t WHERE t.oid >= 16384 AND t.typtype <> 'c'";

    pub(crate) fn from_rows(rows: &[TypeRow]) -> Catalog {
        let by_oid: HashMap<u32, &TypeRow> = rows.iter().map(|row| (row.oid, row)).collect();
        Catalog {
            kinds: rows.iter().map(|row| (row.oid, resolved(row.oid, &by_oid, 0))).collect(),
            rows: rows.iter().map(|row| (row.oid, row.clone())).collect(),
        }
    }

    /// Remembers what the stream said about a type.
    pub(crate) fn learn(&mut self, oid: u32, schema: &str, name: &str) {
        // What the catalog says is better than a name: it knows what an array of domains holds.
        self.kinds.entry(oid).or_insert_with(|| Kind::by_name(schema, name));
        let is_built_in = schema.is_empty() || schema == "pg_catalog";
        let base = oid_of(name).filter(|_| is_built_in).unwrap_or_default();
        let row = || TypeRow { oid, name: name.to_owned(), base, modifier: -1, ..TypeRow::default() };
        self.rows.entry(oid).or_insert_with(row);
    }

    /// What `oid` is in the end; `modifier` is that of the column.
    pub(crate) fn root(&self, oid: u32, modifier: i32) -> Root {
        self.rooted(oid, modifier, 0)
    }

    fn rooted(&self, oid: u32, modifier: i32, depth: u32) -> Root {
        let root = Root { oid, modifier, ..Root::default() };
        if let Some((_, element)) = ARRAYS.iter().find(|(array, _)| *array == oid) {
            let element = self.rooted(*element, modifier, depth + 1);
            return Root { element: Some((Box::new(element), b',')), ..root };
        }
        let Some(row) = self.rows.get(&oid).filter(|_| depth < DEPTH_MAX) else { return root };
        if row.base != 0 {
            return self.rooted(row.base, if modifier < 0 { row.modifier } else { modifier }, depth + 1);
        }
        let element = (row.element != 0).then(|| {
            let delimiter = self.rows.get(&row.element).map_or(row.delimiter, |element| element.delimiter);
            (Box::new(self.rooted(row.element, modifier, depth + 1)), delimiter)
        });
        Root { name: row.name.clone(), is_hstore: row.name == "hstore", element, ..root }
    }

    pub(crate) fn kind(&self, oid: u32) -> Kind {
        Kind::built_in(oid).or_else(|| self.kinds.get(&oid).cloned()).unwrap_or(Kind::Text)
    }
}

fn resolved(oid: u32, rows: &HashMap<u32, &TypeRow>, depth: u32) -> Kind {
    if let Some(kind) = Kind::built_in(oid) {
        return kind;
    }
    let Some(row) = rows.get(&oid).filter(|_| depth < DEPTH_MAX) else { return Kind::Text };
    if row.base != 0 {
        return resolved(row.base, rows, depth + 1);
    }
    if row.element != 0 {
        let delimiter = rows.get(&row.element).map_or(row.delimiter, |element| element.delimiter);
        return Kind::Array { element: Box::new(resolved(row.element, rows, depth + 1)), delimiter };
    }
    if row.name == "hstore" { Kind::Hstore } else { Kind::Text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(oid: u32, name: &str, element: u32, base: u32) -> TypeRow {
        TypeRow { oid, name: name.to_owned(), element, delimiter: b',', base, modifier: -1 }
    }

    #[test]
    fn a_domain_is_its_base_type_however_deep_and_an_array_of_domains_too_b015() {
        let rows = [row(20_000, "d", 0, 23), row(20_001, "e", 0, 20_000), row(20_002, "_e", 20_001, 0)];
        let catalog = Catalog::from_rows(&rows);
        assert_eq!(catalog.kind(20_001), Kind::Integer);
        assert_eq!(catalog.kind(20_002), Kind::array(Kind::Integer));
    }

    #[test]
    fn a_circle_of_domains_and_a_type_never_seen_are_text_b014() {
        let catalog = Catalog::from_rows(&[row(20_000, "a", 0, 20_001), row(20_001, "b", 0, 20_000)]);
        assert_eq!(catalog.kind(20_000), Kind::Text);
        assert_eq!(catalog.kind(99_999), Kind::Text);
    }

    #[test]
    fn a_type_the_stream_names_is_known_from_then_on_b014() {
        let mut catalog = Catalog::default();
        catalog.learn(20_000, "public", "_mood");
        catalog.learn(20_001, "", "int4");
        catalog.learn(20_002, "ext", "hstore");
        assert_eq!(catalog.kind(20_000), Kind::array(Kind::Text));
        assert_eq!(catalog.kind(20_001), Kind::Integer);
        assert_eq!(catalog.kind(20_002), Kind::Hstore);
    }
}
