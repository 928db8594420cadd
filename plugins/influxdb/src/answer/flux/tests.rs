use super::*;
use crate::answer::Decoder;
use crate::answer::tests::{form, payloads};
use crate::render::Shape;

const TWO_TABLES: &str = "#datatype,string,long,dateTime:RFC3339,string,string,long\r\n\
    #group,false,false,false,true,true,false\r\n\
    #default,_result,,,,,\r\n\
    ,result,table,_time,_measurement,_field,_value\r\n\
    ,,0,1970-01-01T00:00:00.000000001Z,cpu,n,9223372036854775807\r\n\
    ,,0,1970-01-01T00:00:00.000000002Z,cpu,n,2\r\n\
    \r\n\
    #default,_result,,,,,a\r\n\
    #datatype,string,long,string,string,string,dateTime:RFC3339\r\n\
    ,result,table,_value,host,_field,_time\r\n\
    ,,1,\"x\r\ny, \"\"z\"\"\",\"b\nc\",s,1970-01-01T00:00:00.000000003Z\r\n\
    \r\n";

fn read(text: &str, step: usize) -> Result<Vec<String>, Error> {
    let mut decoder = Decoder::Flux(Box::new(FluxCsv::new(Schema::Unknown)));
    payloads(&mut decoder, &form(Shape::Value), text, step)
}

#[test]
fn each_row_is_read_by_the_header_of_its_own_table_b104() {
    let right = [
        r#"{"measurement":"cpu","field":"n","timestamp":"1970-01-01T00:00:00.000000001Z","value":9223372036854775807,"row":{"_time":"1970-01-01T00:00:00.000000001Z","_measurement":"cpu","_field":"n","_value":9223372036854775807}}"#,
        r#"{"measurement":"cpu","field":"n","timestamp":"1970-01-01T00:00:00.000000002Z","value":2,"row":{"_time":"1970-01-01T00:00:00.000000002Z","_measurement":"cpu","_field":"n","_value":2}}"#,
        r#"{"measurement":null,"field":"s","timestamp":"1970-01-01T00:00:00.000000003Z","value":"x\ny, \"z\"","row":{"_value":"x\ny, \"z\"","host":"b\nc","_field":"s","_time":"1970-01-01T00:00:00.000000003Z"}}"#,
    ];
    for step in [1, 2, 3, 7, 64, 10_000] {
        assert_eq!(read(TWO_TABLES, step).unwrap(), right, "pieces of {step}");
    }
}

