//! E-TCP: one congestion control for all connections from one host to another (Eggert, Heidemann and Touch
//! 1999, section 3).
//!
//! Theory of operation. Each member is a separate TCP with its own stream, retransmission timer and Nagle's
//! algorithm. The window, the threshold and the round trip belong to the ensemble. A member borrows them
//! ([`Ensemble::path`]) before it acts, and applies its own rules to them. An ACK of any member therefore
//! opens the shared window, and a loss of any member closes it. The ensemble takes the result back
//! ([`Ensemble::take_back`]). The flight also belongs to the ensemble: the packets of all members in sending
//! order. A member sends new data only in its turn ([`Ensemble::turns`]) and up to its grant
//! ([`Ensemble::grant`]). A retransmission needs no turn.
//!
//! The paper leaves these points open:
//!
//! - *Skipped ACKs.* An ACK can acknowledge a packet sent after packets of other members. The ACK
//!   adds one to the duplicate ACK count of each of those members, whatever the number of skipped
//!   packets. The paper counts per packet, but one ACK is one sign of a loss, like a duplicate ACK.
//!   A duplicate ACK acknowledges no packet and skips none.
//! - *Several losses of one flight* close the window once, as in one Reno connection (RFC 2582) and
//!   in TCP-INT (Balakrishnan et al. 1998), whose scheme the paper adopts.
//! - *Half of the window* is half of the ensemble's flight (RFC 5681, equation 4).
//! - *Pacing ends* with the first ACK of a paced packet. If more data waits, the window is reduced
//!   to the paced data, so that the rest is no burst (Visweswaraiah and Heidemann).
//! - *The largest window* of a stack (`window_` of ns-2) bounds the ensemble, not each member. In
//!   the paper, a queue of 10 packets changes none of E-TCP's times (section 4.3). Its window
//!   therefore stays below path and queue, about 29 packets. ns-2's default is 20.
//! - *Idle*: no data in flight, and no sending for a smoothed round trip plus four deviations.

use std::collections::VecDeque;

use super::pacing::Pacing;
use super::stride::{ContentKind, Stride};
use super::{Grant, Path};
use crate::app::End;
use crate::stack::{Nanoseconds, Scheduler, Stack};

/// Twice the longest ACK delay of BSD (ns-2, chost.cc: `0.2 * 2`).
const TWO_ACK_DELAYS: Nanoseconds = 400_000_000;

/// A packet sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Number in sending order.
    number: u64,
    member: End,
    /// Start offset in the member's stream.
    start: u64,
    /// End offset in the member's stream.
    end: u64,
    sent: Nanoseconds,
}

/// The kind of loss that a member's own rules detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    DuplicateAcks,
    Timeout,
}

/// An active ensemble control block.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// None until the first member is established.
    path: Option<Path>,
    stride: Stride,
    outstanding: VecDeque<Outstanding>,
    /// Number of the next packet.
    next_number: u64,
    /// Packet number below which losses have already closed the window.
    recover: u64,
    last_sent: Nanoseconds,
    pacing: Pacing,
    /// Maximum window in segments. None: no maximum.
    max_window: Option<u32>,
    expects_delayed_acks: bool,
}

impl Ensemble {
    /// Create an ensemble without members, from a cached control block if there is one. Its window is then
    /// paced until ACKs arrive.
    #[must_use]
    pub fn open(policy: Scheduler, cached: Option<Path>, stack: &Stack) -> Self {
        Ensemble {
            path: cached,
            stride: Stride::new(policy),
            outstanding: VecDeque::new(),
            next_number: 0,
            recover: 0,
            last_sent: 0,
            pacing: cached.map_or(Pacing::Off, |_| Pacing::Armed),
            max_window: stack.max_window_segments,
            expects_delayed_acks: stack.expects_delayed_acks,
        }
    }

    /// Return the path state that a member acts on.
    #[must_use]
    pub fn path(&self) -> Option<Path> {
        self.path
    }

    /// Add a connection. If all others have sent all their data and are half-closed, pacing starts (Eggert
    /// 1999, section 4.2). Their remaining window is then no burst.
    pub fn join(&mut self, member: End, others_are_half_closed: bool) {
        self.stride.join(member);
        if others_are_half_closed && self.path.is_some() {
            self.pacing = Pacing::Armed;
        }
    }

    /// Remove a closed connection. Its data in flight no longer counts.
    pub fn leave(&mut self, member: End) {
        self.stride.leave(member);
        self.outstanding.retain(|packet| packet.member != member);
    }

    pub fn set_content(&mut self, member: End, content: ContentKind) {
        self.stride.set_content(member, content);
    }

    /// Return all members, the member with the turn first.
    #[must_use]
    pub fn turns(&self) -> Vec<End> {
        self.stride.turns()
    }

    /// Return the new data that the member with the turn can send now.
    #[must_use]
    pub fn grant(&self, now: Nanoseconds) -> Grant {
        let (Some(path), Some(bounded)) = (self.path, self.bounded_path()) else {
            return Pacing::Off.grant(0, 0, now);
        };
        let mss = u64::from(path.mss);
        let flight = self.flight();
        let room = |path: Path| path.cwnd.saturating_sub(flight);
        let segments = |path: Path| room(path).checked_div(mss);
        Grant {
            is_of_stack: segments(bounded) < segments(path),
            ..self.pacing.grant(room(bounded), mss, now)
        }
    }

