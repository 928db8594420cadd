//! The same column, the same JSON: in the snapshot and in the stream, whatever the database's own settings are.

use serde_json::{Value, json};

use crate::reading::{Reading, config};
use crate::server::{Database, VERSIONS};

/// Columns, their values as SQL, and the JSON they must become.
const VALUES: &[(&str, &str, &str)] = &[
    ("bool", "true", "true"),
    ("int2", "-32768", "-32768"),
    ("int8", "9223372036854775807", "9223372036854775807"),
    ("oid", "4294967295", "4294967295"),
    ("float4", "'-Infinity'", "\"-Infinity\""),
    ("float8", "0.1::float8 + 0.2::float8", "0.30000000000000004"),
    ("float8", "'NaN'", "\"NaN\""),
    ("numeric", "'NaN'", "\"NaN\""),
    ("numeric", "'Infinity'", "\"Infinity\""),
    ("numeric", "1e30", "\"1000000000000000000000000000000\""),
    ("numeric", "0.000000000000000000001", "\"0.000000000000000000001\""),
    ("numeric(12,2)", "4200", "\"4200.00\""),
    ("numeric(12,0)", "4200", "\"4200\""),
    ("numeric", "183.9382", "\"183.9382\""),
    ("numeric", "'-Infinity'", "\"-Infinity\""),
    ("money", "-1234.56", "\"-$1,234.56\""),
    ("text", "E'it''s \"x\" \\\\ \\n \\u2028'", "\"it's \\\"x\\\" \\\\ \\n \u{2028}\""),
    ("char(5)", "'ab'", "\"ab   \""),
    ("bytea", "'\\xdeadbeef'", "\"3q2+7w==\""),
    ("bytea", "'\\x005c'", "\"AFw=\""),
    ("bytea", "''", "\"\""),
    ("date", "'infinity'", "\"infinity\""),
    ("date", "'0044-03-15 BC'", "\"0044-03-15 BC\""),
    ("date", "'0001-01-01'", "\"0001-01-01\""),
    ("timestamp", "'294276-12-31 23:59:59.999999'", "\"294276-12-31T23:59:59.999999\""),
    ("timestamp", "'-infinity'", "\"-infinity\""),
    ("timestamptz", "'2024-02-29 23:44:59.5+05:15'", "\"2024-02-29T18:29:59.5Z\""),
    ("time", "'24:00:00'", "\"24:00:00\""),
    ("timetz", "'12:00:00+05:30:15'", "\"12:00:00+05:30:15\""),
    ("interval", "'1 year 2 mons 3 days 04:05:06.7'", "\"P1Y2M3DT4H5M6.7S\""),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
    ("inet", "'10.0.0.1'", "\"10.0.0.1\""),
    ("bit varying(5)", "B''", "\"\""),
    ("json", "'{\"a\" : 1,\"a\":1e400, \"z\": \"\\u0000\"}'", "{\"a\" : 1,\"a\":1e400, \"z\": \"\\u0000\"}"),
    ("jsonb", "'{\"b\": 12345678901234567890123}'", "{\"b\": 12345678901234567890123}"),
    ("text[]", "ARRAY['a', NULL, 'NULL', 'null']", "[\"a\",null,\"NULL\",\"null\"]"),
    (
        "text[]",
        "ARRAY['a,b', '', 'x\"y', E'c\\\\d', '{b}', 'a b']",
        "[\"a,b\",\"\",\"x\\\"y\",\"c\\\\d\",\"{b}\",\"a b\"]",
    ),
    ("int[]", "'[0:1]={7,8}'", "[7,8]"),
    ("int[]", "'{{1,2},{3,4}}'", "[[1,2],[3,4]]"),
    ("int[]", "'{{NULL,NULL},{NULL,NULL}}'", "[[null,null],[null,null]]"),
    ("float8[]", "ARRAY[0.1, 'NaN']::float8[]", "[0.1,\"NaN\"]"),
    ("box[]", "'{(1,1),(0,0);(2,2),(1,1)}'", "[\"(1,1),(0,0)\",\"(2,2),(1,1)\"]"),
    ("bytea[]", "ARRAY['\\xdead'::bytea]", "[\"3q0=\"]"),
    ("int4range", "'[1,6)'", "\"[1,6)\""),
    ("point", "'(1.5,-2)'", "\"(1.5,-2)\""),
    ("mood", "'happy'", "\"happy\""),
    ("mood[]", "'{sad,happy}'", "[\"sad\",\"happy\"]"),
    ("small", "5", "5"),
    ("small[]", "'{5,6}'::small[]", "[5,6]"),
    ("pair", "ROW(1, 'a,\"b')", "\"(1,\\\"a,\\\"\\\"b\\\")\""),
    ("pair[]", "ARRAY[ROW(1, 'a,\"b')::pair]", "[\"(1,\\\"a,\\\"\\\"b\\\")\"]"),
    ("hstore", "'a=>1, \"b c\"=>NULL'", "{\"a\":\"1\",\"b c\":null}"),
    ("int", "NULL", "null"),
];

