//! Recoveries: losses and their repair, reordering, and closed windows.
//!
//! Theory of operation. Only the time of a retransmission shows its cause. Duplicate ACKs or SACKs caused a
//! retransmission directly after an ACK. A timer caused a retransmission after a silence. The silence is
//! measured at the sender: the round trip from the capture point to the sender is subtracted. One rule
//! ([`kind`]) therefore serves both capture points. Near the sender, the lost data passes and passes again.
//! Near the receiver, the lost data leaves a hole, or only a silence at the end of a flight. There the
//! sender's IPv4 numbering shows the loss: Linux increments the number per packet of a connection.
//!
//! An [`Episode`] holds the retransmissions of one recovery. A recovery covers the numbers sent before its start (RFC
//! 6582, section 3.2). A flow gets a tracker at its first loss. A clean flow has none.

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
pub use self::known::{KnownState, SentSegment};
pub use trace_model::rows::RecoveryKind;

use self::tracker::Tracker;
use crate::bounded::BoundedTable;

/// ACK, before it advances the state of the data's direction.
#[derive(Clone, Copy)]
pub struct ReceivedAck<'a> {
    pub frame: u64,
    pub time_ns: i64,
    pub ack: i64,
    /// Scaled window; none on SYN, FIN and RST, whose windows close nothing.
    pub window: Option<u32>,
    pub segment: &'a Segment<'a>,
    pub class: Class,
    /// Smallest round trip from the capture point to the sender of the ACK.
    pub receiver_path_ns: Option<i64>,
}

/// Recoveries of one flow, per sender of the data.
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

    /// Take a segment of `sender`, and return the kind of the recovery that it belongs to.
    pub fn sent(
        &mut self,
        sender: Side,
        sent: &SentSegment,
        known: &KnownState,
    ) -> Option<RecoveryKind> {
        self.of(sender).sent(sent, known)
    }

    /// Return whether `sender` is in a recovery or a probe, or whether no new data has followed a closed
    /// window.
    #[must_use]
    pub fn is_active(&self, sender: Side) -> bool {
        match sender {
            Side::First => self.first.is_active(),
            Side::Second => self.second.is_active(),
        }
    }

    /// Take an ACK or a window change for the data of `sender`, and return whether it gave a new row.
    pub fn on_ack(&mut self, sender: Side, received: &ReceivedAck<'_>) -> bool {
        self.of(sender).on_ack(received)
    }

    /// Assign the episodes of `sender` within this span to the span's transaction.
    pub fn place(&mut self, sender: Side, span: Span) {
        self.of(sender).place(span);
    }

    /// Return the offset of the newest episode of `sender` without a known transaction.
    pub fn unplaced(&mut self, sender: Side) -> Option<i64> {
        self.of(sender).unplaced()
    }

    /// Write the episodes that ended long ago, or all at the end of the flow; without HTTP, only SYN
    /// retransmissions.
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

    /// Return the memory of the episodes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.first
            .held_bytes()
            .saturating_add(self.second.held_bytes())
    }
}

/// Destination of a flow's rows.
pub struct Rows<'a> {
    pub flow: u32,
    pub has_messages: bool,
    pub client: Side,
    /// Round trip of the path as known so far.
    pub rtt_ns: Option<i64>,
    pub rows: &'a mut BoundedTable<RecoveriesTable>,
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
