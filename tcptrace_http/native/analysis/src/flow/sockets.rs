//! What a connection shows of its server's sockets: how large a buffer is that it has filled, and whether what is short is
//! held. Others of its host are alike.

use super::Flow;
use crate::used_window::Sockets;

impl Flow {
    #[must_use]
    pub fn sockets(&self) -> Sockets {
        let waits = self.waits.as_deref();
        waits.map_or_else(Sockets::default, |waits| waits.sockets())
    }
}
