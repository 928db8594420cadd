//! What the writer of the comparison with Debezium writes: a value of every kind of type, and changes of every kind of table.

/// Types and values of them as SQL. What Debezium stops at is not here: the page says what that is.
pub(crate) const VALUES: &[(&str, &str)] = &[
    ("bool", "true"),
    ("int2", "-32768"),
    ("int4", "2147483647"),
    ("oid", "4294967295"),
    ("int8", "9223372036854775807"),
    ("float4", "0.1"),
    ("float4", "'NaN'"),
    ("float4", "'-Infinity'"),
    ("float4", "1e10"),
    ("float4", "100000"),
    ("float4", "12345678"),
    ("float4", "1e-5"),
    ("float4", "3"),
    ("float4", "'-0'"),
    ("float4", "3.4028235e38"),
    ("float4", "16777216"),
    ("float4", "1e20"),
    ("float8", "0.1::float8+0.2::float8"),
    ("float8", "'NaN'"),
    ("float8", "'Infinity'"),
    ("float8", "1e300"),
    ("float8", "5e-324"),
    ("float8", "'-0'"),
    ("float8", "1234567"),
    ("float8", "12345678"),
    ("float8", "1e7"),
    ("float8", "0.001"),
    ("float8", "0.0001"),
    ("float8", "3"),
    ("float8", "123456789012345680"),
    ("float8", "1e21"),
    ("float8", "2e23"),
    ("numeric", "'NaN'"),
    ("numeric", "1e30"),
    ("numeric", "0.000000000000000000001"),
    ("numeric", "1.00"),
    ("numeric", "-0.5"),
    ("numeric", "0.0000001"),
    ("numeric(12,2)", "4200"),
    ("numeric(12,2)", "'NaN'"),
    ("numeric(3,-2)", "1234"),
    ("numeric", "'Infinity'"),
    ("money", "-1234.56"),
    ("money", "0"),
    ("text", "E'it''s \"x\" \\\\ \\n \\u2028 é 𝄞'"),
    ("varchar(10)", "'abc'"),
    ("char(5)", "'ab'"),
    ("name", "'nm'"),
    ("\"char\"", "'c'"),
    ("citext", "'CiText'"),
    ("xml", "'<a>b</a>'"),
    ("bytea", "'\\xdeadbeef'"),
    ("bytea", "''"),
    ("bytea", "'\\x00ff10'"),
    ("date", "'2024-02-29'"),
    ("date", "'infinity'"),
    ("date", "'-infinity'"),
    ("date", "'0044-03-15 BC'"),
    ("date", "'10000-01-01'"),
    ("date", "'0001-01-01'"),
    ("timestamp", "'2024-02-29 23:59:59.123456'"),
    ("timestamp", "'2024-02-29 23:59:59'"),
    ("timestamp", "'2024-02-29 00:00:00'"),
    ("timestamp", "'2024-02-29 23:59:59.5'"),
    ("timestamp", "'infinity'"),
    ("timestamp", "'-infinity'"),
    ("timestamp", "'0044-03-15 01:02:03 BC'"),
    ("timestamp", "'294276-12-31 23:59:59.999999'"),
    ("timestamp(0)", "'2024-02-29 23:59:59'"),
    ("timestamp(3)", "'2024-02-29 23:59:59.120'"),
    ("timestamp(6)", "'2024-02-29 23:59:59.120'"),
    ("timestamptz", "'2024-02-29 23:44:59.5+05:15'"),
    ("timestamptz", "'2024-02-29 23:44:59+00'"),
    ("timestamptz", "'2024-02-29 23:44:59.123456+00'"),
    ("timestamptz", "'2024-02-29 23:44:00+00'"),
    ("timestamptz", "'infinity'"),
    ("timestamptz", "'-infinity'"),
    ("timestamptz", "'0044-03-15 01:02:03+00 BC'"),
    ("timestamptz", "'20000-01-01 00:00:00+00'"),
    ("timestamptz(0)", "'2024-02-29 23:59:59+00'"),
    ("time", "'12:34:56.789'"),
    ("time", "'24:00:00'"),
    ("time", "'12:00:00'"),
    ("time", "'00:00:00'"),
    ("time(3)", "'12:34:56.100'"),
    ("time", "'12:34:56.123456'"),
    ("timetz", "'12:00:00+02'"),
    ("timetz", "'12:00:00.5+00'"),
    ("timetz", "'24:00:00+00'"),
    ("timetz", "'01:00:00+02'"),
    ("interval", "'1 year 2 mons 3 days 04:05:06.7'"),
    ("interval", "'-3 days -04:05:06.789'"),
    ("interval", "'0'"),
    ("interval", "'10 mons'"),
    ("interval", "'1 day'"),
    ("interval", "'36 hours'"),
    ("interval", "'0.000001 s'"),
    ("interval", "'-1 year 2 mons'"),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    ("inet", "'10.0.0.1'"),
    ("inet", "'10.0.0.1/8'"),
    ("inet", "'::ffff:1.2.3.4'"),
    ("cidr", "'10.0.0.0/8'"),
    ("macaddr", "'08:00:2b:01:02:03'"),
    ("macaddr8", "'08:00:2b:01:02:03:04:05'"),
    ("bit", "B'1'"),
    ("bit(1)", "B'0'"),
    ("bit(5)", "B'10101'"),
    ("bit varying(5)", "B'101'"),
    ("bit varying(5)", "B''"),
    ("bit varying", "B'101'"),
    ("bit(16)", "B'1010101111001101'"),
    ("bit(64)", "repeat('10',32)::bit(64)"),
    ("json", "'{\"a\" : 1,\"a\":1e400, \"z\": \"x\"}'"),
    ("jsonb", "'{\"b\": 12345678901234567890123}'"),
    ("tsvector", "'a fat cat'"),
    ("tsquery", "'fat & rat'"),
    ("pg_lsn", "'16/B374D848'"),
    ("tid", "'(0,1)'"),
    ("regclass", "'pg_class'"),
    ("xid8", "'12'"),
    ("txid_snapshot", "'10:20:10,14,15'"),
    ("int2vector", "'1 2'"),
    ("point", "'(1.5,-2)'"),
    ("line", "'{1,2,3}'"),
    ("lseg", "'[(0,0),(1,1)]'"),
    ("box", "'(1,1),(0,0)'"),
    ("path", "'((0,0),(1,1))'"),
    ("polygon", "'((0,0),(1,1),(2,2))'"),
    ("circle", "'<(0,0),2>'"),
    ("int4range", "'[1,6)'"),
    ("int8range", "'empty'"),
    ("numrange", "'[1.5,2.5]'"),
    ("tsrange", "'[\"2024-01-01 00:00:00\",)'"),
    ("tstzrange", "'[\"2024-01-01 00:00:00+00\",)'"),
    ("daterange", "'[2024-01-01,2024-02-01)'"),
    ("int4multirange", "'{[1,3),[5,6)}'"),
    ("hstore", "'a=>1, \"b c\"=>NULL'"),
    ("hstore", "''"),
    ("hstore", "'zz=>1, a=>2, mm=>x, b=>NULL, cc=>3'"),
    ("mood", "'happy'"),
    ("small", "5"),
    ("amount", "1.50"),
    ("word", "'w'"),
    ("pair", "ROW(1, 'a,\"b')"),
    ("stamp", "'2024-02-29 23:59:59'"),
    ("mood[]", "'{sad,happy}'"),
    ("small[]", "'{5,6}'::small[]"),
    ("pair[]", "ARRAY[ROW(1, 'a,\"b')::pair]"),
    ("text[]", "ARRAY['a', NULL, 'NULL', 'null']"),
    ("text[]", "ARRAY['a,b', '', 'x\"y', E'c\\\\d', '{b}', 'a b']"),
    ("text[]", "'{}'"),
    ("int[]", "'[0:1]={7,8}'"),
    ("int[]", "'{{1,2},{3,4}}'"),
    ("int[]", "'{1,NULL}'"),
    ("int8[]", "'{9223372036854775807}'"),
    ("bool[]", "'{t,f}'"),
    ("float8[]", "ARRAY[0.1, 2]::float8[]"),
    ("float4[]", "ARRAY[0.1, 2]::float4[]"),
    ("numeric[]", "'{1.00,2.5}'"),
    ("numeric(5,2)[]", "'{1.00,2.5}'"),
    ("bytea[]", "ARRAY['\\xdead'::bytea]"),
    ("uuid[]", "ARRAY['A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid]"),
    ("date[]", "'{2024-02-29}'"),
    ("timestamp[]", "'{2024-02-29 23:59:59.5}'"),
    ("timestamptz[]", "'{2024-02-29 23:59:59.5+00}'"),
    ("time[]", "'{12:00:00}'"),
    ("interval[]", "'{1 day}'"),
    ("json[]", "ARRAY['{\"a\": 1}'::json]"),
    ("jsonb[]", "ARRAY['{\"a\": 1}'::jsonb]"),
    ("varchar(5)[]", "'{a,b}'"),
    ("char(5)[]", "'{a,b}'"),
    ("box[]", "'{(1,1),(0,0);(2,2),(1,1)}'"),
    ("int4range[]", "ARRAY['[1,6)'::int4range]"),
    ("inet[]", "'{10.0.0.1}'"),
    ("citext[]", "'{a,B}'"),
    ("hstore[]", "ARRAY['a=>1'::hstore]"),
    ("point[]", "ARRAY['(1,2)'::point]"),
    ("money[]", "'{1.5}'"),
    ("oid[]", "'{1,2}'"),
    ("int2[]", "'{1,2}'"),
    ("timetz[]", "'{12:00:00+02}'"),
    ("bit(3)[]", "'{101}'"),
    ("macaddr[]", "'{08:00:2b:01:02:03}'"),
    ("tsvector[]", "ARRAY['a b'::tsvector]"),
    ("xml[]", "ARRAY['<a/>'::xml]"),
    ("name[]", "'{a}'"),
];

