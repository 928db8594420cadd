//! The house rules that a machine can check, one module a rule. Each rule is a function from the text of the repository
//! to what is wrong with it, and has a test of its own that plants a violation.
//!
//! Not here: what rustfmt and clippy check (`clippy.toml` holds the length of functions; [`size`] only sees that it
//! does).

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a tree that cannot be read is a failed test")]

mod borders;
mod cases;
mod circles;
mod dependencies;
mod links;
mod logs;
mod markers;
mod metrics;
mod mutants;
mod opening;
mod portable;
mod prints;
mod rust;
mod size;
mod targets;
mod tree;
mod unsafety;

use tree::Tree;

/// Fails with everything that is wrong, so that one run is enough to mend it all.
fn assert_tidy(findings: Vec<String>) {
    assert!(findings.is_empty(), "{} found:\n  {}\n", findings.len(), findings.join("\n  "));
}

#[test]
fn crates_know_only_whom_they_may() {
    assert_tidy(borders::strangers(&borders::packages()));
}

#[test]
fn files_import_each_other_in_one_direction() {
    assert_tidy(circles::circles(&Tree::read()));
}

#[test]
fn no_default_feature_holds_fail_points() {
    assert_tidy(borders::armed(&borders::packages()));
}

#[test]
fn make_test_runs_every_test_target() {
    assert_tidy(targets::forgotten(&Tree::read(), &borders::packages()));
}

#[test]
fn files_are_short_and_the_length_of_functions_is_linted() {
    let tree = Tree::read();
    assert_tidy([size::long_files(&tree), size::lax_lints(&tree)].concat());
}

#[test]
fn unsafe_code_stands_in_its_two_places_only() {
    assert_tidy(unsafety::outside(&Tree::read()));
}

#[test]
fn no_marker_is_left_over() {
    assert_tidy(markers::left_over(&Tree::read()));
}

#[test]
fn libraries_do_not_print() {
    assert_tidy(prints::printing(&Tree::read()));
}

#[test]
fn log_messages_are_fixed_texts() {
    assert_tidy(logs::formatted(&Tree::read()));
}

#[test]
fn modules_say_what_they_are_for_and_files_are_named_after_it() {
    let tree = Tree::read();
    assert_tidy([opening::silent_modules(&tree), opening::vague_names(&tree)].concat());
}

#[test]
fn nothing_is_tied_to_one_machine() {
    assert_tidy(portable::tied(&Tree::read()));
}

#[test]
fn links_files_and_tests_named_in_the_docs_exist() {
    let tree = Tree::read();
    assert_tidy([links::broken(&tree), links::absent_files(&tree), links::absent_tests(&tree)].concat());
}

#[test]
fn the_list_of_cases_and_the_tests_agree() {
    assert_tidy(cases::disagreements(&Tree::read()));
}

#[test]
fn every_mutant_names_the_test_that_kills_it() {
    assert_tidy(mutants::unnamed(&Tree::read()));
}

#[test]
fn every_mutant_fits_the_code() {
    assert_tidy(mutants::astray(&Tree::read()));
}

#[test]
fn every_metric_is_in_the_docs() {
    assert_tidy(metrics::unlisted(&Tree::read()));
}

#[test]
fn every_dependency_has_its_sentence() {
    assert_tidy(dependencies::unexplained(&Tree::read()));
}
