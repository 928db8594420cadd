//! A template: what is accepted can be written down again and means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pico_config::{FieldPath, Template};

fuzz_target!(|text: &str| {
    if let Ok(template) = Template::parse(text) {
        let again = template.to_string();
        match Template::parse(&again) {
            Ok(same) => assert_eq!(same, template, "{text:?} means another thing as {again:?}"),
            // Written out, every brace is two: only the limit of length may be passed.
            Err(_) => assert!(again.len() > text.len(), "{text:?} is refused as {again:?}"),
        }
    }
    if let Ok(path) = FieldPath::parse(text) {
        assert_eq!(path.to_string(), text);
    }
});
