//! The codecs against implementations nobody here wrote: fastavro, Google's protobuf for Python with protoc, and flatc
//! with FlatBuffers for Python. One that is not installed is a failure. Random data; the seed is printed and taken back
//! from `SEED`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod avro;
mod flatbuffer;
#[path = "../../../../chaos-tests/services/python.rs"]
mod interpreter;
mod programs;
mod proto;
