//! Explicit congestion notification (RFC 3168, section 6.1): a queue marks what it would have dropped, the receiver
//! says so until the sender has answered, and the sender halves its window as for a loss.

use super::{Connection, State};
use crate::segment::{flags, Ecn, Segment};
use crate::tcp::receiver::Due;
use crate::tcp::sender::Stretch;
use crate::truth::SendReason;

/// What one end of a connection knows of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notification {
    /// Both SYNs offer it.
    is_agreed: bool,
    /// Every ACK tells of a mark, until the peer says that it has reduced its window.
    is_echoing: bool,
}

impl Connection {
    /// The flags by which a SYN offers it; one that goes out again does not (RFC 3168, section 6.1.1.1).
    pub(super) fn offer_of_marks(&self) -> u16 {
        match self.state {
            State::SynSent if self.stack.ecn && self.syn_retries == 0 => flags::ECE | flags::CWR,
            State::SynReceived | State::Established if self.notification.is_agreed => flags::ECE,
            _ => 0,
        }
    }

    /// The peer's SYN has come: one with both flags offers it, an answer with ECE alone takes it.
    pub(super) fn agree_on_marks(&mut self, segment: &Segment) {
        let wanted = if segment.has(flags::ACK) {
            flags::ECE
        } else {
            flags::ECE | flags::CWR
        };
        let both = flags::ECE | flags::CWR;
        self.notification.is_agreed = self.stack.ecn && segment.flags & both == wanted;
    }

    /// Data came: whether an ACK is due at once because it was marked (Linux, `tcp_ecn_check_ce`), or because the
    /// peer's window may be very small now (`tcp_ecn_accept_cwr`).
    pub(super) fn note_marks(&mut self, segment: &Segment) -> bool {
        if !self.notification.is_agreed || segment.payload == 0 {
            return false;
        }
        let before = self.notification.is_echoing;
        if segment.has(flags::CWR) {
            self.notification.is_echoing = false;
        }
        let is_first = segment.ecn == Ecn::Congested && !self.notification.is_echoing;
        self.notification.is_echoing |= segment.ecn == Ecn::Congested;
        if is_first {
            self.receiver.came_marked();
        }
        is_first || before && segment.has(flags::CWR)
    }

    /// The ACK of data that was marked goes at once.
    pub(super) fn acknowledge_marks(&mut self) {
        self.receiver.due = Due::Now(SendReason::Ack);
    }

    /// Whether this ACK tells of a mark.
    pub(super) fn has_echo(&self, segment: &Segment) -> bool {
        self.notification.is_agreed && segment.has(flags::ECE)
    }

    /// The flag of every ACK while a mark is to be told.
    pub(super) fn echo(&self) -> u16 {
        if self.notification.is_echoing {
            flags::ECE
        } else {
            0
        }
    }

    /// New data may be marked, and says once that the window was reduced; what goes out again may not (section 6.1.5).
    pub(super) fn mark_as_capable(&mut self, segment: &mut Segment, stretch: Stretch) {
        if self.notification.is_agreed && stretch.payload > 0 && stretch.is_new {
            segment.ecn = Ecn::Capable;
            if self.sender.take_reduction() {
                segment.flags |= flags::CWR;
            }
        }
    }
}
