//! By raw protocol: stories, one module each.

mod admin;
mod consuming;
mod faults;
mod groups;
mod limits;
mod producing;
mod restart;
mod versions;
mod wire;
