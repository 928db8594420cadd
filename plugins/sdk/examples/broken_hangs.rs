//! A library with a fault in its descriptor; see the macro.

picomq_connector_sdk::export_broken_source!(Hangs);
