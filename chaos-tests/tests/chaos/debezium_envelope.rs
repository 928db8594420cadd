//! `envelope = "debezium"` beside the real Debezium, on one writer with every type and every kind of change: record by record the
//! same, but for what the page on migration lists, which is held to be exactly that.

use std::collections::BTreeSet;
use std::time::Duration;

use chaos_tests::connect::{Connect, debezium};
use chaos_tests::consumer::{Entry, LogReader};
use chaos_tests::postgres::Postgres;
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};
use serde_json::{Map, Value};

use crate::debezium_writer::{LEFT_OUT, NAMES, change, kinds, large_kinds, prepare};
use crate::stage::Stage;

const PAGE: &str = include_str!("../../../docs/migrate-from-debezium.md");
const SETTLED_WITHIN: Duration = Duration::from_secs(120);
/// In the place of a table: what `pg_logical_emit_message` writes, in a topic of its own.
const MESSAGES: &str = "(messages)";
/// Tables of which the server sends the whole row before.
const FULL: &[&str] = &["whole", "keyless", "lone"];

/// A place where the two records of one change are not the same.
#[derive(Debug)]
struct Difference<'a> {
    table: &'a str,
    /// `key`, `before`, `after`, `source`, `header`, `record`.
    place: &'static str,
    name: &'a str,
    /// Type of the column, where it is one of many.
    kind: &'a str,
    op: &'a str,
    theirs: Option<&'a Value>,
    ours: Option<&'a Value>,
}

impl Difference<'_> {
    fn is_row(&self) -> bool {
        matches!(self.place, "before" | "after")
    }

    fn text(value: Option<&Value>) -> &str {
        value.and_then(Value::as_str).unwrap_or_default()
    }
}

/// What differs on purpose: the first cell of its row on the page, and what belongs to it.
struct Rule {
    row: &'static str,
    has: fn(&Difference<'_>) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        row: "`infinity` of a date or a timestamp without a zone",
        has: |it| {
            it.is_row()
                && ["date", "timestamp"].contains(&it.kind)
                && Difference::text(it.ours).ends_with("infinity")
        },
    },
    Rule {
        row: "A date BC in the snapshot",
        has: |it| it.op == "r" && it.kind == "date" && Difference::text(it.ours).starts_with('-'),
    },
    Rule {
        row: "`time` of `24:00:00`",
        has: |it| {
            it.kind == "time"
                && Difference::text(it.ours) == "24:00:00Z"
                && Difference::text(it.theirs) == "00:00:00Z"
        },
    },
    Rule {
        row: "`numeric` with a negative scale",
        has: |it| {
            it.kind == "numeric(3,-2)"
                && Difference::text(it.ours) == "1200"
                && Difference::text(it.theirs).starts_with("1200.000")
        },
    },
    Rule {
        row: "Arrays of several dimensions",
        has: |it| {
            it.kind == "int[]"
                && it.ours.is_some_and(|ours| ours[0].is_array())
                && it.theirs.is_some_and(|theirs| theirs[0].is_null())
        },
    },
    Rule {
        row: "`int2vector`, `oidvector`",
        has: |it| {
            it.kind == "int2vector"
                && it.ours.is_some_and(Value::is_string)
                && it.theirs == Some(&Value::Array(Vec::new()))
        },
    },
    Rule {
        row: "A column of the type `name`",
        has: |it| {
            it.kind == "name"
                && it.op != "r"
                && it.theirs == Some(&Value::Null)
                && it.ours.is_some_and(Value::is_string)
        },
    },
    Rule {
        row: "Arrays of bit strings",
        has: |it| {
            it.kind == "bit(3)[]" && it.theirs == Some(&Value::Null) && it.ours.is_some_and(Value::is_array)
        },
    },
    Rule {
        row: "Types that Debezium leaves out",
        has: |it| it.is_row() && LEFT_OUT.contains(&it.kind) && it.theirs.is_none() && it.ours.is_some(),
    },
    Rule {
        row: "The order of the members of an `hstore`",
        has: |it| {
            let object = |text| serde_json::from_str::<Map<String, Value>>(Difference::text(text)).ok();
            it.kind == "hstore" && object(it.ours).is_some() && object(it.ours) == object(it.theirs)
        },
    },
    Rule {
        row: "Large values (TOAST) that an update left alone, of types without a placeholder",
        has: |it| {
            it.table == "toasted"
                && it.place == "after"
                && it.theirs == Some(&Value::Null)
                && it.ours.is_none()
        },
    },
    Rule {
        row: "The row before, where the server sends only its key",
        has: |it| {
            let is_made_up =
                it.theirs.is_some_and(|theirs| !theirs.is_null()) && it.ours == Some(&Value::Null);
            it.place == "before" && !FULL.contains(&it.table) && is_made_up
        },
    },
    Rule {
        row: "The key with `REPLICA IDENTITY USING INDEX`",
        has: |it| {
            it.table == "indexed"
                && matches!(it.place, "key" | "header")
                && it.theirs.is_some()
                && it.ours.is_some()
        },
    },
    Rule {
        row: "Generated columns in the snapshot",
        has: |it| it.table == "made" && it.op == "r" && it.name == "g" && it.ours.is_none(),
    },
    Rule {
        row: "A tombstone without a key",
        has: |it| it.table == "keyless" && it.place == "record" && it.ours.is_none(),
    },
    Rule {
        row: "`source` of a row of the snapshot",
        has: |it| it.place == "source" && it.op == "r" && ["snapshot", "txId", "lsn"].contains(&it.name),
    },
    Rule { row: "`source.version`", has: |it| it.place == "source" && it.name == "version" },
];

