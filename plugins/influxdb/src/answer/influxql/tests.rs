use super::*;
use crate::answer::Decoder;
use crate::answer::tests::{form, payloads, want};
use crate::render::Shape;

fn read(text: &str, columns: Columns) -> Result<Vec<String>, Error> {
    let mut decoder = Decoder::InfluxQl(Box::new(InfluxQl::new(columns)));
    payloads(&mut decoder, &form(Shape::Point), text, 7)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const ANSWER: &str = r#"{"results":[{"statement_id":0,"series":[{"name":"cpu","columns":["time","host","n","host_1"],"values":[[1,5,9223372036854775807,"a"],[2,null,1.50,"b\u003c"]]}]}]}"#;

#[test]
fn fields_come_first_then_tags_and_every_digit_is_kept_b101() {
    let asked = Columns::Asked { fields: names(&["host", "n", "x"]), tags: names(&["host", "region"]) };
    for columns in [asked, Columns::TagsLast(1), Columns::FieldsFirst(2)] {
        assert_eq!(
            read(ANSWER, columns).unwrap(),
            [
                r#"{"measurement":"cpu","timestamp":"1970-01-01T00:00:00.000000001Z","tags":{"host":"a"},"fields":{"host":5,"n":9223372036854775807}}"#,
                r#"{"measurement":"cpu","timestamp":"1970-01-01T00:00:00.000000002Z","tags":{"host":"b\u003c"},"fields":{"n":1.50}}"#,
            ]
        );
    }
}

#[test]
fn a_column_that_is_new_is_noticed() {
    for (fields, tags) in [(&["host"][..], &["host"][..]), (&["host", "n"], &["region"]), (&[], &[])] {
        let columns = Columns::Asked { fields: names(fields), tags: names(tags) };
        assert!(matches!(read(ANSWER, columns).unwrap_err(), Error::SchemaChanged), "{fields:?} {tags:?}");
    }
}

#[test]
fn in_a_query_that_somebody_wrote_the_tags_are_those_it_groups_by() {
    let text = r#"{"results":[{"statement_id":0,"series":[{"name":"cpu","tags":{"host":"a","region":""},"columns":["time","max"],"values":[[1,true]]}]}]}"#;
    assert_eq!(
        read(text, Columns::Written).unwrap(),
        [
            r#"{"measurement":"cpu","timestamp":"1970-01-01T00:00:00.000000001Z","tags":{"host":"a"},"fields":{"max":true}}"#
        ]
    );
}

#[test]
fn an_error_anywhere_in_a_200_fails_the_answer_b103() {
    let chunk = r#"{"results":[{"statement_id":0,"series":[{"name":"m","columns":["time","v"],"values":[[1,1]],"partial":true}],"partial":true}]}"#;
    for words in
        [r#"{"results":[{"statement_id":0,"error":"database not found: none"}]}"#, r#"{"error":"timeout"}"#]
    {
        assert!(read(&format!("{chunk}\n{words}\n"), Columns::Written).is_err(), "{words}");
        assert!(read(words, Columns::Written).is_err(), "{words}");
    }
}

#[test]
fn a_body_that_is_cut_is_no_answer_b103() {
    for end in 1..ANSWER.len() {
        assert!(read(&ANSWER[..end], Columns::Written).is_err(), "cut at {end}");
    }
    assert!(read("", Columns::Written).is_err());
}

#[test]
fn the_last_document_says_whether_something_is_missing_b102() {
    let chunk = |time: u32, partial: &str| {
        format!(
            r#"{{"results":[{{"statement_id":0,"series":[{{"name":"m","columns":["time","v"],"values":[[{time},1],[{},2]]{partial}}}]}}]}}"#,
            time + 1
        )
    };
    let whole = [chunk(1, r#","partial":true"#), chunk(2, "")].join("\n");
    let cut = [chunk(1, ""), chunk(2, r#","partial":true"#)].join("\n");
    let count = |text: &str| read(text, Columns::Written).unwrap().len();
    assert_eq!(count(&whole), 4);
    // The last time may lack rows.
    assert_eq!(count(&cut), 3);
}

#[test]
fn a_series_over_several_chunks_is_one_table() {
    let chunk = |time: u32, tag: &str| {
        format!(
            r#"{{"results":[{{"statement_id":0,"series":[{{"name":"m","tags":{{"t":"{tag}"}},"columns":["time","v"],"values":[[{time},1],[{},1]]}}]}}]}}"#,
            time + 1
        )
    };
    let mut decoder = Decoder::InfluxQl(Box::new(InfluxQl::new(Columns::Written)));
    let mut rows = Selection::new(crate::selection::Want { limit: Some(4), ..want() });
    let text = [chunk(1, "a"), chunk(3, "a"), chunk(10, "b")].join("\n");
    decoder.feed(text.as_bytes(), &form(Shape::Point), &mut rows).unwrap();
    decoder.finish(&form(Shape::Point), &mut rows).unwrap();
    assert_eq!(rows.finish(false).unwrap().horizon, Some(4));
}

#[test]
fn a_row_without_time_is_refused() {
    let text = r#"{"results":[{"series":[{"name":"m","columns":["key"],"values":[["a"]]}]}]}"#;
    assert!(matches!(read(text, Columns::Written).unwrap_err(), Error::Unreadable(_)));
}

#[test]
fn each_chunk_of_a_series_is_read_by_the_columns_it_names() {
    let chunk = |columns: &str, values: &str| {
        format!(
            r#"{{"results":[{{"series":[{{"name":"m","columns":[{columns}],"values":[[{values}]]}}]}}]}}"#
        )
    };
    let text =
        [chunk(r#""a","time""#, "7,1"), chunk(r#""time""#, "2"), chunk(r#""time","b""#, "3,8")].join("\n");
    let fields = [r#"{"a":7}"#, "{}", r#"{"b":8}"#];
    for (record, fields) in read(&text, Columns::Written).unwrap().iter().zip(fields) {
        assert!(record.ends_with(&format!("\"fields\":{fields}}}")), "{record}");
    }
}
