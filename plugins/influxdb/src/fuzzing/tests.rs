//! The fuzzers' seeds, each cut at every byte and read in every size of pieces: a short look at each build at what `make fuzz`
//! looks at for long.

use std::path::Path;

use super::*;

/// Name and bytes of each seed; the first three bytes choose.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/fuzz/seeds/influxdb_answer");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

#[test]
fn what_servers_answer_is_taken_whole_b103() {
    for (name, seed) in seeds() {
        let (choices, text) = seed.split_first_chunk::<3>().unwrap();
        let read = Reading::chosen(choices[0]).read(text, 7);
        assert_eq!(read.is_err(), name.starts_with("error"), "{name}: {read:?}");
        assert!(read.is_err() || read.is_ok_and(|read| read.rows.len() >= 3), "{name}");
    }
}

#[test]
fn a_part_of_an_answer_never_stands_for_another_whole_one_b103() {
    for (_, mut seed) in seeds() {
        let (choices, text) = seed.split_first_chunk::<3>().unwrap();
        let reading = Reading::chosen(choices[0]);
        if let Ok(whole) = reading.read(text, text.len()) {
            (0..text.len()).for_each(|end| reading.cut(text, end, &whole));
        }
        for step in 0..40 {
            seed[1] = step;
            answer(&seed);
        }
    }
}

#[test]
fn an_answer_in_any_language_and_form_is_rows_or_an_error() {
    for (_, mut seed) in seeds() {
        for choice in 0..36 {
            seed[0] = choice;
            answer(&seed);
        }
    }
}
