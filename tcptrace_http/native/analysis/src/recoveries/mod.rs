//! Recoveries: losses and how they were repaired, reordering, and closed windows.
//!
//! Theory of operation. A sender shows why it sends something again only by when it does so: at once
//! after an ACK (duplicate ACKs or SACKs told it), or after a silence in which it heard nothing (a
//! timer told it). The silence is counted at the sender: the path from the observation point to it and
//! back is taken off. That holds wherever the capture was taken, so one rule ([`kind`]) serves both
//! views: near the sender the lost data came by and is seen again; near the receiver it left a hole,
//! or, at the end of a flight, nothing but a silence. Then the sender's numbering of its IPv4 packets
//! tells: Linux counts them up by one on each connection.
//!
//! What was sent again in one recovery (up to the highest number sent when it began; RFC 6582, section
//! 3.2) is one [`Episode`]. A tracker is made for a flow when something is wrong for the first time: a
//! clean flow has none.

mod episode;
mod hole;
mod kind;
mod known;
mod open_holes;
#[cfg(test)]
mod probe_tests;
mod row;
mod tracker;
mod window;

use tcptrace_tcp::{Class, Side};
use trace_model::rows::{Direction, RecoveriesTable};
use trace_model::Segment;

pub use self::episode::Span;
pub use self::known::{Known, Sent};
pub use trace_model::rows::RecoveryKind;

use self::tracker::Tracker;
use crate::bounded::Bounded;

/// An ACK, before it moves the state of the data's direction on.
#[derive(Clone, Copy)]
pub struct Heard<'a> {
    pub frame: u64,
    pub time_ns: i64,
    pub ack: i64,
    /// Scaled; none on SYN, FIN and RST, whose windows close nothing.
    pub window: Option<u32>,
    pub segment: &'a Segment<'a>,
    pub class: Class,
    /// Least round trip from the observation point to who has acknowledged.
    pub receiver_path_ns: Option<i64>,
}

/// The recoveries of one flow, by who has sent the data.
#[derive(Debug, Default)]
pub struct Recoveries {
    first: Tracker,
    second: Tracker,
}

impl Recoveries {
    fn of(&mut self, sender: Side) -> &mut Tracker {
        match sender {
            Side::First => &mut self.first,
            Side::Second => &mut self.second,
        }
    }

    /// `sender` sent a segment. The kind of the recovery that it is part of: what held it up until now.
    pub fn sent(&mut self, sender: Side, sent: &Sent, known: &Known) -> Option<RecoveryKind> {
        self.of(sender).sent(sent, known)
    }

    /// Whether `sender` recovers or probes, or its peer has closed its window and nothing new followed yet.
    #[must_use]
    pub fn goes_on(&self, sender: Side) -> bool {
        match sender {
            Side::First => self.first.goes_on(),
            Side::Second => self.second.goes_on(),
        }
    }

    /// The data of `sender` was acknowledged, or its peer's window changed. Whether that showed something.
    pub fn heard(&mut self, sender: Side, heard: &Heard<'_>) -> bool {
        self.of(sender).heard(heard)
    }

    /// The transaction of what `sender` sent in this span is known now.
    pub fn place(&mut self, sender: Side, span: Span) {
        self.of(sender).place(span);
    }

    /// Offset of what of `sender` is newest here, if its transaction is not known.
    pub fn unplaced(&mut self, sender: Side) -> Option<i64> {
        self.of(sender).unplaced()
    }

    /// Writes what is over for long; all of it at the end of the flow. Of a flow that is no HTTP only
    /// its SYNs.
    pub fn write(&mut self, to: &mut Rows<'_>, now_ns: i64, all: bool) {
        for side in [Side::First, Side::Second] {
            let direction = to.direction_of(side);
            let (flow, has_messages) = (to.flow, to.has_messages);
            for episode in self.of(side).taken(all, now_ns) {
                let mut row = episode.into_row(to.rtt_ns);
                row.flow = flow;
                row.direction = direction;
                if has_messages || row.kind == RecoveryKind::SynRetransmission {
                    to.rows.push(&row);
                }
            }
        }
    }

    /// Memory that what is remembered takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.first
            .held_bytes()
            .saturating_add(self.second.held_bytes())
    }
}

/// Where the rows of a flow go.
pub struct Rows<'a> {
    pub flow: u32,
    pub has_messages: bool,
    pub client: Side,
    /// Round trip of the path, as far as it is known by now.
    pub rtt_ns: Option<i64>,
    pub rows: &'a mut Bounded<RecoveriesTable>,
}

impl Rows<'_> {
    fn direction_of(&self, side: Side) -> Direction {
        if side == self.client {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        }
    }
}
