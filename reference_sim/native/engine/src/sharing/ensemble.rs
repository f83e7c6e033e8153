//! E-TCP: one congestion control for all connections from one host to another (Eggert, Heidemann
//! and Touch 1999, section 3).
//!
//! Theory of operation. Each member is a TCP of its own, with its own stream, retransmission timer
//! and Nagle's algorithm. The window, the threshold and the round trip are the ensemble's: a
//! member is lent them ([`Ensemble::path`]) before it acts and applies its own rules to them, so
//! that an ACK of any member opens the window that all share, and a loss of any closes it; what
//! they became is taken back ([`Ensemble::take_back`]). What is in flight is the ensemble's too:
//! the packets of all members in the order in which they were sent. A member sends new data only
//! when it has the turn ([`Ensemble::turns`]) and as much as it is granted ([`Ensemble::grant`]);
//! what it sends again needs no turn.
//!
//! Where the paper leaves something open:
//!
//! - *Skipped ACKs.* An ACK that acknowledges a packet sent after packets of other members adds
//!   one to each of those members' counts of duplicate ACKs, however many of their packets it
//!   skips: the paper counts by packet, but one ACK is one sign of a loss, as a duplicate ACK is.
//!   A duplicate ACK acknowledges no packet and skips none.
//! - *Several losses of one flight* close the window once: it is as one Reno connection should be
//!   (RFC 2582), and as in TCP-INT (Balakrishnan et al. 1998), whose scheme the paper adopts.
//! - *Half of the window* is half of what the ensemble has in flight (RFC 5681, equation 4).
//! - *Pacing ends* with the first ACK of a paced packet. If more waits to be sent, the window is
//!   then what was paced, for the rest not to follow as a burst (Visweswaraiah and Heidemann).
//! - *The largest window* of a stack (`window_` of ns-2) bounds the ensemble, not each member. In
//!   the paper a queue of 10 packets changes none of E-TCP's times (section 4.3), so that its
//!   window cannot have outgrown path and queue, about 29 packets; ns-2's default is 20.
//! - *Idle*: nothing in flight and nothing sent for a smoothed round trip and four deviations.

use std::collections::VecDeque;

use super::pacing::Pacing;
use super::stride::{ContentKind, Stride};
use super::{Grant, Path};
use crate::app::End;
use crate::stack::{Nanoseconds, Scheduler};

/// A packet sent and not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Its number in the order of sending.
    number: u64,
    member: End,
    /// Offsets in the member's stream.
    start: u64,
    end: u64,
}

/// What a member's own rules took for a loss.
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
    /// The number of the next packet.
    next_number: u64,
    /// Losses of packets with lower numbers have already closed the window.
    recover: u64,
    last_sent: Nanoseconds,
    pacing: Pacing,
    /// In segments; none: no bound but the window.
    max_window: Option<u32>,
}

impl Ensemble {
    /// An ensemble without members: from a cached control block, if there is one; its window is
    /// then paced until ACKs come.
    #[must_use]
    pub fn open(policy: Scheduler, cached: Option<Path>, max_window: Option<u32>) -> Self {
        Ensemble {
            path: cached,
            stride: Stride::new(policy),
            outstanding: VecDeque::new(),
            next_number: 0,
            recover: 0,
            last_sent: 0,
            pacing: cached.map_or(Pacing::Off, |_| Pacing::Armed),
            max_window,
        }
    }

    /// What a member is to act on.
    #[must_use]
    pub fn path(&self) -> Option<Path> {
        self.path
    }

    /// A connection opens. If all others have sent all of their data and are closed behind it,
    /// pacing is turned on (Eggert 1999, section 4.2): the window that they leave is no burst.
    pub fn join(&mut self, member: End, others_are_half_closed: bool) {
        self.stride.join(member);
        if others_are_half_closed && self.path.is_some() {
            self.pacing = Pacing::Armed;
        }
    }

    /// A connection is closed; what it had in flight no longer counts.
    pub fn leave(&mut self, member: End) {
        self.stride.leave(member);
        self.outstanding.retain(|packet| packet.member != member);
    }

    pub fn set_content(&mut self, member: End, content: ContentKind) {
        self.stride.set_content(member, content);
    }

    /// All members, the one whose turn it is first.
    #[must_use]
    pub fn turns(&self) -> Vec<End> {
        self.stride.turns()
    }

    /// New data that whoever has the turn may send now.
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

    /// The path with the window that may be used of it.
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

    /// Bytes of all members' data in flight.
    #[must_use]
    pub fn flight(&self) -> u64 {
        self.outstanding
            .iter()
            .map(|packet| packet.end - packet.start)
            .sum()
    }

    /// Before a member sends: after an idle time the window is paced.
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

    /// A member sent data of its stream. What is sent again is moved to the end of the list and
    /// is no turn: the member may have been short of its share because of the loss.
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
        });
        self.next_number += 1;
        self.last_sent = now;
    }

    /// An ACK for a member has come. Gives the members whose packets it skipped: each counts one
    /// more duplicate ACK.
    ///
    /// `more_waits`: some member has data that it could not send yet.
    pub fn acknowledged(&mut self, member: End, ack: u64, more_waits: bool) -> Vec<End> {
        let is_covered = |packet: &Outstanding| packet.member == member && packet.end <= ack;
        let newest = self
            .outstanding
            .iter()
            .rev()
            .find(|packet| is_covered(packet))
            .map(|packet| packet.number);
        let Some(newest) = newest else {
            return Vec::new();
        };
        self.end_pacing(newest, more_waits);
        let mut skipped = Vec::new();
        for packet in &self.outstanding {
            let is_skipped = packet.number < newest && packet.member != member;
            if is_skipped && !skipped.contains(&packet.member) {
                skipped.push(packet.member);
            }
        }
        self.outstanding.retain(|packet| !is_covered(packet));
        skipped
    }

    fn end_pacing(&mut self, newest: u64, more_waits: bool) {
        if !self.pacing.acknowledged(newest + 1) {
            return;
        }
        let flight = self.flight();
        if let Some(path) = self.path.as_mut().filter(|_| more_waits) {
            path.cwnd = path.cwnd.min(flight.max(u64::from(path.mss)));
        }
    }

    /// What the path became by a member's own rules, and the loss that they saw.
    ///
    /// They know only the member's own flight: after a loss the ensemble sets the window itself.
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
        // By what fast recovery exceeds the threshold; Tahoe and a timeout fall below it.
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

    /// Whether the member's oldest packet was sent after the window was last closed. One that is
    /// no longer in the list was sent before a timeout, which closed it.
    fn is_new_loss(&self, member: End) -> bool {
        self.outstanding
            .iter()
            .filter(|packet| packet.member == member)
            .min_by_key(|packet| packet.start)
            .is_some_and(|packet| packet.number >= self.recover)
    }
}

/// Half of a flight in whole segments, at least two (RFC 5681, equation 4).
fn half(flight: u64, mss: u32) -> u64 {
    let mss = u64::from(mss.max(1));
    (flight / 2 / mss * mss).max(2 * mss)
}

#[cfg(test)]
mod tests;
