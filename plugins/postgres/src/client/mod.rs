//! Our own small client: one connection, in text format throughout, so that every value looks the same whether it comes
//! from a query or from the stream (docs/decisions say why no ready-made client).
//!
//! A connection whose call was dropped half-way is out of step: whoever may be dropped takes the connection out of its place
//! first and puts it back when the call is done.

mod auth;
mod certificate;
mod connection;
pub(crate) mod frame;
mod open;
mod query;
mod socket;
mod tls;
mod window;

pub(crate) use connection::Connection;
pub(crate) use open::Purpose;
pub(crate) use query::Table;
