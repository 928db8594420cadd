//! A source that fails on purpose, for the chaos tests. It is pipelined, its records are JSON.
//!
//! ```toml
//! [plugin_config]
//! mode = "script"            # counts upwards and follows a script
//! interval = "10ms"          # sleep before each batch
//! records = 10               # records a batch
//! user_pool = 4              # "user_id" is user-(sequence mod user_pool)
//! key_by_user = false        # record key = user_id
//! max_count = 1000           # stop after so many; without it never
//! steps = [                  # the first step that fits a call is done
//!   { call = "poll", at = 3, do = "panic" },
//!   { call = "poll", from = 5, do = { sleep = "2s" } },
//!   { call = "verdict", at = 2, once = "/tmp/marker", do = "abort" },
//! ]
//! poison = [                 # what a record at a position is instead of a good one
//!   { sequence = 57, with = "not_json" },
//!   { sequence = 90, with = { bytes = 2000000 }, once = "/tmp/other" },
//! ]
//! ```
//!
//! A step names a `call` (`open`, `poll`, `verdict`, `ack`, `nack`, `close`, `drop`) and its number, counted from 1 in each
//! instance: `at` that one, `from` that one and all later, neither: every one. With `once` it is done only while that
//! file does not exist, and creates it first: once, whatever dies. What can be done:
//!
//! | `do` | |
//! |---|---|
//! | `"panic"` `"abort"` | the call panics; the process aborts |
//! | `"hang"` `"block"` | never ready, but may be dropped; the thread is blocked for ever |
//! | `{ sleep = "2s" }` | late, deaf to the interrupt |
//! | `"transient"` `"permanent"` `"config"` `"state"` | the call answers that error |
//! | `"empty"` `"watermark"` `"no_state"` | the poll returns nothing; a state alone; records without a state |
//! | `{ records = 5 }` | the batch has so many, whatever the limits say |
//! | `"wrong_schema"` | the batch says `proto` |
//!
//! A poisoned record is `"not_json"`, `"not_utf8"`, `"unroutable"` (has no `user_id`), `"tombstone"`, or
//! `{ bytes = n }` long.
//!
//! ```toml
//! [plugin_config]
//! mode = "destructive"       # a folder of files, one a record, in the order of their names
//! folder = "/tmp/inbox"      # a file is deleted on Ack and never before
//! interval = "10ms"
//! records = 10
//! user_pool = 4
//! ```
//!
//! The record of a file is `{"name", "text"}`, for a name that is a number `sequence` and `user_id` too; its id is the
//! name. The state holds the last name and the deletions owed; `open` does what is owed.
//!
//! ```toml
//! [plugin_config]
//! mode = "per_key"           # numbers each key separately, from 0
//! keys = 8                   # key-0 to key-7, also the record key
//! interval = "10ms"
//! records = 10
//! max_count = 1000
//! ```
//!
//! The example `wrong_abi` of this package is a library whose descriptor says another ABI.

#![forbid(unsafe_code)]

mod config;
mod destructive;
mod per_key;
mod script;
mod source;

pub use config::FaultyConfig;
pub use source::FaultySource;

picomq_connector_sdk::export_source!(FaultySource);
