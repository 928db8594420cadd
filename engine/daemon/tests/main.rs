//! The real binary, from the outside: what it prints, what it answers, what it ends with. Without plugins and without
//! a broker; the stories that need those are in chaos-tests.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "all of this is test code, the support too")]

mod access;
mod check;
mod docs;
mod dry_run;
mod hanging;
mod reload;
mod run;
mod service_manager;
mod state_server;
mod state_verb;
mod status;
mod support;
mod tests_verb;
mod verbs;
mod versions;
