//! An ACK of the client, on whichever connection, and whose data it lets go.

/// Whose ACK let data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    Own,
    Other,
    None,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) time_ns: i64,
    pub(super) client_port: u16,
    /// It acknowledged something new.
    pub(super) is_new: bool,
    /// It is of data, as new as that may be: a duplicate one lets data go, too (RFC 5681, section 3.2).
    pub(super) is_of_data: bool,
    /// It is the first of all that was sent again on its connection.
    pub(super) ends_repair: bool,
    /// ... and of all that had been sent when ACKs told of a loss: the window becomes the threshold.
    pub(super) ends_recovery: bool,
    /// What had been acknowledged then of all connections.
    pub(super) acked: i64,
    /// When the newest data of its connection came.
    pub(super) of_ns: i64,
}

impl Ack {
    /// Whose ACK it is to data of a connection that it let go.
    pub(super) fn lets_go(&self, client_port: u16) -> Release {
        if self.client_port == client_port {
            Release::Own
        } else {
            Release::Other
        }
    }
}

#[cfg(test)]
impl Ack {
    /// One of new data, by which so much of all connections was acknowledged.
    pub(super) fn of_data(time_ns: i64, client_port: u16, acked: i64) -> Ack {
        Ack {
            time_ns,
            client_port,
            is_new: true,
            is_of_data: true,
            ends_repair: false,
            ends_recovery: false,
            acked,
            of_ns: 0,
        }
    }
}
