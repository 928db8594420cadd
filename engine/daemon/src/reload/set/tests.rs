use std::sync::Arc;

use pico_config::{Env, Severity};
use tempfile::TempDir;

use super::*;
use crate::reload::digest::Hasher;
use crate::reload::plan::{Action, Plan, plan};

/// A folder of definitions beside what runs; libraries named `libmissing…` are not found.
struct Site {
    folder: TempDir,
    config: Engine,
    env: Env,
    files: VersionFiles,
    last: Last,
    running: Vec<RunningSource>,
    hasher: Hasher,
}

fn text(key: &str, more: &str) -> String {
    format!("type = \"source\"\nkey = \"{key}\"\npath = \"libx\"\n{more}\n[[topics]]\ntopic = \"t\"\n")
}

fn check(definition: &Definition) -> Vec<Finding> {
    let refused = definition.path.starts_with("libmissing");
    let location = Location::File(definition.file.clone());
    let finding = Finding::new("plugin.not_found", Severity::Error, location, "no such library");
    refused.then_some(finding).into_iter().collect()
}

impl Site {
    /// Everything in these files runs.
    fn running(files: &[(&str, String)]) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Engine::defaults(folder.path());
        config.connectors.config_dir = folder.path().to_owned();
        let mut site = Site {
            files: VersionFiles::of(&config),
            folder,
            config,
            env: Env::from_pairs([("SECRET", "hunter2")]),
            last: Last::default(),
            running: Vec::new(),
            hasher: Hasher::new().unwrap(),
        };
        for (name, text) in files {
            site.write(name, text);
        }
        site.take_up();
        site
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn load(&self, texts: Texts) -> (Wanted, Plan) {
        let ground = Ground {
            config: &self.config,
            env: &self.env,
            files: &self.files,
            last: &self.last,
            running: &self.running,
            check: &check,
        };
        let wanted = Wanted::load(&ground, texts).unwrap();
        let plan = plan(&self.running, &wanted, &self.hasher, true);
        (wanted, plan)
    }

    fn plan(&self) -> Plan {
        self.load(Texts::Files).1
    }

    /// As if the root had carried the plan out.
    fn take_up(&mut self) {
        let (wanted, _) = self.load(Texts::Files);
        self.last = wanted.last(&self.last);
        let source = |definition: &Definition| RunningSource {
            key: definition.key.as_str().to_owned(),
            definition: Some(Arc::new(definition.clone())),
            refused: None,
            is_reloading: false,
            has_reload_failed: false,
        };
        let refused: Vec<RunningSource> = self
            .running
            .iter()
            .filter(|source| wanted.bad().any(|bad| bad.key.eq_ignore_ascii_case(&source.key)))
            .cloned()
            .collect();
        self.running = wanted.definitions().map(source).chain(refused).collect();
    }
}

fn actions(plan: &Plan) -> Vec<(&str, Action)> {
    plan.changes.iter().map(|change| (change.key.as_str(), change.action.clone())).collect()
}

#[test]
fn an_untouched_folder_changes_nothing_and_a_touched_file_neither_b135() {
    let site = Site::running(&[("a.toml", text("a", "")), ("b.toml", text("b", ""))]);
    site.write("a.toml", &format!("# a remark\n{}", text("a", "")));
    let plan = site.plan();
    assert_eq!((plan.changes, plan.unchanged), (vec![], 2));
}

#[test]
fn new_changed_and_removed_files_are_told_with_the_values_that_differ_b135() {
    let site = Site::running(&[("a.toml", text("a", "max_in_flight = 1")), ("b.toml", text("b", ""))]);
    site.write("a.toml", &text("a", "max_in_flight = 4"));
    site.write("c.toml", &text("c", ""));
    std::fs::remove_file(site.folder.path().join("b.toml")).unwrap();

    let plan = site.plan();

    assert_eq!(actions(&plan), [("b", Action::Remove), ("a", Action::Reload), ("c", Action::Start)]);
    let value = &plan.changes[1].values[0];
    assert_eq!(
        (value.path.as_str(), value.from.clone(), value.to.clone()),
        ("max_in_flight", Some(1.into()), Some(4.into()))
    );
}

#[test]
fn what_cannot_be_used_is_refused_and_keeps_its_source_b133() {
    let broken =
        ["no TOML", "", &text("a", "max_in_flight = \"two\""), &text("a", "").replace("libx", "libmissing")];
    for broken in broken {
        let mut site = Site::running(&[("a.toml", text("a", ""))]);
        site.write("a.toml", broken);
        let plan = site.plan();
        assert_eq!(actions(&plan), [("a", Action::Refuse)], "{broken}");
        assert!(!plan.changes[0].notes.is_empty());
        site.take_up();
        site.write("a.toml", &text("a", "verbose = true"));
        assert_eq!(actions(&site.plan()), [("a", Action::Reload)], "mended");
    }
}

#[test]
fn a_newcomer_with_a_key_that_runs_is_refused_and_the_running_one_stays() {
    let site = Site::running(&[("b.toml", text("a", ""))]);
    site.write("a.toml", &text("A", "verbose = true"));
    let plan = site.plan();
    assert_eq!((actions(&plan), plan.unchanged), (vec![("a.toml", Action::Refuse)], 1));
    assert!(plan.changes[0].notes[0].contains("the one that runs stays"), "{:?}", plan.changes[0].notes);
}

