//! `payload_column`: one column is the whole payload.

use picomq_connector_sdk::{Batch, Schema};
use serde_json::value::RawValue;

use crate::change::Origin;
use crate::config::PayloadFormat;
use crate::error::Error;
use crate::shape::Shape;
use crate::value::Kind;

/// What the payloads are.
pub(crate) fn schema(format: PayloadFormat) -> Schema {
    match format {
        PayloadFormat::Json => Schema::Json,
        PayloadFormat::Raw => Schema::Raw,
        PayloadFormat::Text => Schema::Text,
    }
}

/// Adds a record of the column at `place`: bytes of a bytea, else the text. A null is a record without payload.
pub(crate) fn add(
    batch: &mut Batch,
    (value, format): (Option<&[u8]>, PayloadFormat),
    shape: &Shape,
    (place, origin): (usize, &Origin<'_>),
) -> Result<(), Error> {
    let fault = |why| Error::Value {
        table: shape.table.to_string(),
        column: shape.columns.get(place).map_or_else(String::new, |column| column.name.clone()),
        why,
    };
    let is_bytes = shape.columns.get(place).is_some_and(|column| column.kind == Kind::Bytea);
    let payload = match value {
        Some(text) if is_bytes => Some(from_hex(text).ok_or_else(|| fault("it is not in hexadecimal form"))?),
        Some(text) => Some(text.to_vec()),
        None => None,
    };
    if let Some(payload) = &payload {
        match format {
            PayloadFormat::Json => {
                serde_json::from_slice::<&RawValue>(payload).map_err(|_| {
                    fault("it is no JSON; payload_format = \"text\" or \"raw\" takes it as it is")
                })?;
            }
            PayloadFormat::Text => {
                std::str::from_utf8(payload)
                    .map_err(|_| fault("it is no UTF-8; payload_format = \"raw\" takes it as it is"))?;
            }
            PayloadFormat::Raw => {}
        }
    }
    let mut record = batch.add();
    if let Some(payload) = &payload {
        record.payload(payload);
    }
    record.id(&origin.id_of_poll(&shape.table)).timestamp_ms(origin.time.as_millisecond());
    Ok(())
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"\\x").filter(|digits| digits.len() % 2 == 0)?;
    let digit = |byte: u8| (byte as char).to_digit(16);
    digits.chunks_exact(2).map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_and_what_is_no_hexadecimal_is_not() {
        assert_eq!(from_hex(b"\\x00ff5c"), Some(vec![0, 0xff, 0x5c]));
        assert_eq!(from_hex(b"\\x"), Some(vec![]));
        assert_eq!((from_hex(b"\\x0"), from_hex(b"00"), from_hex(b"\\xzz")), (None, None, None));
    }
}