/// A record as it is compared; a tombstone has no value.
struct Record {
    key: Option<Value>,
    value: Value,
    /// `__debezium.newkey` and `__debezium.oldkey`.
    moved: Vec<Value>,
}

fn record(entry: Entry) -> Record {
    let text = |bytes: Vec<u8>| Value::String(String::from_utf8(bytes).unwrap());
    let is_move = |name: &str| matches!(name, "__debezium.newkey" | "__debezium.oldkey");
    let moved = entry.headers.into_iter().filter(|(name, _)| is_move(name)).map(|(_, value)| text(value));
    Record {
        // The bytes of a key say where it goes and what is compacted, so they are compared as they are.
        key: entry.key.map(text),
        value: entry.payload.map_or(Value::Null, |payload| serde_json::from_slice(&payload).unwrap()),
        moved: moved.collect(),
    }
}

/// Compares, and collects which rules it met.
#[derive(Default)]
struct Comparison {
    met: BTreeSet<&'static str>,
    strange: Vec<String>,
}

impl Comparison {
    fn take(&mut self, difference: &Difference<'_>) {
        if difference.theirs == difference.ours {
            return;
        }
        match RULES.iter().find(|rule| (rule.has)(difference)) {
            Some(rule) => drop(self.met.insert(rule.row)),
            None => self.strange.push(format!("{difference:?}")),
        }
    }

    fn table(&mut self, table: &str, theirs: Vec<Record>, ours: Vec<Record>) {
        let mut ours = ours.iter();
        for theirs in &theirs {
            let difference = Difference {
                table,
                place: "record",
                name: "",
                kind: "",
                op: theirs.value["op"].as_str().unwrap_or("tombstone"),
                theirs: Some(&theirs.value),
                ours: None,
            };
            let is_nothing = theirs.key.is_none() && theirs.value.is_null();
            match if is_nothing { None } else { ours.next() } {
                Some(ours) => self.pair(&difference, theirs, ours),
                None => self.take(&difference),
            }
        }
        self.strange.extend(ours.map(|more| format!("{table}: one more: {}", more.value)));
    }

    fn pair(&mut self, of: &Difference<'_>, theirs: &Record, ours: &Record) {
        let &Difference { table, op, .. } = of;
        let plain = |place, theirs, ours| Difference { table, place, name: "", kind: "", op, theirs, ours };
        self.take(&plain("key", theirs.key.as_ref(), ours.key.as_ref()));
        self.take(&plain("op", theirs.value.get("op"), ours.value.get("op")));
        for at in 0..theirs.moved.len().max(ours.moved.len()) {
            self.take(&plain("header", theirs.moved.get(at), ours.moved.get(at)));
        }
        for place in ["before", "after", "source", "message"] {
            match (theirs.value.get(place), ours.value.get(place)) {
                (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
                    self.members((table, place, op), theirs, ours)
                }
                (theirs, ours) => self.take(&plain(place, theirs, ours)),
            }
        }
        let members = |record: &Record| {
            record.value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>())
        };
        assert_eq!(members(theirs), members(ours), "{table}");
    }

    fn members(
        &mut self,
        (table, place, op): (&str, &'static str, &str),
        theirs: &Map<String, Value>,
        ours: &Map<String, Value>,
    ) {
        let common = |one: &Map<String, Value>, other: &Map<String, Value>| {
            one.keys().filter(|name| other.contains_key(*name)).cloned().collect::<Vec<_>>()
        };
        assert_eq!(common(theirs, ours), common(ours, theirs), "the order of {place} of {table}");
        let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
        for name in names {
            if place == "source" && (name.starts_with("ts_") || name == "sequence") {
                continue;
            }
            let kind = kind_of(table, name);
            self.take(&Difference {
                table,
                place,
                name,
                kind,
                op,
                theirs: theirs.get(name),
                ours: ours.get(name),
            });
        }
    }
}

/// What one of the two has written so far.
struct Side {
    reader: LogReader,
    prefix: String,
    entries: Vec<Entry>,
}

impl Side {
    fn new(stage: &Stage, prefix: &str) -> Side {
        Side {
            reader: LogReader::new(&stage.bootstrap).unwrap(),
            prefix: prefix.to_owned(),
            entries: Vec::new(),
        }
    }

    fn topic(&self, table: &str) -> String {
        match table {
            MESSAGES => format!("{}.message", self.prefix),
            _ => format!("{}.public.{}", self.prefix, table.replace(' ', "_")),
        }
    }

