//! What a flow carries, as far as it is known.

use tcptrace_http_messages::Connection;

#[derive(Debug, Default)]
pub struct Carried {
    pub is_http: bool,
    /// No HTTP was found, or the flow is over: payload is not looked at any more.
    pub(super) is_opaque: bool,
    pub(super) http: Option<Box<Connection>>,
}