/// Settings under which other clients get other texts.
const HOSTILE: &[&str] = &[
    "datestyle = 'German, DMY'",
    "intervalstyle = 'postgres_verbose'",
    "extra_float_digits = -15",
    "bytea_output = 'escape'",
    "timezone = 'Asia/Kathmandu'",
    "client_encoding = 'LATIN1'",
    "standard_conforming_strings = off",
];

fn prepare(database: &Database) {
    database.sql("CREATE EXTENSION IF NOT EXISTS hstore");
    database.sql("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN small AS int; CREATE TYPE pair AS (a int, b text)");
    let columns: Vec<String> =
        VALUES.iter().enumerate().map(|(at, (kind, ..))| format!("c{at} {kind}")).collect();
    database.sql(&format!("CREATE TABLE everything (id int PRIMARY KEY, {})", columns.join(", ")));
}

fn insert(database: &Database, id: u32) {
    let values: Vec<&str> = VALUES.iter().map(|(_, value, _)| *value).collect();
    database.sql(&format!("INSERT INTO everything VALUES ({id}, {})", values.join(", ")));
}

/// The whole row as text, so that digits and order count too.
fn row(id: u32) -> String {
    let values: Vec<String> =
        VALUES.iter().enumerate().map(|(at, (.., right))| format!("\"c{at}\":{right}")).collect();
    format!("\"data\":{{\"id\":{id},{}}}", values.join(","))
}

#[tokio::test]
async fn every_type_is_exact_in_the_snapshot_and_the_stream_under_any_settings_b147() {
    for version in VERSIONS {
        let database = Database::new(version);
        prepare(&database);
        insert(&database, 1);
        for setting in HOSTILE {
            database.sql(&format!("ALTER DATABASE {} SET {setting}", database.name));
        }
        let settings = config(&database, json!({ "snapshot_mode": "initial" }));
        let mut reading =
            Reading::open(settings, None).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        let read = reading.records(1).await;
        assert!(read[0].text.contains(&row(1)), "{version}\n{}\n{}", read[0].text, row(1));
        insert(&database, 2);
        let streamed = reading.records(1).await;
        assert!(streamed[0].text.contains(&row(2)), "{version}\n{}\n{}", streamed[0].text, row(2));
    }
}

#[tokio::test]
async fn every_type_is_exact_in_a_poll_under_any_settings_b008_b009_b010_b012_b013_b015_b147() {
    for version in VERSIONS {
        let database = Database::new(version);
        prepare(&database);
        insert(&database, 1);
        for setting in HOSTILE {
            database.sql(&format!("ALTER DATABASE {} SET {setting}", database.name));
        }
        let polling =
            json!({ "connection_string": database.url(), "mode": "polling", "tables": ["everything"] });
        let mut reading =
            Reading::open(polling, None).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        let read = reading.records(1).await;
        assert!(read[0].text.contains(&row(1)), "{version}\n{}\n{}", read[0].text, row(1));
    }
}

#[tokio::test]
async fn the_built_in_array_types_are_those_of_the_server() {
    for version in VERSIONS {
        let database = Database::new(version);
        // One table with a column of every built-in array type that a table may have, one element null in each.
        let kinds = database.sql(
            "SELECT string_agg(format('c%s %s', oid, typname::regtype), ', ') FROM pg_type \
             WHERE typcategory = 'A' AND oid < 10000 AND typname LIKE '\\_%' AND typelem IN (SELECT oid FROM pg_type WHERE typtype IN ('b', 'r', 'm') AND typname <> 'aclitem')",
        );
        database.sql(&format!("CREATE TABLE arrays ({kinds})"));
        let values = database.sql(
            "SELECT string_agg('''{NULL}''', ', ') FROM pg_attribute WHERE attrelid = 'arrays'::regclass AND attnum > 0",
        );
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql(&format!("INSERT INTO arrays VALUES ({values})"));
        let seen = reading.records(1).await;
        let data = seen[0].data().as_object().unwrap().clone();
        assert!(data.len() > 60, "{}", data.len());
        for (column, value) in data {
            assert_eq!(value, json!([null]), "{version} {column}");
        }
    }
}

