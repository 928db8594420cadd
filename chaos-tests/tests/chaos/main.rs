//! The stories: the real binary against a real Kafka, one module a story. An absent Kafka is a failure.
//!
//! Each prints its seed (`CHAOS_SEED`) and takes it back. What they do not prove: anything about a power loss of the
//! machine, a cluster of several brokers, or a network between two machines.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a story that cannot go on panics")]

mod api;
mod broker;
mod check;
mod dead_letters;
mod debezium;
mod debezium_envelope;
mod debezium_moves;
mod debezium_writer;
mod elasticsearch_kills;
mod harness;
mod influxdb_example;
mod influxdb_kills;
mod kills;
mod nacks;
mod network;
mod plugin;
mod postgres_kills;
mod postgres_snapshot_kills;
mod process;
mod readme;
mod refused;
mod reload;
mod rights;
mod stage;
mod state;
mod state_server;
mod state_verb;
mod stop;
mod topics;
mod upstream;
mod webhook_kills;
