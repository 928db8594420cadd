//! A library whose descriptor says an ABI no engine speaks.

picomq_connector_sdk::export_broken_source!(Abi(4_000_000_000));