    /// Return the path state with the usable window.
    fn bounded_path(&self) -> Option<Path> {
        let bound = |path: Path| {
            self.max_window.map_or(u64::MAX, |segments| {
                u64::from(segments) * u64::from(path.mss)
            })
        };
        self.path.map(|path| Path {
            cwnd: path.cwnd.min(bound(path)),
            ..path
        })
    }

    /// Return the bytes in flight of all members.
    #[must_use]
    pub fn flight(&self) -> u64 {
        self.outstanding
            .iter()
            .map(|packet| packet.end - packet.start)
            .sum()
    }

    /// Pace the window before a member sends after an idle time.
    pub fn restart_after_idle(&mut self, now: Nanoseconds) {
        let estimate = self.path.and_then(|path| path.round_trip);
        let Some(estimate) = estimate.filter(|_| self.outstanding.is_empty()) else {
            return;
        };
        let timeout = estimate.smoothed + 4 * estimate.variation;
        if self.next_number > 0 && now.saturating_sub(self.last_sent) > timeout {
            self.pacing = Pacing::Armed;
        }
    }

    /// Record data that a member sent. A retransmission moves to the end of the list. A retransmission is not
    /// charged as a turn, because the loss can have cost the member its share.
    pub fn sent(
        &mut self,
        member: End,
        start: u64,
        payload: u32,
        is_retransmission: bool,
        now: Nanoseconds,
    ) {
        let end = start + u64::from(payload);
        if is_retransmission {
            self.outstanding.retain(|packet| {
                packet.member != member || packet.end <= start || packet.start >= end
            });
        } else {
            self.stride.charge(member);
            self.pacing.sent(self.bounded_path(), self.next_number, now);
        }
        self.outstanding.push_back(Outstanding {
            number: self.next_number,
            member,
            start,
            end,
            sent: now,
        });
        self.next_number += 1;
        self.last_sent = now;
    }

    /// Record an ACK for a member. Return the members whose packets it skipped: each counts one more
    /// duplicate ACK.
    ///
    /// `more_waits` is true if a member has unsent data.
    pub fn on_ack(&mut self, member: End, ack: u64, more_waits: bool) -> Vec<End> {
        let is_covered = |packet: &Outstanding| packet.member == member && packet.end <= ack;
        let newest = self
            .outstanding
            .iter()
            .rev()
            .find(|packet| is_covered(packet))
            .copied();
        let Some(newest) = newest else {
            return Vec::new();
        };
        self.end_pacing(newest.number, more_waits);
        let mut skipped = Vec::new();
        for packet in &self.outstanding {
            let is_skipped = packet.number < newest.number && packet.member != member;
            if is_skipped && !skipped.contains(&packet.member) {
                skipped.push(packet.member);
            }
        }
        if self.expects_delayed_acks {
            skipped.retain(|other| self.is_overdue(*other, &newest));
        }
        self.outstanding.retain(|packet| !is_covered(packet));
        skipped
    }

    /// Return true if even a delayed ACK of the member's oldest skipped packet would have arrived.
    fn is_overdue(&self, member: End, newest: &Outstanding) -> bool {
        let mut skipped = self
            .outstanding
            .iter()
            .filter(|packet| packet.member == member && packet.number < newest.number);
        let is_old = skipped
            .next()
            .is_some_and(|oldest| newest.sent.saturating_sub(oldest.sent) > TWO_ACK_DELAYS);
        is_old || skipped.next().is_some()
    }

    fn end_pacing(&mut self, newest: u64, more_waits: bool) {
        if !self.pacing.on_ack(newest + 1) {
            return;
        }
        let flight = self.flight();
        if let Some(path) = self.path.as_mut().filter(|_| more_waits) {
            path.cwnd = path.cwnd.min(flight.max(u64::from(path.mss)));
        }
    }

    /// Take back the path state after a member's own rules, with the loss that they detected.
    ///
    /// The rules know only the member's own flight, so after a loss the ensemble sets the window itself.
    pub fn take_back(&mut self, member: End, after: Path, loss: Option<Loss>) {
        let (Some(before), Some(loss)) = (self.path, loss) else {
            self.path = Some(after);
            return;
        };
        let is_new = self.is_new_loss(member);
        let ssthresh = if is_new {
            half(self.flight().min(before.cwnd), after.mss)
        } else {
            before.ssthresh
        };
        // The excess of fast recovery over the threshold. After Tahoe's reaction or a timeout, the window is
        // below the threshold.
        let cwnd = match after.cwnd.checked_sub(after.ssthresh) {
            Some(excess) if is_new => ssthresh + excess,
            Some(_) => before.cwnd,
            None => after.cwnd,
        };
        self.path = Some(Path {
            cwnd,
            ssthresh,
            ..after
        });
        if is_new {
            self.recover = self.next_number;
        }
        if loss == Loss::Timeout {
            self.outstanding.clear();
        }
    }

    /// Return true if the member's oldest packet was sent after the last closing of the window. A packet
    /// absent from the list precedes a timeout, which closed the window.
    fn is_new_loss(&self, member: End) -> bool {
        self.outstanding
            .iter()
            .filter(|packet| packet.member == member)
            .min_by_key(|packet| packet.start)
            .is_some_and(|packet| packet.number >= self.recover)
    }
}

/// Return half of a flight in whole segments, at least two (RFC 5681, equation 4).
fn half(flight: u64, mss: u32) -> u64 {
    let mss = u64::from(mss.max(1));
    (flight / 2 / mss * mss).max(2 * mss)
}

#[cfg(test)]
mod tests;
