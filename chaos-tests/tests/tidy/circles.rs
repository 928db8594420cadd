//! Files of a crate that import each other in a circle can be read only all at once. These crates have none, so each of
//! them can be read from the bottom up.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust::{code, words};
use crate::tree::{File, Tree};

/// Where a circle is refused.
const CRATES: [&str; 14] = [
    "actors/src/",
    "chaos-tests/src/",
    "chaos-tests/state-server/src/",
    "config/src/",
    "engine/daemon/src/",
    "engine/devbroker/src/",
    "engine/record/src/",
    "engine/state/src/",
    "plugins/elasticsearch/src/",
    "plugins/http/src/",
    "plugins/influxdb/src/",
    "plugins/postgres/src/",
    "plugins/random/src/",
    "plugins/sdk/src/",
];

/// A module by its path in the crate; the crate itself has none.
type Module = Vec<String>;

/// Every circle there is, one line each.
pub(crate) fn circles(tree: &Tree) -> Vec<String> {
    CRATES.iter().flat_map(|folder| circles_in(folder, tree)).collect()
}

fn circles_in(folder: &str, tree: &Tree) -> Vec<String> {
    let product = tree.rust().filter(|file| file.path.starts_with(folder) && !is_test(&file.path));
    let files: BTreeMap<Module, &File> =
        product.map(|file| (module(&file.path[folder.len()..]), file)).collect();
    let arrows: BTreeMap<&Module, BTreeSet<Module>> =
        files.iter().map(|(module, file)| (module, imported(module, file, &files))).collect();
    let mut open: BTreeSet<&Module> = files.keys().collect();
    // What imports nothing that is still open is in no circle; what is left in the end is in one, or above one.
    while let Some(done) =
        open.iter().copied().find(|module| !arrows[module].iter().any(|to| open.contains(to)))
    {
        open.remove(done);
    }
    let Some(start) = open.first().copied() else { return Vec::new() };
    let mut way = vec![start];
    loop {
        let next = arrows[way[way.len() - 1]].iter().find_map(|to| open.get(to)).copied();
        let next = next.expect("every open module imports one that is open");
        if let Some(at) = way.iter().position(|module| *module == next) {
            let names: Vec<&str> = way[at..].iter().map(|module| files[*module].path.as_str()).collect();
            return vec![format!("{}: imports itself by way of {}", names[0], names[1..].join(", "))];
        }
        way.push(next);
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("/testing.rs")
}

fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") { Module::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// The modules whose names a file takes. What it hands on with `pub use` it does not need itself, and what is taken from
/// the crate's face is not followed.
fn imported(module: &Module, file: &File, files: &BTreeMap<Module, &File>) -> BTreeSet<Module> {
    let code = code(&file.text);
    let product = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for at in words(product, "use") {
        let is_private = product[..at].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
        let statement = product[at + 3..].split(';').next().unwrap_or_default();
        for path in paths(&statement.split_whitespace().collect::<String>()) {
            let named = absolute(module, &path, files).map(|path| deepest(path, files));
            found.extend(named.filter(|to| is_private && to != module && !to.is_empty()));
        }
    }
    found
}

/// `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, inside)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in inside.chars() {
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                parts.last_mut().expect("there is one from the start").push(letter);
            }
        }
    }
    parts.iter().flat_map(|part| paths(part)).map(|part| format!("{before}{part}")).collect()
}

/// From the crate's root; `None` for a name of another crate.
fn absolute(module: &Module, path: &str, files: &BTreeMap<Module, &File>) -> Option<Module> {
    let mut segments = path.split("::").map(str::to_owned).peekable();
    let mut base = module.clone();
    match segments.peek().map(String::as_str) {
        Some("crate") => base.clear(),
        Some("self" | "super") => {}
        Some(first) => {
            base.push(first.to_owned());
            let is_child = files.contains_key(&base);
            base.pop();
            return is_child.then(|| base.into_iter().chain(segments).collect());
        }
        None => return None,
    }
    for segment in segments {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            _ => base.push(segment),
        }
    }
    Some(base)
}

fn deepest(mut path: Module, files: &BTreeMap<Module, &File>) -> Module {
    while !files.contains_key(&path) && path.pop().is_some() {}
    path
}

#[test]
fn files_that_import_each_other_are_found() {
    let tree = Tree::planted(&[
        ("actors/src/lib.rs", "mod a; mod b; mod low; pub use a::A;"),
        ("actors/src/a.rs", "use crate::{\n    b::{B, C},\n    low::L,\n};"),
        ("actors/src/b/mod.rs", "mod deep;\nuse crate::low::L;\nuse deep::D;"),
        ("actors/src/b/deep.rs", "use super::super::a::A;"),
        ("actors/src/low.rs", "// use crate::a::A;\nuse other::a::A;"),
    ]);
    assert_eq!(
        circles(&tree),
        ["actors/src/a.rs: imports itself by way of actors/src/b/mod.rs, actors/src/b/deep.rs"]
    );
}

#[test]
fn what_is_handed_on_and_what_tests_take_closes_no_circle() {
    let tree = Tree::planted(&[
        ("config/src/lib.rs", "mod a; mod b; pub use a::A;"),
        ("config/src/a.rs", "pub use crate::b::B;"),
        ("config/src/b.rs", "use crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}"),
        ("config/src/c.rs", "use crate::b::B;"),
        ("config/src/b/tests.rs", "use crate::c::C;"),
        ("plugins/elsewhere/src/a.rs", "use crate::b::B;"),
        ("plugins/elsewhere/src/b.rs", "use crate::a::A;"),
    ]);
    assert_eq!(circles(&tree), [""; 0]);
}
