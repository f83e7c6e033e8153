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
mod tests {
    use super::*;
    use crate::sharing::Estimate;
    use crate::truth::Side;

    const MS: Nanoseconds = 1_000_000;
    const MSS: u32 = 512;
    const MSS64: u64 = 512;
    /// Streams of these tests begin near where sequence numbers wrap.
    const BASE: u64 = u32::MAX as u64 - 1000;

    fn member(connection: u32) -> End {
        End {
            connection,
            side: Side::Server,
        }
    }

    fn path(segments: u64) -> Path {
        Path {
            cwnd: segments * MSS64,
            ssthresh: 64 * MSS64,
            mss: MSS,
            round_trip: Some(Estimate {
                smoothed: 100 * MS,
                variation: 10 * MS,
            }),
        }
    }

    /// Two members with a window, nothing paced.
    fn ensemble(segments: u64) -> Ensemble {
        let mut ensemble = Ensemble::open(Scheduler::Fair, None, None);
        ensemble.join(member(0), false);
        ensemble.take_back(member(0), path(segments), None);
        ensemble.join(member(1), false);
        ensemble
    }

    fn send(ensemble: &mut Ensemble, connection: u32, index: u64) {
        ensemble.sent(member(connection), BASE + index * MSS64, MSS, false, 0);
    }

    fn ack(ensemble: &mut Ensemble, connection: u32, packets: u64) -> Vec<End> {
        ensemble.acknowledged(member(connection), BASE + packets * MSS64, false)
    }

    #[test]
    fn what_one_member_has_in_flight_is_not_granted_to_another() {
        let mut ensemble = ensemble(4);
        send(&mut ensemble, 0, 0);
        send(&mut ensemble, 0, 1);
        send(&mut ensemble, 1, 0);
        assert_eq!(ensemble.grant(0).bytes, MSS64);
        ack(&mut ensemble, 0, 2);
        assert_eq!(ensemble.grant(0).bytes, 3 * MSS64);
    }

    #[test]
    fn a_connection_that_joins_starts_with_what_the_others_know() {
        let ensemble = ensemble(4);
        assert_eq!(ensemble.path(), Some(path(4)));
    }

    #[test]
    fn an_ack_skips_the_older_packets_of_other_members_once() {
        let mut ensemble = ensemble(8);
        send(&mut ensemble, 0, 0);
        send(&mut ensemble, 0, 1);
        send(&mut ensemble, 1, 0);
        send(&mut ensemble, 0, 2);
        assert_eq!(ack(&mut ensemble, 1, 1), [member(0)]);
        assert_eq!(ack(&mut ensemble, 1, 1), [], "a duplicate ACK");
        assert_eq!(ack(&mut ensemble, 0, 3), []);
    }

    #[test]
    fn in_order_acks_skip_nothing() {
        let mut ensemble = ensemble(8);
        for index in 0..3 {
            send(&mut ensemble, 0, index);
            send(&mut ensemble, 1, index);
        }
        for index in 1..=3 {
            assert_eq!(ack(&mut ensemble, 0, index), []);
            assert_eq!(ack(&mut ensemble, 1, index), []);
        }
    }

    #[test]
    fn what_is_sent_again_is_the_newest_packet_and_takes_no_turn() {
        let mut ensemble = ensemble(8);
        send(&mut ensemble, 0, 0);
        send(&mut ensemble, 1, 0);
        let turn = ensemble.turns();
        ensemble.sent(member(0), BASE, MSS, true, 0);
        assert_eq!(ensemble.turns(), turn);
        assert_eq!(ensemble.flight(), 2 * MSS64);
        assert_eq!(ack(&mut ensemble, 0, 1), [member(1)]);
    }

    /// As Reno leaves the window after its third duplicate ACK, knowing only its own flight.
    fn after_loss(own_flight: u64) -> Path {
        let ssthresh = half(own_flight * MSS64, MSS);
        Path {
            ssthresh,
            cwnd: ssthresh + 3 * MSS64,
            ..path(0)
        }
    }

    #[test]
    fn a_loss_halves_what_all_have_in_flight() {
        let mut ensemble = ensemble(16);
        for index in 0..8 {
            send(&mut ensemble, 0, index);
            send(&mut ensemble, 1, index);
        }
        ensemble.take_back(member(0), after_loss(8), Some(Loss::DuplicateAcks));
        let path = ensemble.path().unwrap();
        assert_eq!(path.ssthresh, 8 * MSS64);
        assert_eq!(path.cwnd, 11 * MSS64);
    }

