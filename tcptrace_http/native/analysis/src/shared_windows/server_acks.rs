//! When the server acknowledged data of the client, and on which connection.

use std::collections::VecDeque;

/// ACKs of a round trip, of all connections of a pair.
const ANSWERS_MAX: usize = 256;

/// What the server has acknowledged of the client's.
#[derive(Debug, Default)]
pub(super) struct ServerAcks {
    /// When, and on which connection.
    answers: VecDeque<(i64, u16)>,
    /// The client's newest data, at the server.
    pub(super) newest: Option<NewestData>,
}

/// When data of the client came, on which connection, and whether an ACK has let it go.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewestData {
    pub(super) time_ns: i64,
    pub(super) client_port: u16,
    pub(super) is_let_go: bool,
}

impl ServerAcks {
    pub(super) fn acknowledges(&mut self, time_ns: i64, client_port: u16) {
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.pop_front();
        }
        self.answers.push_back((time_ns, client_port));
    }

    /// Whether something of another connection was acknowledged between these times.
    pub(super) fn has_answered_other(
        &self,
        client_port: u16,
        (from_ns, until_ns): (i64, i64),
    ) -> bool {
        let late = self.answers.iter().rev().skip_while(|it| it.0 > until_ns);
        let mut then = late.take_while(|it| it.0 >= from_ns);
        then.any(|it| it.1 != client_port)
    }
}
