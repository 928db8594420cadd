//! From `.proto` files or a descriptor set to the descriptor of one message. Files come as text: nothing is opened here.

use std::collections::BTreeMap;

use prost_reflect::{DescriptorPool, MessageDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::codec::trouble::chain;

/// Files by the names under which they are imported.
struct Given(BTreeMap<String, String>);

impl FileResolver for Given {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.get(name) {
            Some(text) => File::from_source(name, text),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// Compiles `root`, which imports others of `files` and those that come with protobuf itself.
pub(super) fn of_files(
    root: &str,
    files: &BTreeMap<String, String>,
    message: Option<&str>,
) -> Result<MessageDescriptor, String> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Given(files.clone()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    // The Debug form of this error is the one with file, line and column.
    compiler.include_imports(true).open_file(root).map_err(|error| format!("{error:?}"))?;
    find(&compiler.descriptor_pool(), Some(root), message)
}

/// Reads what `protoc --include_imports --descriptor_set_out` wrote.
pub(crate) fn of_descriptor_set(bytes: &[u8], message: Option<&str>) -> Result<MessageDescriptor, String> {
    let pool = DescriptorPool::decode(bytes).map_err(|error| {
        let reason = chain(&error);
        format!("it is no whole descriptor set (protoc --include_imports --descriptor_set_out): {reason}")
    })?;
    find(&pool, None, message)
}

/// The message of this full name, or of this name in the root's package; without a name the only one there is.
fn find(
    pool: &DescriptorPool,
    root: Option<&str>,
    message: Option<&str>,
) -> Result<MessageDescriptor, String> {
    let is_of_root = |found: &MessageDescriptor| root.is_none_or(|root| found.parent_file().name() == root);
    let top: Vec<MessageDescriptor> = pool
        .all_messages()
        .filter(|found| found.parent_message().is_none() && is_of_root(found))
        .filter(|found| root.is_some() || !found.full_name().starts_with("google.protobuf."))
        .collect();
    let names = || {
        let names: Vec<&str> = top.iter().take(10).map(MessageDescriptor::full_name).collect();
        if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
    };
    let Some(name) = message else {
        return match &top[..] {
            [only] => Ok(only.clone()),
            [] | [_, _, ..] => Err(format!("say which message is meant with proto_message: {}", names())),
        };
    };
    let name = name.trim_start_matches('.');
    let in_package = |found: &MessageDescriptor| found.package_name().is_empty() || is_in(found, name);
    let found = pool.get_message_by_name(name).or_else(|| {
        let matches =
            |found: &MessageDescriptor| is_of_root(found) && in_package(found) && relative(found) == name;
        pool.all_messages().find(matches)
    });
    found.ok_or_else(|| format!("it has no message {name:?}; {}", names()))
}

fn is_in(found: &MessageDescriptor, name: &str) -> bool {
    found.full_name().ends_with(name)
}

/// The name without its package.
fn relative(message: &MessageDescriptor) -> &str {
    let full = message.full_name();
    full.strip_prefix(message.package_name()).map_or(full, |rest| rest.trim_start_matches('.'))
}
