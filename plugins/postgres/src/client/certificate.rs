//! The hash of a server's certificate that channel binding sends back (RFC 5929, `tls-server-end-point`).

use ring::digest::{self, Algorithm, SHA256, SHA384, SHA512};

const SEQUENCE: u8 = 0x30;
const OBJECT_ID: u8 = 0x06;

/// Signature algorithms (contents of their object identifiers) and the hash that goes with them. MD5 and SHA-1 are replaced by
/// SHA-256, as the RFC says. What is not here (Ed25519, RSA-PSS) has no defined hash, so there is no binding.
const HASHES: [(&[u8], &Algorithm); 8] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], &SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], &SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], &SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], &SHA384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], &SHA512),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], &SHA256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], &SHA384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], &SHA512),
];

/// The hash of `certificate` (DER), or `None` when its signature algorithm defines none.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_algorithm(certificate)?;
    let (_, hash) = HASHES.iter().find(|(id, _)| *id == algorithm)?;
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// `Certificate ::= SEQUENCE { tbsCertificate, SEQUENCE { OBJECT IDENTIFIER, … }, … }`
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (tag, inside, _) = element(certificate)?;
    let (_, _, after) = element(inside).filter(|_| tag == SEQUENCE)?;
    let (tag, algorithm, _) = element(after)?;
    let (id_tag, id, _) = element(algorithm).filter(|_| tag == SEQUENCE)?;
    (id_tag == OBJECT_ID).then_some(id)
}

/// The tag and contents of the first DER element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let (digits, after) =
            rest.split_at_checked(usize::from(first & 0x7f)).filter(|(digits, _)| digits.len() <= 4)?;
        length = digits.iter().fold(0, |number, digit| number << 8 | usize::from(*digit));
        rest = after;
    }
    let (contents, after) = rest.split_at_checked(length)?;
    Some((tag, contents, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A certificate's skeleton with the algorithm `id`.
    fn skeleton(id: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, contents: &[u8]| [&[tag, contents.len() as u8], contents].concat();
        let algorithm = wrap(SEQUENCE, &wrap(OBJECT_ID, id));
        wrap(SEQUENCE, &[wrap(SEQUENCE, b"tbs"), algorithm, wrap(3, b"signature")].concat())
    }

    #[test]
    fn the_hash_follows_the_signature_algorithm() {
        for (id, hash) in HASHES {
            let certificate = skeleton(id);
            assert_eq!(end_point(&certificate).unwrap(), digest::digest(hash, &certificate).as_ref());
        }
        assert_eq!(end_point(&skeleton(&[0x2b, 0x65, 0x70])), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = end_point(&bytes);
        }
    }
}
