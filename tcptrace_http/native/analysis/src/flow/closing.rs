//! Close of a connection.

use trace_model::rows::ClosedBy;
use trace_model::Mark;

/// Captured FIN or RST.
#[derive(Clone, Copy, Debug)]
pub struct Close {
    pub mark: Mark,
    pub by_client: bool,
    pub is_reset: bool,
    /// Bytes of the client that the server has acknowledged up to and including this segment.
    pub client_acked: u64,
}

/// First FIN of each side and first RST.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closing {
    pub by: ClosedBy,
    pub first: Option<Close>,
    pub client: Option<Close>,
    pub server: Option<Close>,
    pub reset: Option<Close>,
    /// Time of the RST that ended the flow.
    pub(super) reset_ns: i64,
}

impl Closing {
    pub fn note(&mut self, close: Close) {
        self.first.get_or_insert(close);
        if close.by_client {
            self.client.get_or_insert(close);
        } else {
            self.server.get_or_insert(close);
        }
        if close.is_reset {
            self.reset.get_or_insert(close);
        }
    }
}
