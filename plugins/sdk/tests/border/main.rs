//! The border with a real library on the other side: the examples of this crate are built as plugins and loaded.

mod lifecycle;
mod support;