/// Types of which Debezium makes no column at all.
pub(crate) const LEFT_OUT: &[&str] = &[
    "tsquery",
    "pg_lsn",
    "tid",
    "regclass",
    "xid8",
    "txid_snapshot",
    "line",
    "lseg",
    "box",
    "path",
    "polygon",
    "circle",
    "int4multirange",
    "pair",
    "small[]",
    "pair[]",
    "interval[]",
    "box[]",
    "point[]",
    "money[]",
    "xml[]",
    "name[]",
];

/// Large values that an update leaves alone, each a column of the table `toasted`.
const LARGE: &[(&str, &str)] = &[
    ("text", "repeat('x',3000)"),
    ("varchar", "repeat('x',3000)"),
    ("char(4000)", "'c'"),
    ("bytea", "decode(repeat('ab',3000),'hex')"),
    ("json", "to_json(repeat('x',3000))"),
    ("jsonb", "to_jsonb(repeat('x',3000))"),
    ("xml", "('<a>'||repeat('x',3000)||'</a>')::xml"),
    ("citext", "repeat('x',3000)"),
    ("hstore", "hstore('a',repeat('x',3000))"),
    ("numeric", "repeat('12345678',500)::numeric"),
    ("numrange", "numrange(repeat('1',6000)::numeric,NULL)"),
    ("varbit", "repeat('10',20000)::varbit"),
    ("tsvector", "(SELECT to_tsvector(string_agg('w'||g,' ')) FROM generate_series(1,1000) g)"),
    ("text[]", "ARRAY[repeat('x',3000)]"),
    ("varchar[]", "ARRAY[repeat('x',3000)]"),
    ("json[]", "ARRAY[to_json(repeat('x',3000))]"),
    ("jsonb[]", "ARRAY[to_jsonb(repeat('x',3000))]"),
    ("int4[]", "array_fill(7, ARRAY[1000])"),
    ("int8[]", "array_fill(7::int8, ARRAY[1000])"),
    ("int2[]", "array_fill(7::int2, ARRAY[2000])"),
    ("bytea[]", "ARRAY[decode(repeat('ab',3000),'hex')]"),
    ("uuid[]", "array_fill('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, ARRAY[1000])"),
    ("date[]", "array_fill('2024-01-01'::date, ARRAY[1000])"),
    ("timestamptz[]", "array_fill('2024-01-01'::timestamptz, ARRAY[1000])"),
    ("float8[]", "array_fill(1.5::float8, ARRAY[1000])"),
    ("bool[]", "array_fill(true, ARRAY[3000])"),
    ("numeric[]", "array_fill(1.5::numeric, ARRAY[1000])"),
    ("mood[]", "array_fill('sad'::mood, ARRAY[1000])"),
];

