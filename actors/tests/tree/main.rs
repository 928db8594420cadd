//! The whole tree on paused time, with ports in memory whose faults are queued before the run.

mod commands;
mod delivery;
mod errors;
mod failures;
mod looking;
mod reload;
mod world;