    /// Waits for the row of a table with this id. What stands in front of it is not parsed each time.
    fn wait_row<T>(&mut self, table: &str, id: usize, alive: impl Fn() -> chaos_tests::Result<T>) {
        let topics: Vec<String> = NAMES.iter().chain([&MESSAGES]).map(|table| self.topic(table)).collect();
        let (topic, sign) = (self.topic(table), format!("\"after\":{{\"id\":{id},"));
        let is_it = |entry: &Entry| {
            let payload = entry.payload.as_deref().unwrap_or_default();
            entry.topic == topic && payload.windows(sign.len()).any(|part| part == sign.as_bytes())
        };
        wait_for(&format!("row {id} of {topic}"), SETTLED_WITHIN, || {
            alive().unwrap();
            let entries = &mut self.entries;
            self.reader.read_to_end(&topics, &mut |entry| entries.push(entry)).unwrap();
            if self.entries.iter().any(is_it) {
                return Ok(());
            }
            pause(Duration::from_millis(200));
            Err(format!("{} records", self.entries.len()))
        })
        .unwrap();
    }

    fn records(&self, table: &str) -> Vec<Record> {
        let topic = self.topic(table);
        self.entries.iter().filter(|entry| entry.topic == topic).cloned().map(record).collect()
    }
}

fn kind_of(table: &str, column: &str) -> &'static str {
    let kinds = match table {
        "every" => kinds(),
        "toasted" => large_kinds(),
        _ => return "",
    };
    let number = column.strip_prefix('c').and_then(|number| number.parse::<usize>().ok());
    number.and_then(|number| kinds.get(number).copied()).unwrap_or_default()
}

fn definition(key: &str, name: &str, url: &str) -> String {
    let tables: Vec<String> = NAMES.iter().map(|table| format!("public.{table}")).collect();
    format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Beside Debezium\"\npath = \"picomq_connector_postgres_source\"\n\n\
         [[topics]]\ntopic = {{ strategy = \"header\", header = \"picomq.table\", template = \"ours-{name}.{{header:picomq.schema}}.{{value}}\", illegal = \"replace\", fallback = \"ours-{name}.message\" }}\n\
         create_topics = true\n\n\
         [plugin_config]\nconnection_string = \"{url}\"\nmode = \"cdc\"\nslot_name = \"ours\"\ntables = {tables:?}\nenvelope = \"debezium\"\n\
         capture_operations = [\"INSERT\", \"UPDATE\", \"DELETE\", \"MESSAGE\"]\n\
         topic_prefix = \"{name}\"\n"
    )
}

/// The first cells of the table under "What differs".
fn rows_of_page() -> Vec<&'static str> {
    let section =
        PAGE.split("\n## ").find(|section| section.starts_with("What differs\n")).expect("the page has it");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.skip_while(|cell| *cell != "What").skip(1).collect()
}

#[test]
fn the_page_lists_what_the_comparison_allows() {
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.row).collect();
    assert_eq!(rows_of_page(), rules);
}

#[test]
fn records_are_debeziums_but_for_what_the_page_lists() {
    let server = Postgres::start(&scratch().join("debezium-envelope-server"), 15).unwrap();
    let run = |sql: &str| drop(server.sql(sql).unwrap_or_else(|error| panic!("{error}\n{sql}")));
    prepare(&run);
    let (worker, name) = (Connect::shared(), format!("envelope-{}", fastrand::u32(..)));
    let tables: Vec<String> = NAMES.iter().map(|table| format!("public.{table}")).collect();
    worker
        .create(&name, &debezium(&server, &name, &tables.join(","), &[("poll.interval.ms", "10")]))
        .unwrap();
    let key = "debezium-envelope";
    let stage = Stage::new(key);
    stage.site.define(key, &definition(key, &name, &server.url())).unwrap();
    let mut daemon = stage.start();

    let (mut theirs, mut ours) = (Side::new(&stage, &name), Side::new(&stage, &format!("ours-{name}")));
    let last = crate::debezium_writer::VALUES.len() - 1;
    for side in [&mut theirs, &mut ours] {
        side.wait_row("every", last, || worker.task(&name));
        side.wait_row("toasted", 1, || worker.task(&name));
    }
    change(&run);
    for side in [&mut theirs, &mut ours] {
        side.wait_row("simple", 999_999, || worker.task(&name));
    }

    let mut comparison = Comparison::default();
    assert_eq!(theirs.records(MESSAGES).len(), 2);
    for table in NAMES.iter().chain([&MESSAGES]) {
        comparison.table(table, theirs.records(table), ours.records(table));
    }
    let Comparison { met, strange } = comparison;
    assert!(
        strange.is_empty(),
        "{} differences that the page does not list:\n{}",
        strange.len(),
        strange.join("\n")
    );
    let unmet: Vec<&str> = RULES.iter().map(|rule| rule.row).filter(|row| !met.contains(row)).collect();
    assert!(unmet.is_empty(), "the page lists what does not differ (any more): {unmet:?}");
    worker.delete(&name).unwrap();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(Duration::from_secs(30)).unwrap().code(), Some(0));
}