#[tokio::test]
async fn names_that_look_like_syntax_are_names_b017() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(r#"CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."My Table" ("Col One" int PRIMARY KEY, "weird[int]:" text, "select" int, "q""q" int)"#);
        let settings = json!({ "tables": ["\"a.b\".My Table"], "snapshot_mode": "initial" });
        let mut reading = Reading::open(config(&database, settings), None).await.unwrap();
        for _ in 0..3 {
            assert_eq!(reading.step().await.unwrap(), []);
        }
        database.sql(r#"INSERT INTO "a.b"."My Table" VALUES (1, 'x[integer]:1 y[text]:''z''', 2, 3)"#);
        let seen = reading.records(1).await;
        let right = json!({"Col One": 1, "weird[int]:": "x[integer]:1 y[text]:'z'", "select": 2, "q\"q": 3});
        assert_eq!(seen[0].data(), &right);
        assert_eq!(
            (&seen[0].value["schema_name"], &seen[0].value["table_name"]),
            (&json!("a.b"), &json!("My Table"))
        );
    }
}

#[tokio::test]
async fn toast_identity_and_keys_are_told_as_they_are_b020() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE big (id int PRIMARY KEY, v int, doc text); ALTER TABLE big ALTER doc SET STORAGE EXTERNAL");
        database.sql("CREATE TABLE whole (id int PRIMARY KEY, v int, doc text); ALTER TABLE whole ALTER doc SET STORAGE EXTERNAL; ALTER TABLE whole REPLICA IDENTITY FULL");
        database.sql("CREATE TABLE keyless (v int); ALTER TABLE keyless REPLICA IDENTITY FULL");
        let mut reading = Reading::streaming(&database, json!({})).await;
        for table in ["big", "whole"] {
            database.sql(&format!("INSERT INTO {table} VALUES (1, 1, repeat('x', 10000)); UPDATE {table} SET v = 2; UPDATE {table} SET id = 2; DELETE FROM {table}"));
        }
        database.sql("INSERT INTO keyless VALUES (1); UPDATE keyless SET v = 2; DELETE FROM keyless");
        let seen = reading.records(11).await;
        let doc = json!("x".repeat(10_000));
        assert_eq!(
            (seen[1].data(), &seen[1].value["unchanged"]),
            (&json!({"id": 1, "v": 2}), &json!(["doc"]))
        );
        assert_eq!(
            (seen[2].data(), &seen[2].value["old_data"]),
            (&json!({"id": 2, "v": 2}), &json!({"id": 1}))
        );
        assert_eq!((seen[3].data(), seen[3].key.as_deref()), (&json!({"id": 2}), Some("2")));
        assert_eq!(
            (seen[5].data(), &seen[5].value["unchanged"]),
            (&json!({"id": 1, "v": 2, "doc": doc}), &Value::Null)
        );
        assert_eq!((seen[6].key.as_deref(), &seen[6].value["old_data"]["id"]), (Some("2"), &json!(1)));
        assert_eq!(seen[7].data(), &json!({"id": 2, "v": 2, "doc": doc}));
        let operations: Vec<&str> = seen[8..].iter().map(|record| record.operation()).collect();
        assert_eq!(operations, ["INSERT", "UPDATE", "DELETE"]);
        assert!(seen[8..].iter().all(|record| record.key.is_none()));
    }
}

#[tokio::test]
async fn columns_come_and_go_under_way_and_generated_ones_are_left_out_b021() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, a int, twice int GENERATED ALWAYS AS (id * 2) STORED); CREATE TABLE nothing ()");
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO nothing DEFAULT VALUES");
        database.sql(
            "BEGIN; INSERT INTO t VALUES (1, 1); ALTER TABLE t ADD b text; INSERT INTO t (id, a, b) VALUES (2, 2, 'x'); \
             ALTER TABLE t RENAME a TO c; INSERT INTO t (id, c, b) VALUES (3, 3, 'y'); COMMIT",
        );
        database.sql("ALTER TABLE t DROP b; ALTER TABLE t ALTER c TYPE text");
        database.sql("INSERT INTO t (id, c) VALUES (4, 'four')");
        database.sql("CREATE TYPE mood AS ENUM ('sad'); ALTER TABLE t ADD m mood");
        database.sql("INSERT INTO t (id, m) VALUES (5, 'sad')");
        database.sql("ALTER TABLE t DROP m; DROP TYPE mood; CREATE TYPE mood AS ENUM ('happy'); ALTER TABLE t ADD m mood");
        database.sql("INSERT INTO t (id, m) VALUES (6, 'happy')");
        let seen = reading.records(7).await;
        let data: Vec<&Value> = seen.iter().map(|record| record.data()).collect();
        assert_eq!(data[0], &json!({}));
        assert_eq!(
            data[1..4],
            [
                &json!({"id": 1, "a": 1}),
                &json!({"id": 2, "a": 2, "b": "x"}),
                &json!({"id": 3, "c": 3, "b": "y"})
            ]
        );
        assert_eq!(data[4], &json!({"id": 4, "c": "four"}));
        assert_eq!((&data[5]["m"], &data[6]["m"]), (&json!("sad"), &json!("happy")));
    }
}

