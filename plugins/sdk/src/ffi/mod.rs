//! The border between engine and plugin, and the only place with unsafe code.

#![allow(unsafe_code)]

pub mod abi;
