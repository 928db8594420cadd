//! Messages of the server, cut out of a byte stream. Pure; every length is checked.

use bytes::{Buf, Bytes, BytesMut};

use crate::error::{Error, ServerError};

/// A message longer than this is no message of a server: a value has at most 1 GiB.
const BYTES_MAX: usize = 1 << 31;

const HEADER_BYTES: usize = 5;

/// Tags of the messages we read (PostgreSQL manual, "Message Formats").
pub(crate) mod tag {
    pub(crate) const AUTHENTICATION: u8 = b'R';
    pub(crate) const BIND_COMPLETE: u8 = b'2';
    pub(crate) const COMMAND_COMPLETE: u8 = b'C';
    pub(crate) const COPY_BOTH: u8 = b'W';
    pub(crate) const COPY_DATA: u8 = b'd';
    pub(crate) const COPY_DONE: u8 = b'c';
    pub(crate) const DATA_ROW: u8 = b'D';
    pub(crate) const EMPTY_QUERY: u8 = b'I';
    pub(crate) const ERROR: u8 = b'E';
    pub(crate) const KEY_DATA: u8 = b'K';
    pub(crate) const NEGOTIATE: u8 = b'v';
    pub(crate) const NO_DATA: u8 = b'n';
    pub(crate) const NOTICE: u8 = b'N';
    pub(crate) const NOTIFICATION: u8 = b'A';
    pub(crate) const PARAMETER: u8 = b'S';
    pub(crate) const PARSE_COMPLETE: u8 = b'1';
    pub(crate) const READY: u8 = b'Z';
    pub(crate) const ROW_DESCRIPTION: u8 = b'T';
}

/// One message: its tag and what follows the length.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) tag: u8,
    pub(crate) body: Bytes,
}

/// Where the first message of `bytes` lies, if all of it is there: its tag and the range of its body.
///
/// # Errors
/// A length that no message has.
pub(crate) fn first(bytes: &[u8]) -> Result<Option<(u8, std::ops::Range<usize>)>, Error> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    if !(4..BYTES_MAX).contains(&length) {
        return Err(Error::Protocol(format!("a message of {length} bytes")));
    }
    let end = 1 + length;
    Ok((bytes.len() >= end).then_some((header[0], HEADER_BYTES..end)))
}

/// How long the message is that `bytes` begin with, once its header is there.
pub(crate) fn declared(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    Some(u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize)
}

/// Takes the first message off `input`, if all of it is there.
pub(crate) fn take(input: &mut BytesMut) -> Result<Option<Frame>, Error> {
    let Some((tag, range)) = first(input)? else { return Ok(None) };
    let mut body = input.split_to(range.end).freeze();
    body.advance(range.start);
    Ok(Some(Frame { tag, body }))
}

/// Reads numbers and texts off the front of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (front, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| Error::Protocol("a message cut short".into()))?;
        self.rest = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let bytes = self.bytes(N)?;
        Ok(bytes.try_into().expect("so many bytes were taken"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Error> {
        self.array().map(i64::from_be_bytes)
    }

    /// A text that ends in a zero byte, which is passed over.
    pub(crate) fn text(&mut self) -> Result<&'a str, Error> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| Error::Protocol("a text without an end".into()))?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        std::str::from_utf8(text).map_err(|_| {
            Error::Protocol(format!(
                "a name that is no UTF-8 ({}); the database's encoding must be one that PostgreSQL can convert",
                String::from_utf8_lossy(text)
            ))
        })
    }
}

/// A column of a result: its name, its type and the modifier of it (-1 for none).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultColumn {
    pub(crate) name: String,
    pub(crate) oid: u32,
    pub(crate) modifier: i32,
}

/// Reads a `RowDescription`.
pub(crate) fn columns(body: &[u8]) -> Result<Vec<ResultColumn>, Error> {
    let mut reader = Reader::new(body);
    let count = reader.u16()?;
    let mut columns = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let name = reader.text()?.to_owned();
        reader.bytes(6)?;
        let oid = reader.u32()?;
        reader.bytes(2)?;
        let modifier = reader.i32()?;
        reader.bytes(2)?;
        columns.push(ResultColumn { name, oid, modifier });
    }
    Ok(columns)
}

/// Reads a `DataRow`: each value, `None` for null.
pub(crate) fn values(body: &[u8]) -> Result<Vec<Option<&[u8]>>, Error> {
    let mut reader = Reader::new(body);
    let count = reader.u16()?;
    let mut values = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        values.push(match reader.i32()? {
            -1 => None,
            length => {
                let length = usize::try_from(length)
                    .map_err(|_| Error::Protocol(format!("a value of {length} bytes")))?;
                Some(reader.bytes(length)?)
            }
        });
    }
    Ok(values)
}

/// Reads an `ErrorResponse`.
pub(crate) fn server_error(body: &[u8]) -> Error {
    let mut error = ServerError::default();
    let mut fields = body.split(|byte| *byte == 0);
    while let Some((kind, text)) = fields.next().and_then(|field| field.split_first()) {
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            b'C' => error.code = text,
            b'M' => error.message = text,
            b'D' => error.detail = text,
            b'H' => error.hint = text,
            _ => {}
        }
    }
    Error::Server(Box::new(error))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_taken_once_it_is_whole() {
        let mut input = BytesMut::from(&b"Z\0\0\0\x05IC"[..]);
        let frame = take(&mut input).unwrap().unwrap();
        assert_eq!((frame.tag, &frame.body[..]), (b'Z', &b"I"[..]));
        assert!(take(&mut input).unwrap().is_none());
        assert_eq!(&input[..], b"C");
    }

    #[test]
    fn the_length_is_known_before_the_message_is_there() {
        assert_eq!(declared(b"d\0\x10\0\0abc"), Some(1 << 20));
        assert_eq!(declared(b"d\0\x10\0"), None);
    }

    #[test]
    fn a_length_below_its_own_or_of_gigabytes_is_refused() {
        assert!(first(b"Z\0\0\0\x03").is_err());
        assert!(first(b"Z\x80\0\0\0").is_err());
    }

    #[test]
    fn an_error_keeps_code_message_detail_and_hint() {
        let Error::Server(error) = server_error(b"SERROR\0C42P01\0Mno table\0Hmake it\0Dd\0\0") else {
            panic!()
        };
        assert_eq!(error.to_string(), "PostgreSQL: no table (SQLSTATE 42P01); d; make it");
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
            let _ = first(&bytes);
            let _ = columns(&bytes);
            let _ = values(&bytes);
            let _ = server_error(&bytes);
        }

        #[test]
        fn a_row_comes_back(row in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..9)), 0..9)) {
            let mut body = (row.len() as u16).to_be_bytes().to_vec();
            for value in &row {
                match value {
                    None => body.extend((-1_i32).to_be_bytes()),
                    Some(value) => {
                        body.extend((value.len() as i32).to_be_bytes());
                        body.extend(value);
                    }
                }
            }
            let right: Vec<Option<&[u8]>> = row.iter().map(|value| value.as_deref()).collect();
            prop_assert_eq!(values(&body).unwrap(), right);
        }
    }
}
