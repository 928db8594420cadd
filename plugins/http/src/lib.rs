//! The HTTP source: webhooks as records.
//!
//! It is a server. A post is answered 2xx when it is in its topics, or when it is synced to disk, and never before.
//! `docs/sources/http.md` is the manual. The parts that decide are pure: [`auth`], [`admission`], [`replays`], [`body`],
//! [`post`] and [`spool::segment`]; the rest moves bytes.

#![forbid(unsafe_code)]

pub mod admission;
mod answer;
pub mod auth;
pub mod body;
mod config;
mod desk;
mod doctor;
mod endpoints;
mod filling;
mod gate;
mod key;
mod listener;
mod position;
pub mod post;
mod receive;
pub mod replays;
mod secret;
mod settings;
mod source;
pub mod spool;

pub use config::{Ack, EndpointConfig, HttpConfig, TlsConfig};
pub use secret::Secret;
pub use source::HttpSource;

picomq_connector_sdk::export_source!(HttpSource);
