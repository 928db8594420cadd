//! The fuzzers' seeds, each cut at every byte: a short look at each build at what `make fuzz` looks at for long.

use std::path::Path;

use super::*;

/// Name and bytes of each seed; the first two bytes choose.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/fuzz/seeds/elasticsearch_page");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

#[test]
fn what_servers_answer_is_taken_or_distrusted_as_a_whole_b095() {
    for (name, seed) in seeds() {
        let parsed = Page::parse(&seed[2..]);
        match name.split('_').next().unwrap() {
            "page" => {
                let page = parsed.unwrap();
                assert_eq!(page.distrust(), None, "{name}");
                assert!(!page.hits().is_empty(), "{name}");
            }
            "distrusted" => assert!(parsed.unwrap().distrust().is_some(), "{name}"),
            "refusal" => assert!(parsed.is_err() && !Refusal::parse(&seed[2..]).reason.is_empty(), "{name}"),
            other => panic!("{other}_… is no kind of seed"),
        }
        page(&seed);
    }
}

#[test]
fn no_part_of_a_page_is_a_page_b095() {
    for (_, seed) in seeds() {
        if Page::parse(&seed[2..]).is_ok() {
            (0..seed.len() - 2).for_each(|end| cut_at(&seed[2..], end));
        }
    }
}

/// Whatever a page says, under every order and unit.
#[test]
fn what_is_taken_is_delivered_once_b093() {
    for (_, mut seed) in seeds() {
        for choice in 0..16 {
            seed[0] = choice;
            page(&seed);
        }
    }
}