/// The other tables.
const TABLES: &str = r#"
CREATE TABLE simple (id int PRIMARY KEY, v int, w int NOT NULL DEFAULT 3, x text NOT NULL);
CREATE TABLE twice (b int, a text, v int, PRIMARY KEY (a, b));
CREATE TABLE types (n numeric(8,2), d date, u uuid, z timestamptz, f float8, i interval, PRIMARY KEY (n, d, u, z, f, i));
CREATE TABLE whole (id int PRIMARY KEY, v int, doc text); ALTER TABLE whole ALTER doc SET STORAGE EXTERNAL;
ALTER TABLE whole REPLICA IDENTITY FULL;
CREATE TABLE keyless (v int, w int NOT NULL); ALTER TABLE keyless REPLICA IDENTITY FULL;
CREATE TABLE lone (u int NOT NULL UNIQUE, v int); ALTER TABLE lone REPLICA IDENTITY FULL;
CREATE TABLE lonely (v int UNIQUE, w int);
CREATE TABLE indexed (id int PRIMARY KEY, u int NOT NULL UNIQUE, v int);
ALTER TABLE indexed REPLICA IDENTITY USING INDEX indexed_u_key;
CREATE TABLE made (id int PRIMARY KEY, g int GENERATED ALWAYS AS (id * 2) STORED, v int);
CREATE TABLE "Odd Name" (id int PRIMARY KEY, "weird ""q" int);
CREATE TABLE digits (id int PRIMARY KEY, z1 timestamptz(1), z3 timestamptz(3), z6 timestamptz(6), t3 timestamp(3), z3a timestamptz(3)[],
    za timestamptz[], z0 stamptz, f flag, b16 bit(16), b1 varbit(1));
