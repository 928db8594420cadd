//! One value in Debezium's form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::form::Form;
use super::number::put_float;
use super::time;
use crate::value::{self, Fault, Forms, Kind, Out, write_utf8};

/// Writes the JSON of `text`, which is what PostgreSQL writes for a value of that form.
///
/// # Errors
/// As [`value::write`]: what was written then is of no use.
pub(super) fn write<O: Out>(out: &mut O, form: &Form, bytes: &[u8]) -> Result<(), Fault> {
    if let Form::Plain(kind) = form {
        return value::write(out, kind, bytes, Forms::default());
    }
    if let Form::Array { element, delimiter } = form {
        return value::write_array(out, *delimiter, bytes, |out: &mut O, bytes: &[u8]| {
            write(out, element, bytes)
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "its text is no UTF-8")?;
    match form {
        Form::Plain(_) | Form::Array { .. } => Ok(()),
        Form::Float => match text {
            "NaN" | "Infinity" | "-Infinity" => {
                write_utf8(out, text);
                Ok(())
            }
            _ => put_float(out, bytes),
        },
        Form::Numeric => {
            write_utf8(out, numeric(text));
            Ok(())
        }
        Form::Money => put_money(out, text),
        Form::Date => time::put_date(out, text),
        Form::Timestamp => time::put_timestamp(out, text, None),
        Form::TimestampTz { digits } => time::put_timestamp(out, text, Some(*digits)),
        Form::Time => time::put_time(out, text),
        Form::TimeTz => time::put_time_tz(out, text),
        Form::Interval => time::put_interval(out, text),
        Form::Flag => {
            out.put(if bytes == b"1" { b"true" } else { b"false" });
            Ok(())
        }
        Form::Bits => put_bits(out, bytes),
        Form::Point => put_point(out, text),
        Form::Hstore => {
            let mut object = Vec::new();
            value::write(&mut object, &Kind::Hstore, bytes, Forms::default())?;
            value::write(out, &Kind::Text, &object, Forms::default())
        }
    }
}

fn numeric(text: &str) -> &str {
    match text {
        "NaN" => "NAN",
        "Infinity" => "POSITIVE_INFINITY",
        "-Infinity" => "NEGATIVE_INFINITY",
        number => number,
    }
}

/// `-$1,234.56` as `"-1234.56"`.
fn put_money(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'-';
    if !text.bytes().all(|byte| is_of_number(byte) || byte == b'$' || byte == b',') {
        return Err("it is no amount of the form that the session asked for");
    }
    let number: String = text.chars().filter(|character| is_of_number(*character as u8)).collect();
    write_utf8(out, &number);
    Ok(())
}

/// The last bit is the lowest of the first byte; bytes of nothing but zeros at the end are left out.
fn put_bits(out: &mut impl Out, text: &[u8]) -> Result<(), Fault> {
    let mut bytes = vec![0_u8; text.len().div_ceil(8)];
    for (at, bit) in text.iter().rev().enumerate() {
        match bit {
            b'0' => {}
            b'1' => bytes[at / 8] |= 1 << (at % 8),
            _ => return Err("it is no bit string"),
        }
    }
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    write_utf8(out, &STANDARD.encode(&bytes[..length]));
    Ok(())
}

/// `(1.5,-2)` as an object; `wkb` is the point as "well-known binary", little-endian.
fn put_point(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    const WRONG: Fault = "it is no point";
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).ok_or(WRONG)?;
    let (x, y) = inner.split_once(',').ok_or(WRONG)?;
    let mut wkb = vec![1, 1, 0, 0, 0];
    for (name, part) in [(&b"{\"x\":"[..], x), (b",\"y\":", y)] {
        out.put(name);
        write(out, &Form::Float, part.as_bytes())?;
        wkb.extend(part.parse::<f64>().map_err(|_| WRONG)?.to_le_bytes());
    }
    out.put(b",\"wkb\":");
    write_utf8(out, &STANDARD.encode(wkb));
    out.put(b",\"srid\":null}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(form: &Form, from: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, form, from.as_bytes()).unwrap();
        String::from_utf8(out).unwrap()
    }

    // What is right here was read off a real Debezium 3.6.1.
    #[test]
    fn every_form_is_debeziums() {
        let array = |element| Form::Array { element: Box::new(element), delimiter: b',' };
        for (form, from, right) in [
            (Form::Float, "1e+10", "1.0E10"),
            (Form::Float, "-Infinity", "\"-Infinity\""),
            (Form::Numeric, "NaN", "\"NAN\""),
            (Form::Numeric, "-Infinity", "\"NEGATIVE_INFINITY\""),
            (Form::Numeric, "1.00", "\"1.00\""),
            (Form::Money, "-$1,234.56", "\"-1234.56\""),
            (Form::Money, "-$92,233,720,368,547,758.08", "\"-92233720368547758.08\""),
            (Form::Flag, "1", "true"),
            (Form::Bits, "10101", "\"FQ==\""),
            (Form::Bits, "1010101111001101", "\"zas=\""),
            (Form::Bits, "0000000000000001", "\"AQ==\""),
            (Form::Bits, "0000000100000000", "\"AAE=\""),
            (Form::Bits, "00000000", "\"\""),
            (Form::Bits, "1000000010", "\"AgI=\""),
            (Form::Bits, "", "\"\""),
            (
                Form::Point,
                "(1.5,-2)",
                r#"{"x":1.5,"y":-2.0,"wkb":"AQEAAAAAAAAAAAD4PwAAAAAAAADA","srid":null}"#,
            ),
            (Form::Hstore, "\"a\"=>\"1\", \"b c\"=>NULL", r#""{\"a\":\"1\",\"b c\":null}""#),
            (Form::Hstore, "", "\"{}\""),
            (Form::Plain(Kind::Text), "{\"a\" : 1}", r#""{\"a\" : 1}""#),
            (array(Form::Float), "{0.1,2,NULL}", "[0.1,2.0,null]"),
            (
                array(Form::TimestampTz { digits: 3 }),
                "{\"2024-01-01 00:00:00.5+00\"}",
                "[\"2024-01-01T00:00:00.500Z\"]",
            ),
        ] {
            assert_eq!(text(&form, from), right, "{from}");
        }
    }

    #[test]
    fn what_has_another_form_is_an_error() {
        for (form, wrong) in [
            (Form::Money, "12 €"),
            (Form::Bits, "102"),
            (Form::Point, "(1,x)"),
            (Form::Point, "1,2"),
            (Form::Float, "abc"),
        ] {
            assert!(write(&mut Vec::new(), &form, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_writer_panic(bytes: Vec<u8>, text in "[-+0-9.:eTPYMDHSBC \"]{0,20}", which in 0..14_usize) {
            let forms = [
                Form::Float, Form::Numeric, Form::Money, Form::Date, Form::Timestamp, Form::TimestampTz { digits: 2 }, Form::Time,
                Form::TimeTz, Form::Interval, Form::Flag, Form::Bits, Form::Point, Form::Hstore,
                Form::Array { element: Box::new(Form::Date), delimiter: b',' },
            ];
            for bytes in [&bytes, text.as_bytes()] {
                let mut out = Vec::new();
                if write(&mut out, &forms[which], bytes).is_ok() {
                    prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok(), "{}", String::from_utf8_lossy(&out));
                }
            }
        }
    }
}
