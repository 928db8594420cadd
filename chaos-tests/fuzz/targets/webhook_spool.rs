//! A segment of the spool: whatever its bytes are it is judged without a panic, and what is written comes back; a posted
//! body is judged too, and so is a post in the form of the spool.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picomq_connector_http_source::body::{Format, gunzip};
use picomq_connector_http_source::post::Post;
use picomq_connector_http_source::spool::segment::{HEADER_BYTES, Header, Step};

fuzz_target!(|bytes: &[u8]| {
    let _ = Header::scan(bytes);
    for format in [Format::Json, Format::Text, Format::Raw] {
        let _ = format.check(bytes);
    }
    assert!(
        gunzip(bytes, 1 << 16).is_ok_and(|plain| plain.len() <= 1 << 16) || gunzip(bytes, 1 << 16).is_err()
    );
    if let Ok(post) = Post::decode(bytes) {
        let mut again = Vec::new();
        post.encode(&mut again);
        assert_eq!(Post::decode(&again).as_ref(), Ok(&post));
    }

    let Some((head, rest)) = bytes.split_at_checked(9) else { return };
    let header = Header { first: 7, salt: u64::from_le_bytes(head[..8].try_into().expect("eight bytes")) };
    let posts: Vec<Vec<u8>> = rest.chunks(usize::from(head[8]) + 1).map(<[u8]>::to_vec).collect();
    if posts.is_empty() {
        return;
    }
    let mut file = header.encode().to_vec();
    header.write_group(&mut file, 7, &posts);
    let scan = Header::scan(&file).expect("what was written is read");
    assert_eq!((scan.next, scan.good_bytes), (7 + posts.len() as u64, file.len()));
    let Step::Group(group) = header.step(&file[HEADER_BYTES..], 7) else { panic!("no group") };
    assert!(group.posts().eq(posts.iter().map(Vec::as_slice)));

    let place = HEADER_BYTES + usize::from(head[8]) % (file.len() - HEADER_BYTES);
    file.truncate(place);
    let torn = Header::scan(&file).expect("a torn file is no damage");
    assert_eq!((torn.next, torn.good_bytes), (7, HEADER_BYTES));
});
