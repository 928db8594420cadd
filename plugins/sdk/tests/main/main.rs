//! What the SDK gives to plugin authors, seen from outside. The border has a target of its own, `border`.

mod batch;
mod conformance;
mod guide;
mod lines;
mod staged;
#[expect(unreachable_pub, reason = "the template is a library of its own")]
#[path = "../../examples/lines.rs"]
mod template;
mod toy;