INSERT INTO simple VALUES (1, 1, 1, 'a'), (2, NULL, 2, 'b'); INSERT INTO twice VALUES (1, 'x', 1); INSERT INTO keyless VALUES (1, 1);
INSERT INTO lone VALUES (1, 1); INSERT INTO lonely VALUES (1, 1), (NULL, 2); INSERT INTO indexed VALUES (9, 9, 9); INSERT INTO made (id, v) VALUES (1, 1);
"#;

/// Each in a transaction of its own, the last a mark that everybody waits for.
const CHANGES: &[&str] = &[
    "INSERT INTO simple VALUES (3, 3, 3, 'c')",
    "UPDATE simple SET v = 9 WHERE id = 3",
    "UPDATE simple SET id = 4 WHERE id = 3",
    "DELETE FROM simple WHERE id = 4",
    "INSERT INTO simple VALUES (5, 5, 5, 'e'), (6, 6, 6, 'f'); UPDATE simple SET v = 1 WHERE id = 5; DELETE FROM simple WHERE id = 6",
    "INSERT INTO twice VALUES (5, 'k', 1); UPDATE twice SET v = 2 WHERE b = 5",
    "UPDATE twice SET a = 'z' WHERE b = 5",
    "DELETE FROM twice WHERE b = 5",
    "INSERT INTO types VALUES (1.5, '2024-01-01', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2024-01-01 00:00+00', 1e10, '1 day')",
    "UPDATE types SET n = 2",
    "DELETE FROM types",
    "INSERT INTO whole VALUES (1, 1, repeat('x', 3000))",
    "UPDATE whole SET v = 2",
    "UPDATE whole SET id = 2",
    "DELETE FROM whole",
    "INSERT INTO keyless VALUES (2, 2); UPDATE keyless SET v = 3 WHERE v = 2; DELETE FROM keyless WHERE v = 3",
    "INSERT INTO lone VALUES (2, 2); UPDATE lone SET v = 3 WHERE u = 2; UPDATE lone SET u = 3 WHERE u = 2; DELETE FROM lone WHERE u = 3",
    "INSERT INTO lonely VALUES (2, 2), (NULL, 3)",
    "INSERT INTO indexed VALUES (1, 2, 3)",
    "UPDATE indexed SET v = 4 WHERE id = 1",
    "UPDATE indexed SET u = 5 WHERE id = 1",
    "DELETE FROM indexed WHERE id = 1",
    "INSERT INTO made (id, v) VALUES (2, 2)",
    r#"INSERT INTO "Odd Name" VALUES (1, 2)"#,
    "INSERT INTO digits (id, z1, z3, z6, t3, z3a, za, z0) VALUES (1, '2024-01-01 00:00:00.5+00', '2024-01-01 00:00:00.5+00', \
     '2024-01-01 00:00:00.5+00', '2024-01-01 00:00:00.5', '{2024-01-01 00:00:00.5+00}', '{2024-01-01 00:00:00.5+00,infinity,NULL}', \
     '2024-01-01 00:00:00+00')",
    "INSERT INTO digits (id, f, b16, b1) VALUES (2, B'1', B'0000000000000001', B'1'), (3, B'0', B'0000000100000000', B'0')",
    "TRUNCATE simple",
    "SELECT pg_logical_emit_message(true, 'outbox', 'said in a transaction')",
    "SELECT pg_logical_emit_message(false, 'outbox', 'said at once')",
    "UPDATE toasted SET v = 2",
    "UPDATE toasted SET id = 2",
    "ALTER TABLE simple ADD z text DEFAULT 'zz'; INSERT INTO simple VALUES (9, 9, 9, 'x', 'y')",
    "ALTER TABLE simple DROP COLUMN v; INSERT INTO simple VALUES (10, 9, 'x', 'y')",
    "INSERT INTO simple (id, x) VALUES (999999, 'the end')",
];

