//! Scripts that play exchanges to a connection, for tests.
use trace_model::AnomalyKind;

use super::{Connection, Direction, End, Mark, Message, Output, Transaction};

pub(super) const CLIENT: Direction = Direction::ClientToServer;
pub(super) const SERVER: Direction = Direction::ServerToClient;

/// A flow in which every call is one segment that acknowledges all earlier bytes.
pub(super) struct Script {
    pub(super) connection: Connection,
    pub(super) out: Output,
    pub(super) frame: u64,
    next: [u64; 2],
    /// True to deliver every byte as its own segment, with the frame number of the whole segment.
    pub(super) byte_by_byte: bool,
}

impl Script {
    pub(super) fn new() -> Self {
        Script {
            connection: Connection::new(),
            out: Output::default(),
            frame: 0,
            next: [0, 0],
            byte_by_byte: false,
        }
    }

    pub(super) fn client(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        let acked = self.next[1];
        self.segment(CLIENT, text.as_ref(), Some(acked))
    }

    pub(super) fn server(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        let acked = self.next[0];
        self.segment(SERVER, text.as_ref(), Some(acked))
    }

    pub(super) fn segment(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        acked: Option<u64>,
    ) -> &mut Self {
        self.frame += 1;
        let mark = self.mark();
        let pieces = if self.byte_by_byte {
            1
        } else {
            bytes.len().max(1)
        };
        for piece in bytes.chunks(pieces) {
            let next = &mut self.next[direction as usize];
            self.connection
                .data(direction, *next, piece, mark, acked, &mut self.out);
            *next += piece.len() as u64;
        }
        self
    }

    pub(super) fn lose(&mut self, direction: Direction, length: u64) -> &mut Self {
        let mark = self.mark();
        let next = &mut self.next[direction as usize];
        self.connection
            .gap(direction, *next, length, mark, &mut self.out);
        *next += length;
        self
    }

    pub(super) fn end(&mut self, direction: Direction, end: End) -> &mut Self {
        self.frame += 1;
        let mark = self.mark();
        self.connection.end(direction, end, mark, &mut self.out);
        self
    }

    pub(super) fn close(&mut self) -> &mut Self {
        self.end(SERVER, End::Fin).end(CLIENT, End::Fin)
    }

    fn mark(&self) -> Mark {
        Mark {
            frame: self.frame,
            time_ns: self.frame as i64 * 1_000_000,
        }
    }

    /// Return the transactions in short form: `GET /a 200`. `-` stands for an absent message, and `*` follows
    /// an incomplete one.
    pub(super) fn pairs(&self) -> Vec<String> {
        self.out.transactions.iter().map(short).collect()
    }

    pub(super) fn anomalies(&self) -> Vec<AnomalyKind> {
        self.out
            .anomalies
            .iter()
            .map(|anomaly| anomaly.kind)
            .collect()
    }

    pub(super) fn request(&self, index: usize) -> &Message {
        self.out.transactions[index]
            .request
            .as_ref()
            .expect("a request")
    }

    pub(super) fn response(&self, index: usize) -> &Message {
        self.out.transactions[index]
            .response
            .as_ref()
            .expect("a response")
    }
}

fn short(transaction: &Transaction) -> String {
    let star = |message: &Message| if message.complete { "" } else { "*" };
    let request = transaction.request.as_ref().map_or("-".to_string(), |it| {
        format!(
            "{} {}{}",
            it.method.as_deref().unwrap(),
            it.target.as_deref().unwrap(),
            star(it)
        )
    });
    let response = transaction.response.as_ref().map_or("-".to_string(), |it| {
        format!("{}{}", it.status.unwrap(), star(it))
    });
    format!("{request} {response}")
}