#[tokio::test]
async fn rows_of_partitions_carry_the_name_of_their_root_whatever_their_column_order_b028() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(
            "CREATE TABLE parent (id int, code int, state text, PRIMARY KEY (id)) PARTITION BY RANGE (id); \
             CREATE TABLE one PARTITION OF parent FOR VALUES FROM (0) TO (10); \
             CREATE TABLE two (id int NOT NULL, state text, code int); \
             ALTER TABLE parent ATTACH PARTITION two FOR VALUES FROM (10) TO (20); INSERT INTO parent VALUES (1, 2, 'a')",
        );
        let settings = config(&database, json!({ "tables": ["parent"], "snapshot_mode": "initial" }));
        let mut reading = Reading::open(settings, None).await.unwrap();
        assert_eq!(reading.records(1).await[0].data(), &json!({"id": 1, "code": 2, "state": "a"}));
        database.sql("INSERT INTO parent VALUES (12, 3, 'b')");
        let seen = reading.records(1).await;
        assert_eq!(
            (seen[0].data(), &seen[0].value["table_name"]),
            (&json!({"id": 12, "code": 3, "state": "b"}), &json!("parent"))
        );
    }
}

#[tokio::test]
async fn excluded_columns_operations_and_the_flat_form_are_obeyed() {
    let database = Database::new(15);
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v int, secret text)");
    let settings = json!({
        "exclude_columns": ["t.secret"], "envelope": "flat", "capture_operations": ["UPDATE", "TRUNCATE"],
    });
    let mut reading = Reading::streaming(&database, settings).await;
    database.sql("INSERT INTO t VALUES (1, 1, 's')");
    database.sql("UPDATE t SET v = 2, id = 3");
    database.sql("TRUNCATE t");
    let seen = reading.records(2).await;
    assert_eq!(seen[0].value, json!({"id": 3, "v": 2}));
    let header =
        |name: &str| seen[0].headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!((header("picomq.operation"), header("picomq.table")), (Some("UPDATE"), Some("t")));
    assert_eq!(header("picomq.old"), Some("{\"id\":1}"));
    assert_eq!(seen[1].headers[0], ("picomq.operation".to_owned(), "TRUNCATE".to_owned()));
}

#[tokio::test]
async fn one_column_of_an_odd_type_makes_no_row_vanish_b006() {
    for version in VERSIONS {
        let database = Database::new(version);
        let kinds = [
            ("u", "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
            ("d", "date", "'2024-02-29'"),
            ("t", "time", "'24:00'"),
            ("j", "jsonb", "'{}'"),
        ];
        let all =
            |part: fn(&(&str, &str, &str)) -> String| kinds.iter().map(part).collect::<Vec<_>>().join(", ");
        for (name, kind, _) in kinds {
            database.sql(&format!("CREATE TABLE only_{name} (id int PRIMARY KEY, {name} {kind})"));
        }
        database.sql(&format!(
            "CREATE TABLE whole (id int PRIMARY KEY, {})",
            all(|(name, kind, _)| format!("{name} {kind}"))
        ));
        let mut reading = Reading::streaming(&database, json!({})).await;
        for (name, _, value) in kinds {
            database.sql(&format!("INSERT INTO only_{name} VALUES (1, {value})"));
        }
        database.sql(&format!("INSERT INTO whole VALUES (1, {})", all(|(.., value)| (*value).to_owned())));
        let seen = reading.records(5).await;
        let right = json!({"id": 1, "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "d": "2024-02-29", "t": "24:00:00", "j": {}});
        assert_eq!(seen[4].data(), &right);
    }
}

#[tokio::test]
async fn quotes_and_line_ends_come_back_byte_by_byte_b016() {
    let database = Database::new(15);
    database.sql("CREATE TABLE t (id serial PRIMARY KEY, v varchar)");
    let mut reading = Reading::streaming(&database, json!({})).await;
    let texts =
        ["it's", "ends in '", "''", "", "two\nlines\r\n", "\\x \\\\ \"q\"", "x[integer]:1 y[text]:'z'"];
    for text in texts {
        let quoted = text.replace('\'', "''");
        database.sql(&format!("INSERT INTO t (v) VALUES ('{quoted}')"));
    }
    let seen = reading.records(texts.len()).await;
    let read: Vec<&str> = seen.iter().map(|record| record.data()["v"].as_str().unwrap()).collect();
    assert_eq!(read, texts);
}

#[tokio::test]
async fn a_row_without_columns_is_an_empty_object_b023() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE nothing (); CREATE TABLE dropped (v int)");
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO nothing DEFAULT VALUES");
        database.sql("ALTER TABLE dropped DROP v");
        database.sql("INSERT INTO dropped DEFAULT VALUES");
        let seen = reading.records(2).await;
        assert!(seen.iter().all(|record| *record.data() == json!({})), "{seen:?}");
    }
}