/// What both read, in the schema public.
pub(crate) const NAMES: &[&str] = &[
    "every", "toasted", "simple", "twice", "types", "whole", "keyless", "lone", "lonely", "indexed", "made",
    "Odd Name", "digits",
];

/// Of each kind of [`VALUES`], in the order of the columns `c0`, `c1`, … of the table `every`.
pub(crate) fn kinds() -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for (kind, _) in VALUES {
        if !kinds.contains(kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Of the columns `c0`, `c1`, … of the table `toasted`.
pub(crate) fn large_kinds() -> Vec<&'static str> {
    LARGE.iter().map(|(kind, _)| *kind).collect()
}

/// Makes types and tables, with rows that are there before anybody reads.
pub(crate) fn prepare(run: &dyn Fn(&str)) {
    run("CREATE EXTENSION hstore; CREATE EXTENSION citext");
    run(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a int, b text); CREATE DOMAIN small AS int; \
         CREATE DOMAIN amount AS numeric(8,2); CREATE DOMAIN word AS varchar(9); CREATE DOMAIN stamp AS timestamp; \
         CREATE DOMAIN stamptz AS timestamptz(0); CREATE DOMAIN flag AS bit(1)",
    );
    let columns = |kinds: &[&str]| {
        let columns = kinds.iter().enumerate().map(|(at, kind)| format!("c{at} {kind}"));
        columns.collect::<Vec<_>>().join(", ")
    };
    run(&format!("CREATE TABLE every (id int PRIMARY KEY, {})", columns(&kinds())));
    run(&format!("CREATE TABLE toasted (id int PRIMARY KEY, v int, {})", columns(&large_kinds())));
    let external = (0..LARGE.len()).map(|at| format!("ALTER c{at} SET STORAGE EXTERNAL"));
    run(&format!("ALTER TABLE toasted {}", external.collect::<Vec<_>>().join(", ")));
    let values: Vec<&str> = LARGE.iter().map(|(_, value)| *value).collect();
    run(&format!("INSERT INTO toasted SELECT 1, 1, {}", values.join(", ")));
    run(TABLES);
    write_values(run, 0);
}

/// Changes everything while both read.
pub(crate) fn change(run: &dyn Fn(&str)) {
    write_values(run, 1_000);
    for change in CHANGES {
        run(change);
    }
}

/// A row for each value, all its other columns null.
fn write_values(run: &dyn Fn(&str), from: usize) {
    let kinds = kinds();
    let insert = |(at, (kind, value)): (usize, &(&str, &str))| {
        let column = kinds.iter().position(|known| known == kind).expect("its kind was taken from here");
        format!("INSERT INTO every (id, c{column}) VALUES ({}, {value});", from + at)
    };
    run(&VALUES.iter().enumerate().map(insert).collect::<String>());
}
