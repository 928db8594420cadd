//! From `path` to a library.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use pico_config::{Finding, Plugins, find_plugin};
use tempfile::TempDir;

struct Given {
    root: TempDir,
    plugins: Plugins,
    exe_dir: PathBuf,
}

impl Given {
    /// `plugins/` holds the library `NAME`, `bin/` and `else/` are empty.
    fn library(name: &str) -> Given {
        let root = tempfile::tempdir().unwrap();
        for folder in ["plugins", "plugins/sub", "bin", "else"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("plugins").join(name), "").unwrap();
        let plugins = Plugins { directories: vec![root.path().join("plugins")] };
        let exe_dir = root.path().join("bin");
        Given { root, plugins, exe_dir }
    }

    fn find(&self, path: &str) -> Result<PathBuf, Box<Finding>> {
        find_plugin(path, &self.plugins, &self.exe_dir)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path).canonicalize().unwrap()
    }
}

fn file_name(core: &str) -> String {
    format!("{DLL_PREFIX}{core}{DLL_SUFFIX}")
}

#[test]
fn prefix_and_suffix_are_added_where_they_are_missing_and_not_doubled() {
    let name = file_name("a_connector");
    let given = Given::library(&name);
    let expected = given.at(&format!("plugins/{name}"));
    let dll = |core: &str| format!("{core}{DLL_SUFFIX}");
    for path in ["a_connector", &format!("{DLL_PREFIX}a_connector"), &dll("a_connector"), &name] {
        assert_eq!(given.find(path).unwrap(), expected, "{path}");
    }
}

#[test]
fn folders_are_searched_in_their_order() {
    let name = file_name("a");
    let given = Given::library(&name);
    std::fs::write(given.exe_dir.join(&name), "").unwrap();
    assert_eq!(given.find("a").unwrap(), given.at(&format!("plugins/{name}")));
    std::fs::remove_file(given.root.path().join("plugins").join(&name)).unwrap();
    assert_eq!(given.find("a").unwrap(), given.at(&format!("bin/{name}")));
}

#[test]
fn a_path_inside_a_folder_is_found_absolute_and_relative() {
    let name = file_name("a");
    let given = Given::library(&name);
    std::fs::write(given.root.path().join("plugins/sub").join(&name), "").unwrap();
    let inside = given.at(&format!("plugins/sub/{name}"));
    assert_eq!(given.find(inside.to_str().unwrap()).unwrap(), inside);
    assert_eq!(given.find(&format!("sub/{name}")).unwrap(), inside);
    let bare = inside.to_str().unwrap().strip_suffix(DLL_SUFFIX).unwrap();
    assert_eq!(given.find(bare).unwrap(), inside);
}

#[test]
fn a_path_outside_the_folders_is_refused_by_every_way_there() {
    let name = file_name("a");
    let given = Given::library(&name);
    let outside = given.root.path().join("else").join(&name);
    std::fs::write(&outside, "").unwrap();
    std::os::unix::fs::symlink(&outside, given.root.path().join("plugins/link.so")).unwrap();
    std::os::unix::fs::symlink(given.root.path().join("else"), given.root.path().join("plugins/folder"))
        .unwrap();

    let code = |path: &str| given.find(path).unwrap_err().code;
    assert_eq!(code(outside.to_str().unwrap()), "plugin.outside");
    assert_eq!(code("link.so"), "plugin.outside");
    assert_eq!(code(&format!("folder/{name}")), "plugin.outside");
    assert_eq!(code(&format!("../else/{name}")), "plugin.bad_path");
    assert_eq!(
        code(&format!("{}/../else/{name}", given.plugins.directories[0].display())),
        "plugin.bad_path"
    );
    assert_eq!(code(""), "plugin.bad_path");
    assert_eq!(code("a\0b"), "plugin.bad_path");
}

#[test]
fn a_link_inside_the_folders_is_followed() {
    let name = file_name("a");
    let given = Given::library(&name);
    let link = given.root.path().join("plugins").join(file_name("b"));
    std::os::unix::fs::symlink(given.at(&format!("plugins/{name}")), link).unwrap();
    assert_eq!(given.find("b").unwrap(), given.at(&format!("plugins/{name}")));
}

#[test]
fn a_missing_library_tells_where_it_was_looked_for_and_what_is_there() {
    let given = Given::library(&file_name("picomq_connector_random_source"));
    let finding = given.find("libpicomq_connector_randon_source").unwrap_err();
    assert_eq!(finding.code, "plugin.not_found");
    for part in
        [given.plugins.directories[0].to_str().unwrap(), given.exe_dir.to_str().unwrap(), "/usr/local/lib"]
    {
        assert!(finding.reason.contains(part), "{finding}");
    }
    assert!(finding.reason.contains("found instead: "), "{finding}");
    let hint = format!("did you mean `{}`?", file_name("picomq_connector_random_source"));
    assert_eq!(finding.hint.as_deref(), Some(hint.as_str()));
    let far = find_plugin("zzz", &Plugins::default(), Path::new("/no/such")).unwrap_err();
    assert!(far.hint.unwrap().contains("[plugins] directories"));
}

#[test]
fn a_folder_is_no_library() {
    let given = Given::library("x");
    std::fs::create_dir(given.root.path().join("plugins").join(file_name("d"))).unwrap();
    assert_eq!(given.find("d").unwrap_err().code, "plugin.not_found");
}
