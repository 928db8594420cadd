//! The InfluxDB source: points behind a cursor that is exact to the nanosecond, by InfluxQL, Flux or SQL.
//!
//! `docs/sources/influxdb.md` is for users. The parts that decide are pure: [`query`], [`answer`], [`selection`],
//! [`window`], [`position`], [`plan`] and [`cycle`]; the rest asks and waits.

#![forbid(unsafe_code)]

mod answer;
mod breaker;
mod client;
mod config;
mod cycle;
mod doctor;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod layout;
mod mark;
mod plan;
mod position;
mod query;
mod reader;
mod render;
mod selection;
mod settings;
mod sign;
mod source;
mod time;
mod window;
mod words;

pub use config::InfluxConfig;
pub use source::InfluxSource;

picomq_connector_sdk::export_source!(InfluxSource);
