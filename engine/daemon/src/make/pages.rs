//! Pages for `man`, out of the command line itself.

use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use crate::cli;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};

/// Prints the page of the program, or writes all pages into a folder.
pub(super) fn run(dir: Option<&Path>) -> Result<Exit, Error> {
    let Some(dir) = dir else {
        output::write(Stream::Stdout, &page(&built())?);
        return Ok(Exit::Ok);
    };
    let failed = |cause: std::io::Error| {
        Error::environment("man.not_written", format!("{} cannot be written to", dir.display()))
            .with_hint("name a folder that you may write to with --dir")
            .because(cause)
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    for (name, text) in pages(&built())? {
        std::fs::write(dir.join(format!("{name}.1")), text).map_err(failed)?;
    }
    output::write(Stream::Stdout, &format!("{}\n", dir.display()));
    Ok(Exit::Ok)
}

/// One page for a command and one for each below it: `git`-like names with dashes.
fn pages(command: &Command) -> Result<Vec<(String, String)>, Error> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let mut all = vec![(name.to_owned(), page(command)?)];
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        all.extend(pages(below)?);
    }
    Ok(all)
}

/// With the whole name at every verb.
fn built() -> Command {
    let mut command = cli::command();
    command.build();
    command
}

fn page(command: &Command) -> Result<String, Error> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text).map_err(|cause| {
        Error::runtime("man.not_rendered", "the page cannot be put together").because(cause)
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_page_with_its_name() {
        let all = pages(&built()).unwrap();
        for name in ["pico-connectors", "pico-connectors-run", "pico-connectors-new-source"] {
            let page = all.iter().find(|(found, _)| found == name).map(|(_, text)| text);
            assert!(page.is_some_and(|text| text.contains(".TH")), "{name}");
        }
        assert_eq!(
            all.len(),
            all.iter().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>().len()
        );
    }
}
