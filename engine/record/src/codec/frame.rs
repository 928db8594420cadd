//! The Confluent wire format: which schema of a registry a payload was written by, in the bytes before it.

/// Leads every framed payload.
const MAGIC: u8 = 0;

/// What stands before the payloads of a block: a zero byte, the schema's id in four bytes big-endian, and for protobuf
/// which message of the schema it is. The same for all records, so it is made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(Box<[u8]>);

impl Frame {
    /// For Avro and JSON.
    pub fn new(id: u32) -> Frame {
        let mut bytes = vec![MAGIC];
        bytes.extend_from_slice(&id.to_be_bytes());
        Frame(bytes.into())
    }

    /// For protobuf: `indexes` are the position of the message in its file, after those of the messages around it.
    pub fn of_message(id: u32, indexes: &[i32]) -> Frame {
        let mut bytes = Frame::new(id).0.into_vec();
        if indexes == [0] {
            // The first message of a file, which most are, has one byte.
            bytes.push(0);
        } else {
            zigzag(indexes.len() as i64, &mut bytes);
            for index in indexes {
                zigzag((*index).into(), &mut bytes);
            }
        }
        Frame(bytes.into())
    }

    /// The bytes that come before the payload.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn zigzag(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_big_endian_after_a_zero() {
        assert_eq!(Frame::new(0x0102_0304).as_bytes(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_message_is_named_by_its_positions() {
        assert_eq!(Frame::of_message(7, &[0]).as_bytes(), [0, 0, 0, 0, 7, 0]);
        assert_eq!(Frame::of_message(7, &[1]).as_bytes(), [0, 0, 0, 0, 7, 2, 2]);
        assert_eq!(Frame::of_message(7, &[2, 0, 100]).as_bytes(), [0, 0, 0, 0, 7, 6, 4, 0, 200, 1]);
    }
}
