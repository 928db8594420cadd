use proptest::prelude::*;

use super::*;

fn definition(key: &str, name: &str, enabled: bool) -> Definition {
    let text = format!(
        "type = \"source\"\nkey = \"{key}\"\nname = \"{name}\"\npath = \"x\"\nenabled = {enabled}\nversion = 0\n[[topics]]\ntopic = \"t\"\n"
    );
    let engine = pico_config::Engine::defaults(std::path::Path::new("/"));
    let (definition, findings) =
        pico_config::check_definition("x.toml".as_ref(), &text, &engine, &pico_config::Env::default());
    definition.unwrap_or_else(|| panic!("{findings:?}"))
}

fn good(definition: &Definition) -> Item<'_> {
    Item { key: definition.key.as_str(), definition: Some(definition), has_failed: false }
}

fn bad(key: &str) -> Item<'_> {
    Item { key, definition: None, has_failed: false }
}

#[test]
fn new_missing_changed_and_equal_are_told_apart() {
    let (a, b, b2, c, d) = (
        definition("a", "one", true),
        definition("b", "one", true),
        definition("b", "two", true),
        definition("c", "one", true),
        definition("d", "one", true),
    );

    let steps = difference(&[good(&a), good(&b), good(&c)], &[good(&b2), good(&c), good(&d)]);

    assert_eq!(
        steps,
        [
            Step::Stop { running: 0 },
            Step::Reload { running: 1, wanted: 0 },
            Step::Leave { running: 2, wanted: 1 },
            Step::Start { wanted: 2 },
        ]
    );
}

#[test]
fn what_runs_stays_when_its_file_breaks_and_a_mended_file_replaces_its_entry() {
    let (on, off) = (definition("a", "one", true), definition("a", "one", false));
    assert_eq!(difference(&[good(&on)], &[bad("a")]), [Step::Refuse { running: 0, wanted: 0 }]);
    assert_eq!(difference(&[good(&off)], &[bad("a")]), [Step::Refuse { running: 0, wanted: 0 }]);
    assert_eq!(difference(&[bad("a")], &[good(&on)]), [Step::Replace { running: 0, wanted: 0 }]);
    assert_eq!(difference(&[bad("a")], &[bad("a")]), [Step::Replace { running: 0, wanted: 0 }]);
}

#[test]
fn switched_off_switched_on_and_another_spelling_of_the_key_end_what_was_there() {
    let (on, off) = (definition("a", "one", true), definition("a", "one", false));
    let upper = definition("A", "one", true);
    let replaced = [Step::Replace { running: 0, wanted: 0 }];
    assert_eq!(difference(&[good(&on)], &[good(&off)]), replaced);
    assert_eq!(difference(&[good(&off)], &[good(&on)]), replaced);
    assert_eq!(difference(&[good(&on)], &[good(&upper)]), replaced);
}

#[test]
fn an_equal_definition_is_tried_again_when_its_last_reload_failed() {
    let a = definition("a", "one", true);
    let failed = Item { has_failed: true, ..good(&a) };
    assert_eq!(difference(&[failed], &[good(&a)]), [Step::Reload { running: 0, wanted: 0 }]);
}

proptest! {
    /// Each running entry and each wanted one is in exactly one step, and the same set twice changes nothing.
    #[test]
    fn every_entry_is_in_one_step(running in proptest::collection::btree_map("[a-e]", (0..2, any::<bool>()), 0..5),
                                  wanted in proptest::collection::btree_map("[a-e]", (0..2, any::<bool>()), 0..5)) {
        let make = |set: &std::collections::BTreeMap<String, (i32, bool)>| -> Vec<Definition> {
            set.iter().map(|(key, (name, enabled))| definition(key, &name.to_string(), *enabled)).collect()
        };
        let (running, wanted) = (make(&running), make(&wanted));
        let items = |set: &'_ [Definition]| -> Vec<usize> { (0..set.len()).collect() };
        let steps = difference(&running.iter().map(good).collect::<Vec<_>>(), &wanted.iter().map(good).collect::<Vec<_>>());

        let (mut held, mut asked) = (Vec::new(), Vec::new());
        for step in &steps {
            match step {
                Step::Start { wanted } => asked.push(*wanted),
                Step::Stop { running } => held.push(*running),
                Step::Reload { running, wanted } | Step::Replace { running, wanted }
                | Step::Refuse { running, wanted } | Step::Leave { running, wanted } => {
                    held.push(*running);
                    asked.push(*wanted);
                }
            }
        }
        held.sort_unstable();
        prop_assert_eq!(held, items(&running));
        prop_assert_eq!(asked, items(&wanted));
        let same = difference(&wanted.iter().map(good).collect::<Vec<_>>(), &wanted.iter().map(good).collect::<Vec<_>>());
        let is_left = same.iter().all(|step| matches!(step, Step::Leave { .. }));
        prop_assert!(is_left);
    }
}
