//! Explicit congestion notification (RFC 3168, section 6.1). A queue marks packets instead of dropping them.
//! The receiver echoes the mark until the sender responds. The sender reduces its window as for a loss.

use super::{Connection, State};
use crate::segment::{flags, Ecn, Segment};
use crate::tcp::receiver::Due;
use crate::tcp::sender::Stretch;
use crate::truth::SendReason;

/// The ECN state of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notification {
    /// True if both SYNs offer ECN.
    is_agreed: bool,
    /// True while every ACK echoes a mark, until the peer announces its window reduction.
    is_echoing: bool,
}

impl Connection {
    /// Return the flags of a SYN that offers ECN. A repeated SYN does not offer ECN (RFC 3168, section
    /// 6.1.1.1).
    pub(super) fn offer_of_marks(&self) -> u16 {
        match self.state {
            State::SynSent if self.stack.ecn && self.syn_retries == 0 => flags::ECE | flags::CWR,
            State::SynReceived | State::Established if self.notification.is_agreed => flags::ECE,
            _ => 0,
        }
    }

    /// Negotiate ECN by the peer's SYN. A SYN with both flags offers ECN, and an answer with ECE alone
    /// accepts it.
    pub(super) fn agree_on_marks(&mut self, segment: &Segment) {
        let wanted = if segment.has(flags::ACK) {
            flags::ECE
        } else {
            flags::ECE | flags::CWR
        };
        let both = flags::ECE | flags::CWR;
        self.notification.is_agreed = self.stack.ecn && segment.flags & both == wanted;
    }

    /// Record the marks of data. Return true if an ACK is due at once. The data was marked (Linux,
    /// `tcp_ecn_check_ce`), or the peer's window can be very small now (`tcp_ecn_accept_cwr`).
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

    /// Send the ACK of marked data at once.
    pub(super) fn acknowledge_marks(&mut self) {
        self.receiver.due = Due::Now(SendReason::Ack);
    }

    /// Return true if this ACK echoes a mark.
    pub(super) fn has_echo(&self, segment: &Segment) -> bool {
        self.notification.is_agreed && segment.has(flags::ECE)
    }

    /// Return the flag of every ACK while a mark is echoed.
    pub(super) fn echo(&self) -> u16 {
        if self.notification.is_echoing {
            flags::ECE
        } else {
            0
        }
    }

    /// Set the ECN fields of a segment. New data is ECN-capable, and announces a window reduction once. A
    /// retransmission is not ECN-capable (section 6.1.5).
    pub(super) fn mark_as_capable(&mut self, segment: &mut Segment, stretch: Stretch) {
        if self.notification.is_agreed && stretch.payload > 0 && stretch.is_new {
            segment.ecn = Ecn::Capable;
            if self.sender.take_reduction() {
                segment.flags |= flags::CWR;
            }
        }
    }
}