#[test]
fn without_annotations_everything_is_text_and_a_blank_line_begins_a_table_b104() {
    let text = ",result,table,_time,_value\n,_result,0,1970-01-01T00:00:00Z,5\n\n,result,table,_value,_time\n,_result,1,\"6\n7\",1970-01-01T00:00:01Z\n";
    for step in [1, 5, 1_000] {
        let read = read(text, step).unwrap();
        assert!(read[0].contains(r#""value":"5""#), "{}", read[0]);
        assert!(read[1].contains(r#""value":"6\n7""#), "{}", read[1]);
    }
}

#[test]
fn a_default_stands_for_an_empty_cell_and_else_it_is_null_b104() {
    let text = "#datatype,string,long,dateTime:RFC3339,double,string,boolean\n#default,,,,7.5,,\n\
                ,result,table,_time,_value,host,up\n,,0,1970-01-01T00:00:00Z,,,\n";
    let read = read(text, 1_000).unwrap();
    assert!(read[0].contains(r#""_value":7.5,"host":null,"up":null"#), "{}", read[0]);
}

#[test]
fn what_json_has_no_number_for_is_text() {
    let text = "#datatype,string,long,dateTime:RFC3339,double\n,result,table,_time,_value\n\
                ,,0,1970-01-01T00:00:00Z,NaN\n,,0,1970-01-01T00:00:01Z,+Inf\n,,0,1970-01-01T00:00:02Z,1e+21\n";
    let read = read(text, 1_000).unwrap();
    for (record, right) in read.iter().zip(["\"NaN\"", "\"+Inf\"", "1e+21"]) {
        assert!(record.contains(&format!("\"value\":{right},")), "{record}");
    }
}

#[test]
fn an_error_after_good_rows_fails_the_whole_answer_b103() {
    let mut text = "#datatype,string,long,dateTime:RFC3339,long\n,result,table,_time,_value\n".to_owned();
    (0..10).for_each(|row| text.push_str(&format!(",,0,1970-01-01T00:00:0{row}Z,{row}\n")));
    text.push_str("\n#datatype,string,string\n#group,true,true\n#default,,\n,error,reference\n,engine: disk on fire,897\n");
    for step in [1, 1_000] {
        let error = read(&text, step).unwrap_err();
        assert!(
            matches!(&error, Error::Server(words) if words == "engine: disk on fire (reference 897)"),
            "{error}"
        );
    }
}

#[test]
fn a_column_called_error_is_data_where_there_is_a_time() {
    let text = ",result,table,_time,_value,error\n,,0,1970-01-01T00:00:00Z,1,none\n";
    assert!(read(text, 100).unwrap()[0].contains(r#""error":"none""#));
}

#[test]
fn rows_that_are_too_short_or_have_no_time_are_refused_b104() {
    let short = ",result,table,_time,_value\n,,0,1970-01-01T00:00:00Z\n";
    assert!(matches!(read(short, 100).unwrap_err(), Error::Malformed(_)));
    let timeless = ",result,table,_value\n,,0,5\n";
    assert!(matches!(read(timeless, 100).unwrap_err(), Error::Unreadable(_)));
    let wrong = ",result,table,_time\n,,0,yesterday\n";
    assert!(matches!(read(wrong, 100).unwrap_err(), Error::Malformed(_)));
}

#[test]
fn a_row_without_an_end_is_no_row_since_its_last_value_may_go_on_b103() {
    let text = ",result,table,_time,_value\n,,0,1970-01-01T00:00:00Z,123\n,,0,1970-01-01T00:00:01Z,\"a\"\n";
    let row = text.find("\n").unwrap();
    for end in row + 2..text.len() {
        let is_between_rows = text[..end].ends_with('\n');
        assert_eq!(read(&text[..end], 3).is_ok(), is_between_rows, "cut at {end}");
    }
}

#[test]
fn an_empty_answer_has_no_rows() {
    assert_eq!(read("\r\n", 10).unwrap(), Vec::<String>::new());
    assert_eq!(read("", 10).unwrap(), Vec::<String>::new());
}

#[test]
fn pivoted_rows_have_tags_and_fields_apart_and_an_unknown_text_column_is_asked_for() {
    let text = "#datatype,string,long,dateTime:RFC3339,string,string,double,string\n\
                ,result,table,_time,_measurement,host,u,s\n,,0,1970-01-01T00:00:00Z,cpu,a,2.5,x\n";
    let read = |schema: Schema| {
        let mut decoder = Decoder::Flux(Box::new(FluxCsv::new(schema)));
        payloads(&mut decoder, &form(Shape::Point), text, 1_000)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let right = r#"{"measurement":"cpu","timestamp":"1970-01-01T00:00:00Z","tags":{"host":"a"},"fields":{"u":2.5,"s":"x"}}"#;
    let known = Schema::Asked { tags: names(&["host"]), fields: names(&["s"]), is_fresh: false };
    for schema in [Schema::Tags(names(&["host"])), Schema::Fields(names(&["u", "s"])), known] {
        assert_eq!(read(schema).unwrap(), [right]);
    }
    let asked = |is_fresh| Schema::Asked { tags: names(&["host"]), fields: Vec::new(), is_fresh };
    assert!(matches!(read(asked(false)).unwrap_err(), Error::SchemaChanged));
    assert_eq!(read(asked(true)).unwrap(), [right]);
}