    #[test]
    fn two_losses_of_one_flight_close_the_window_once_and_a_later_one_again() {
        let mut ensemble = ensemble(16);
        for index in 0..8 {
            send(&mut ensemble, 0, index);
            send(&mut ensemble, 1, index);
        }
        ensemble.take_back(member(0), after_loss(8), Some(Loss::DuplicateAcks));
        let once = ensemble.path();
        ensemble.take_back(member(1), after_loss(8), Some(Loss::DuplicateAcks));
        assert_eq!(ensemble.path().unwrap().ssthresh, once.unwrap().ssthresh);
        assert_eq!(ensemble.path().unwrap().cwnd, once.unwrap().cwnd);
        ack(&mut ensemble, 0, 8);
        ack(&mut ensemble, 1, 8);
        for index in 8..16 {
            send(&mut ensemble, 1, index);
        }
        ensemble.take_back(member(1), after_loss(8), Some(Loss::DuplicateAcks));
        assert_eq!(ensemble.path().unwrap().ssthresh, 4 * MSS64);
    }

    #[test]
    fn a_timeout_empties_the_list_and_the_next_one_of_the_same_flight_halves_nothing() {
        let mut ensemble = ensemble(16);
        for index in 0..8 {
            send(&mut ensemble, 0, index);
            send(&mut ensemble, 1, index);
        }
        let timed_out = Path {
            ssthresh: 4 * MSS64,
            cwnd: MSS64,
            ..path(0)
        };
        ensemble.take_back(member(0), timed_out, Some(Loss::Timeout));
        assert_eq!(ensemble.flight(), 0);
        assert_eq!(ensemble.path().unwrap().ssthresh, 8 * MSS64);
        assert_eq!(ensemble.grant(0).bytes, MSS64);
        ensemble.take_back(member(1), timed_out, Some(Loss::Timeout));
        assert_eq!(ensemble.path().unwrap().ssthresh, 8 * MSS64);
        assert_eq!(ensemble.path().unwrap().cwnd, MSS64);
    }

    #[test]
    fn a_cached_window_is_paced_until_the_first_ack_of_it() {
        let mut ensemble = Ensemble::open(Scheduler::Fair, Some(path(8)), None);
        ensemble.join(member(0), false);
        let mut now = 0;
        for index in 0..4 {
            let grant = ensemble.grant(now);
            assert_eq!(grant.bytes, MSS64, "packet {index} at {now}");
            assert_eq!(grant.paced_until, None);
            ensemble.sent(member(0), BASE + index * MSS64, MSS, false, now);
            assert_eq!(ensemble.grant(now).bytes, 0);
            now = ensemble.grant(now).paced_until.unwrap();
        }
        assert_eq!(now, 50 * MS, "an eighth of the round trip each");
        ensemble.acknowledged(member(0), BASE + MSS64, true);
        assert_eq!(ensemble.grant(now).paced_until, None);
        assert_eq!(ensemble.path().unwrap().cwnd, 4 * MSS64, "what was paced");
        assert_eq!(ensemble.grant(now).bytes, MSS64);
    }

    #[test]
    fn a_window_that_was_not_needed_stays() {
        let mut ensemble = Ensemble::open(Scheduler::Fair, Some(path(8)), None);
        ensemble.join(member(0), false);
        send(&mut ensemble, 0, 0);
        ack(&mut ensemble, 0, 1);
        assert_eq!(ensemble.path().unwrap().cwnd, 8 * MSS64);
    }

    #[test]
    fn a_connection_that_joins_half_closed_ones_is_paced_past_their_acks() {
        let mut ensemble = ensemble(8);
        send(&mut ensemble, 0, 0);
        ensemble.join(member(2), true);
        send(&mut ensemble, 2, 0);
        ack(&mut ensemble, 0, 1);
        assert!(ensemble.grant(0).paced_until.is_some());
        ack(&mut ensemble, 2, 1);
        assert!(ensemble.grant(0).paced_until.is_none());
    }

    #[test]
    fn an_idle_ensemble_is_paced_and_a_busy_one_is_not() {
        let mut ensemble = ensemble(8);
        send(&mut ensemble, 0, 0);
        ensemble.restart_after_idle(500 * MS);
        assert_eq!(ensemble.grant(500 * MS).bytes, 7 * MSS64, "still in flight");
        ack(&mut ensemble, 0, 1);
        ensemble.restart_after_idle(140 * MS);
        assert_eq!(ensemble.grant(140 * MS).bytes, 8 * MSS64);
        ensemble.restart_after_idle(141 * MS);
        assert_eq!(ensemble.grant(141 * MS).bytes, MSS64);
    }

    #[test]
    fn what_a_closed_member_had_in_flight_is_free() {
        let mut ensemble = ensemble(4);
        send(&mut ensemble, 0, 0);
        ensemble.leave(member(0));
        assert_eq!(ensemble.grant(0).bytes, 4 * MSS64);
        assert_eq!(ensemble.turns(), [member(1)]);
    }
}
