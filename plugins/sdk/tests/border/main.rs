//! The border with real libraries on the other side: the examples of this crate are built as plugins and loaded.

mod calls;
mod hangs;
mod interrupts;
mod limits;
mod loading;
mod memory;
mod openings;
mod panics;
mod records;
mod reopening;
mod said;
mod support;
mod threads;
