//! The fuzzers' seeds, which are bytes of real servers, and what a few changed bytes make of them: a short look at each build at
//! what `make fuzz` looks at for long.

use std::path::Path;

use proptest::prelude::*;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/fuzz/seeds").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// A change of a seed: where, how many bytes go, and what comes in their place.
type Change = (usize, usize, Vec<u8>);

fn changed(seed: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (place, gone, come) in changes {
        let start = place % (bytes.len() + 1);
        let end = (start + gone).min(bytes.len());
        bytes.splice(start..end, come.iter().copied());
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let come = prop::collection::vec(
        prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",\\=>NUt0-.:/'?&%".to_vec())],
        0..4,
    );
    prop::collection::vec((any::<usize>(), 0..4_usize, come), 0..6)
}

/// `postgres_stream` is made of messages behind their length, so what is changed lies inside of them mostly.
#[test]
fn what_a_real_server_said_is_taken_whole() {
    let settings = super::settings();
    let cut = super::Cut { records: 1_000, bytes: 1 << 20, bytes_max: 2 << 20 };
    let start = super::Position::at(super::Lsn(0));
    let mut reading = super::Assembler::new(settings.tables, settings.records, cut, &start);
    let whole = seeds("postgres_stream").remove(0);
    for message in super::messages(&whole) {
        let message = super::Message::parse(message).unwrap();
        assert_eq!(reading.feed(&message, 1).unwrap(), super::Fed::Taken);
    }
    // A row, three changes of it with a tombstone for each key that went, two messages, three changes and two truncations.
    assert!(reading.take().batch.len() >= 11, "the seed has lost its changes");
}

/// Among them what fuzzers found, such as a message at the last position there can be.
#[test]
fn every_seed_is_batches_or_an_error() {
    seeds("postgres_stream").iter().for_each(|seed| super::stream(seed));
}

proptest! {
    #[test]
    fn any_stream_is_batches_or_an_error(which: usize, changes in changes()) {
        let seeds = seeds("postgres_stream");
        super::stream(&changed(&seeds[which % seeds.len()], &changes));
    }

    #[test]
    fn any_value_is_json_or_refused(which: usize, changes in changes()) {
        let seeds = seeds("postgres_values");
        super::value(&changed(&seeds[which % seeds.len()], &changes));
    }

    #[test]
    fn any_text_is_understood_or_refused(which: usize, changes in changes()) {
        let seeds = seeds("postgres_texts");
        super::text(&String::from_utf8_lossy(&changed(&seeds[which % seeds.len()], &changes)));
    }
}
