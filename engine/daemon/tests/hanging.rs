//! Libraries whose initialisers never end, or end the process: nobody else notices.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Daemon, Folder};

/// By name, what its initialiser does.
const FAULTS: [(&str, &str); 3] =
    [("hangs", "for (;;) pause();"), ("crashes", "abort();"), ("leaves", "_exit(7);")];

/// A folder with such libraries, made by the C compiler that librdkafka needs too.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, does) in FAULTS {
        let text = format!(
            "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) {{ {does} }}\n"
        );
        let source = folder.write(&format!("plugins/{name}.c"), &text);
        let library = folder.path().join(format!("plugins/libpicomq_connector_{name}.so"));
        let made =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(library).arg(source).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    folder
}

fn definition(key: &str, library: &str) -> String {
    format!("type = \"source\"\nkey = \"{key}\"\npath = \"{library}\"\n[[topics]]\ntopic = \"x\"\n")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_library_that_hangs_or_crashes_while_it_is_loaded_holds_up_nobody_b125() {
    let folder = folder();
    for (name, _) in FAULTS {
        folder.write(
            &format!("sources/{name}.toml"),
            &definition(name, &format!("libpicomq_connector_{name}")),
        );
    }
    let mut daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");

    let (status, listing) = daemon.get("/plugins");
    assert_eq!(status, 200, "{listing}");
    for (name, member, what) in [
        ("hangs", "loading", "has not finished loading after 10 s"),
        ("crashes", "refused", "signal 6"),
        ("leaves", "refused", "exit code 7"),
    ] {
        let plugins = json(&listing)["plugins"].as_array().unwrap().clone();
        let is_it = |plugin: &&Value| plugin["path"].as_str().is_some_and(|path| path.contains(name));
        let said = plugins.iter().find(is_it).unwrap()[member].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(what) && said.contains("mend it, or leave it out"), "{name}: {listing}");
    }

    // Of a source it is said where the source is looked at, and what it hangs with is no process of this engine.
    daemon.wait_for("two sources that say why they do not run", || {
        let of = |key: &str| json(&daemon.get(&format!("/sources/{key}")).1)["last_error"].to_string();
        of("crashes").contains("signal 6") && of("leaves").contains("exit code 7")
    });
    folder.write("sources/hangs.toml", &definition("another", "libnothing"));
    let (status, plan) = daemon.post("/reload", "");
    assert_eq!(status, 200, "{plan}");
    daemon.wait_for("the other source", || daemon.get("/sources").1.contains("another"));

    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().0, 0);
}

#[test]
fn the_listing_of_the_command_line_ends_and_says_which_library_hangs() {
    let folder = folder();
    folder.write("config.toml", "[plugins]\ndirectories = [\"plugins\"]\n");

    let (code, out, err) = folder.told(&["plugins"]);

    assert_eq!(code, 0, "{err}");
    assert!(out.contains("libpicomq_connector_hangs.so has not finished loading after 10 s"), "{out}");
    assert!(
        out.contains("libpicomq_connector_crashes.so ends the process that loads it (signal 6)"),
        "{out}"
    );
}
