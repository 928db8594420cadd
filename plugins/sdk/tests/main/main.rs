//! What the SDK gives to plugin authors, seen from outside. The border has a target of its own, `border`.

mod batch;
mod conformance;
mod staged;
mod toy;