#[test]
fn a_file_that_names_another_key_is_another_source_and_says_that_state_does_not_follow_b135() {
    let site = Site::running(&[("a.toml", text("a", ""))]);
    site.write("a.toml", &text("b", ""));
    let plan = site.plan();
    assert_eq!(actions(&plan), [("a", Action::Remove), ("b", Action::Start)]);
    assert!(plan.changes[1].notes[0].contains("begins without state"));
}

#[test]
fn a_rotated_secret_file_is_a_change_that_shows_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("password");
    std::fs::write(&secret, "hunter2").unwrap();
    let more = format!("\n[plugin_config]\npassword = \"${{file:{}}}\"", secret.display());
    let mut site = Site::running(&[("a.toml", text("a", "") + &more)]);
    assert_eq!(site.plan().changes, []);
    let before = Look::now(&site.config, &site.files, &site.last.referenced);
    std::fs::write(&secret, "hunter3").unwrap();

    let (after, plan) = (Look::now(&site.config, &site.files, &site.last.referenced), site.plan());

    assert_ne!(before.inside, after.inside, "the watch sees it");
    assert_eq!(actions(&plan), [("a", Action::Reload)]);
    let shown = serde_json::to_string(&plan).unwrap();
    assert!(!shown.contains("hunter"), "{shown}");
    site.take_up();
    assert_eq!(site.plan().changes, []);
}

#[test]
fn a_plan_is_named_by_what_it_leads_to_secrets_included_and_not_by_names_of_files() {
    let with = |secret: &str| text("a", "") + &format!("\n[plugin_config]\npassword = \"{secret}\"");
    let site = Site::running(&[("a.toml", with("one"))]);
    site.write("a.toml", &with("two"));
    let two = site.plan().hash;
    assert_eq!(site.plan().hash, two, "the same plan has the same name");
    site.write("a.toml", &with("three"));
    assert_ne!(site.plan().hash, two, "another secret");
    site.write("a.toml", &with("${env:SECRET}"));
    let referenced = site.plan().hash;
    site.write("a.toml", &with("hunter2"));
    assert_ne!(site.plan().hash, referenced, "a guess at a secret does not find it");
}

#[test]
fn a_definition_that_a_client_sends_reaches_no_further_than_the_files_do() {
    let held = text("a", "") + "\n[plugin_config]\npassword = \"${env:SECRET}\"\nca_file = \"/etc/ca.pem\"\n";
    let site = Site::running(&[("a.toml", held.clone())]);
    let sent = |text: String| site.load(Texts::One(text)).1;
    assert_eq!(
        actions(&sent(held.replace("libx", "liby"))),
        [("a", Action::Reload)],
        "what the file holds may stay"
    );
    for (what, code) in [
        (held.replace("${env:SECRET}", "${file:/etc/shadow}"), "config.reference_through_api"),
        (held.replace("/etc/ca.pem", "/etc/shadow"), "config.file_through_api"),
        (held.replace("libx", "/tmp/libx"), "config.file_through_api"),
        (text("new", "name = \"${env:SECRET}\""), "config.reference_through_api"),
    ] {
        let plan = sent(what);
        assert!(plan.changes.iter().any(|change| change.action == Action::Refuse), "{plan:?}");
        assert!(plan.findings.iter().any(|finding| finding["code"] == code), "{:?}", plan.findings);
        assert!(!serde_json::to_string(&plan).unwrap().contains("hunter2"));
    }
}

#[test]
fn a_folder_that_cannot_be_read_says_nothing_about_its_sources() {
    let mut site = Site::running(&[("a.toml", text("a", ""))]);
    site.config.connectors.config_dir = site.folder.path().join("gone");
    let ground = Ground {
        config: &site.config,
        env: &site.env,
        files: &site.files,
        last: &site.last,
        running: &site.running,
        check: &check,
    };
    assert!(Wanted::load(&ground, Texts::Files).is_err());
}

#[test]
fn a_link_that_is_swapped_is_seen_from_outside() {
    let site = Site::running(&[]);
    for version in ["v1", "v2"] {
        std::fs::create_dir(site.folder.path().join(version)).unwrap();
        std::fs::write(
            site.folder.path().join(version).join("a.toml"),
            text("a", &format!("name = \"{version}\"")),
        )
        .unwrap();
    }
    let link = |to: &str| {
        let (data, fresh) = (site.folder.path().join("..data"), site.folder.path().join("..tmp"));
        std::os::unix::fs::symlink(to, &fresh).unwrap();
        std::fs::rename(fresh, data).unwrap();
    };
    link("v1");
    std::os::unix::fs::symlink("..data/a.toml", site.folder.path().join("a.toml")).unwrap();
    let before = Look::now(&site.config, &site.files, &[]);
    link("v2");
    let after = Look::now(&site.config, &site.files, &[]);
    assert!(before.outside != after.outside && before.inside != after.inside);
    assert_eq!(after.outside, Look::outside(&site.config, &site.files, &[]), "nothing else moved");
}
