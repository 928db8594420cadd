//! A row as either source of rows sends it: the stream or a query.

use crate::client::frame::Reader;
use crate::error::Error;
use crate::pgoutput::{Tuple, Value};

/// A row, not yet cut into values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row<'a> {
    /// Of the stream.
    Tuple(Tuple<'a>),
    /// The body of a `DataRow`, checked by [`Row::data`].
    Data(&'a [u8]),
    /// A new row of which the stream left out what did not change, over the whole old one.
    Filled { new: Tuple<'a>, old: Tuple<'a> },
}

impl<'a> Row<'a> {
    /// Takes the body of a `DataRow`.
    ///
    /// # Errors
    /// When it is cut short.
    pub(crate) fn data(body: &'a [u8]) -> Result<Row<'a>, Error> {
        let mut reader = Reader::new(body);
        for _ in 0..reader.u16()? {
            data_value(&mut reader)?;
        }
        Ok(Row::Data(body))
    }

    /// The values in the order of the columns.
    pub(crate) fn values(self) -> impl Iterator<Item = Value<'a>> {
        let (mut first, mut second, mut data) = (None, None, None);
        match self {
            Row::Tuple(tuple) => first = Some(tuple.values()),
            Row::Filled { new, old } => (first, second) = (Some(new.values()), Some(old.values())),
            Row::Data(body) => data = Some(Reader::new(body.get(2..).unwrap_or_default())),
        }
        std::iter::from_fn(move || {
            if let Some(reader) = &mut data {
                return if reader.is_empty() { None } else { data_value(reader).ok() };
            }
            let (new, old) = (first.as_mut()?.next()?, second.as_mut().and_then(Iterator::next));
            Some(if new == Value::Unchanged { old.unwrap_or(new) } else { new })
        })
    }
}

fn data_value<'a>(reader: &mut Reader<'a>) -> Result<Value<'a>, Error> {
    match reader.i32()? {
        -1 => Ok(Value::Null),
        length => {
            let length =
                usize::try_from(length).map_err(|_| Error::Protocol(format!("a value of {length} bytes")))?;
            reader.bytes(length).map(Value::Text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_query_is_cut_like_one_of_the_stream() {
        let body = b"\0\x03\0\0\0\x01x\xff\xff\xff\xff\0\0\0\0";
        let row = Row::data(body).unwrap();
        let values: Vec<Value<'_>> = row.values().collect();
        assert_eq!(values, [Value::Text(b"x"), Value::Null, Value::Text(b"")]);
        assert!(Row::data(&body[..body.len() - 1]).is_err());
        assert_eq!(Row::data(b"\0\0").unwrap().values().count(), 0);
    }
}
