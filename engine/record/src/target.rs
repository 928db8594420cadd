//! Paths of fields made ready for looking up and for writing.

use pico_config::FieldPath;

/// A path into a document.
#[derive(Debug)]
pub(crate) struct Target {
    /// At least one.
    pub(crate) segments: Box<[Segment]>,
}

/// One step of a path.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) name: Box<str>,
    /// As a JSON string.
    pub(crate) spelling: Box<str>,
    /// The element it names in an array.
    pub(crate) index: Option<usize>,
}

/// Paths that are kept, as a tree of segments.
#[derive(Debug, Default)]
pub(crate) struct KeepTree {
    /// Everything below stays.
    pub(crate) is_whole: bool,
    children: Vec<(Segment, KeepTree)>,
}

/// The element of an array that a segment names; `01` and `+1` name none.
pub(crate) fn index_of(segment: &str) -> Option<usize> {
    let is_canonical = segment == "0" || !segment.starts_with(['0', '+']);
    if is_canonical { segment.parse().ok() } else { None }
}

impl Segment {
    fn new(name: &str) -> Segment {
        let spelling = serde_json::to_string(name).expect("a text has a spelling");
        Segment { name: name.into(), spelling: spelling.into(), index: index_of(name) }
    }
}

impl Target {
    pub(crate) fn new(path: &FieldPath) -> Target {
        Target::of(path.segments())
    }

    /// At least one segment.
    pub(crate) fn of(segments: &[String]) -> Target {
        Target { segments: segments.iter().map(|name| Segment::new(name)).collect() }
    }

    /// Whether both name members of the same object.
    pub(crate) fn is_sibling_of(&self, other: &Target) -> bool {
        let parents = |target: &Target| target.segments.len() - 1;
        let names = |target: &Target| {
            target.segments[..parents(target)].iter().map(|segment| segment.name.clone()).collect::<Vec<_>>()
        };
        parents(self) == parents(other) && names(self) == names(other)
    }
}

/// As it was written.
impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, segment) in self.segments.iter().enumerate() {
            if number > 0 {
                out.write_str(".")?;
            }
            out.write_str(&segment.name)?;
        }
        Ok(())
    }
}

impl KeepTree {
    pub(crate) fn new(paths: &[FieldPath]) -> KeepTree {
        let mut tree = KeepTree::default();
        for path in paths {
            tree.add(path.segments());
        }
        tree
    }

    fn add(&mut self, path: &[String]) {
        let Some((name, rest)) = path.split_first() else {
            self.is_whole = true;
            return;
        };
        let known = self.children.iter().position(|(segment, _)| *segment.name == **name);
        let position = known.unwrap_or(self.children.len());
        if known.is_none() {
            self.children.push((Segment::new(name), KeepTree::default()));
        }
        self.children[position].1.add(rest);
    }

    /// What is kept of a member of this name, or of the element at this index.
    pub(crate) fn child(&self, name: &[u8], index: Option<usize>) -> Option<&KeepTree> {
        let is_it = |segment: &Segment| match index {
            Some(_) => segment.index == index,
            None => segment.name.as_bytes() == name,
        };
        self.children.iter().find(|(segment, _)| is_it(segment)).map(|(_, tree)| tree)
    }
}
