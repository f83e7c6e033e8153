//! Near the sender ACKs tell when its receiver had data.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, DELAYED_ACK_MIN_NS, DELAYED_ACK_SEGMENTS};

use super::super::partition::Moment;
use super::waiting_acks::WaitingAck;
use super::{DelayedAck, Pending, Route, Stall, Timeline};
use crate::jitter::acks_late_max_ns;

impl Timeline {
    /// The receiver has acknowledged up to `acked`.
    pub(in crate::waits) fn acknowledged(&mut self, at: Moment, acked: i64, route: Route) {
        let before = self.acked;
        self.acked = before.max(acked);
        self.as_heard.newest_ns = Some(at.time_ns);
        self.may_go_on(at.time_ns, acked, route);
        self.hear_of_lost_behind(at.time_ns, acked, route);
        if self.pending.is_empty() {
            return;
        }
        if !self.settles_by_ack {
            // What was never captured is there all the same.
            self.settle(acked, at, route);
            self.has_hole &= !self.pending.is_empty();
            return;
        }
        self.link.is_told(route.byte_time);
        self.hear_of_what_came_twice((before, acked));
        self.hear_of_needless_copies(at.time_ns, (before, acked), route);
        self.learn_link(at, acked, route);
        let covered = self.pending.iter().take_while(|sent| sent.end <= acked);
        let first_sent = covered.filter(|sent| sent.stall.is_none()).count();
        self.copies.behind.is_acked(first_sent);
        self.hear_of_tails(acked, route);
        self.ack_waits((at, acked), route);
    }

    /// ... again, and nothing more, as what came was out of order, if SACKs tell of that.
    pub(in crate::waits) fn acknowledged_again(
        &mut self,
        time_ns: i64,
        is_out_of_order: bool,
        route: Route,
    ) {
        let is_near = self.settles_by_ack;
        if is_near && (is_out_of_order || self.copies.is_acked_again(self.acked)) {
            self.copies.behind.is_acked_again();
            self.hear_of_hole(time_ns, route);
        }
    }

    /// The ACK went out when the newest segment that it covers came, unless it was delayed; those before
    /// came in the pace of the path, or at the latest when later ACKs tell that they had. What was lost on the way was
    /// there no sooner than the ACK tells.
    pub(super) fn settle_by_ack(&mut self, ack: WaitingAck, latest: &mut Vec<i64>, route: Route) {
        let WaitingAck { at, acked, .. } = ack;
        let bare_ns = self.bare_ns(ack);
        let covered = || self.pending.iter().take_while(|sent| sent.end <= acked);
        let bytes = covered().fold(0_u32, |sum, sent| sum.saturating_add(sent.bytes));
        let may_be_delayed = bytes < self.acked_at_once_bytes(route);
        let late_max_ns = acks_late_max_ns(route.rtt_ns(), self.link.acks_vary_ns(self.full_bytes));
        let mut repairs = covered().filter(|sent| sent.stall.is_some()).count();
        let was_repaired = repairs > 0;
        let is_of_one = covered().nth(1).is_none();
        // What had come behind a loss is acknowledged with its repair; a copy that was alone, as any segment is.
        let is_of_repair = was_repaired && !is_of_one;
        while let Some(data) = self.pending.front().copied() {
            if data.end > acked {
                return;
            }
            self.pending.pop_front();
            let latest_ns = latest.pop().unwrap_or(i64::MAX);
            let next = self.pending.front();
            let is_newest = next.is_none_or(|next| next.end > acked);
            // Who has got a copy waits for its timer as well, if nothing else is on its way.
            let is_alone = |copy: Stall| {
                copy.is_alone(next, at.time_ns) || self.copies.goes_on_with(copy, next)
            };
            let may_be_delayed = may_be_delayed && data.stall.is_none_or(is_alone);
            repairs = repairs.saturating_sub(usize::from(data.stall.is_some()));
            let is_last_repair = data.stall.is_some() && repairs == 0;
            let expected = match data.stall {
                None => self.expected_ns(data, route).min(latest_ns),
                Some(copy) => {
                    let alone_ns = copy.alone_ns().filter(|_| is_of_one && is_alone(copy));
                    copy.expected_ns().or(alone_ns).unwrap_or(at.time_ns)
                }
            };
            let acked_ns = bare_ns.max(expected).min(at.time_ns);
            let delay = acked_ns.saturating_sub(expected);
            let is_delayed = may_be_delayed && delay > late_max_ns;
            let time_ns = if (is_newest || is_last_repair) && !is_delayed {
                acked_ns
            } else {
                expected.min(at.time_ns)
            };
            if is_newest && !was_repaired {
                let late_ns = if may_be_delayed { delay } else { 0 };
                self.as_heard.ack_was_late(at.time_ns, late_ns);
            }
            // It may itself have waited for the ACK of the segment before.
            self.append(data, time_ns, route);
            // A copy may have had more behind what it brought again.
            let copied_until = data.stall.map(|copy| copy.end);
            let is_all = data.end == acked || copied_until == Some(acked);
            if is_newest && is_delayed && !is_of_repair && is_all {
                let alone = (is_of_one || data.begins_flight).then_some(data.start());
                self.ack_was_delayed(alone, (at, acked), delay);
            }
        }
    }

    /// The receiver acknowledges so much as soon as it has it.
    pub(super) fn acked_at_once_bytes(&self, route: Route) -> u32 {
        let waits_for_more = u32::from(route.receiver.waits_for_three());
        let segments = DELAYED_ACK_SEGMENTS.saturating_add(waits_for_more);
        self.full_bytes.saturating_mul(segments)
    }

    /// Near the sender: a timer had delayed the ACK of a segment. What that let go waited so much longer, if it was a
    /// full segment that was alone, from such an offset on: a window of one, or what was left of a flight of which the
    /// rest was acknowledged, which its receiver acknowledges when a second one comes or its timer does (RFC 1122,
    /// section 4.2.3.2).
    fn ack_was_delayed(&mut self, alone: Option<i64>, (at, acked): (Moment, i64), delay_ns: i64) {
        let full_bytes = i64::from(self.full_bytes);
        let is_alone = alone.is_some_and(|start| acked.saturating_sub(start) == full_bytes);
        let is_of_timer = (DELAYED_ACK_MIN_NS..=DELAYED_ACK_MAX_NS).contains(&delay_ns);
        let next = self.pending.front_mut();
        let had_followed = next.is_some_and(|next| next.at.time_ns < at.time_ns);
        self.delayed_ack = (is_alone && is_of_timer && !had_followed).then_some(DelayedAck {
            until: acked,
            delay_ns,
        });
    }

    /// When data comes that nothing but the path and the data before it holds up.
    pub(super) fn expected_ns(&self, data: Pending, route: Route) -> i64 {
        let (bytes, segments) = data
            .stall
            .map_or((data.bytes, data.segments), |it| (it.bytes, it.segments));
        let way = self
            .way_ns(route)
            .saturating_add(self.link.of_payload(data.bytes, data.segments));
        let arrived = data.at.time_ns.saturating_add(way);
        let arrived = arrived.max(data.due_ns);
        self.came.map_or(arrived, |came| {
            let behind = came.time_ns.saturating_add(self.link.of(bytes, segments));
            behind.max(arrived)
        })
    }

    /// The capture was not taken at the sender after all, as it seemed while a SYN-ACK with data was not acknowledged
    /// (RFC 1644, RFC 7413): data came when it went by.
    pub(super) fn turns_out_to_be_at_receiver(&mut self, route: Route) {
        self.settles_by_ack = false;
        self.waiting_acks.clear();
        self.extents.clear();
        while let Some(data) = self.pending.front().copied() {
            if data.end > self.acked {
                self.has_hole = true;
                return;
            }
            self.pending.pop_front();
            self.append(data, data.at.time_ns, route);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Resent, Words};
    use super::*;
    use crate::shared_windows::{Receiver, Sharing};
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::{Cause, RecoveryKind};

    const MS: i64 = 1_000_000;
    const WAY_MS: i64 = 20;
    const FULL: i64 = 1000;

    /// What flights waited for that left at such a time each, of so many full segments, and were acknowledged at such
    /// a time each by a receiver that has told `receiver`: causes, starts and ends.
    fn told(receiver: Receiver, flights: &[(i64, i64, i64)]) -> Vec<(Cause, i64, i64)> {
        told_of(Sharing::default(), receiver, flights)
    }

    /// ... with what their sender's connections share.
    fn told_of(
        sharing: Sharing,
        receiver: Receiver,
        flights: &[(i64, i64, i64)],
    ) -> Vec<(Cause, i64, i64)> {
        let mut acked = 0;
        let mut events = Vec::new();
        for (left_ms, segments, acked_ms) in flights {
            acked += segments;
            events.extend([(*left_ms, *segments, 0), (*acked_ms, 0, acked)]);
        }
        told_by(sharing, receiver, &events)
    }

    /// ... by how many segments left at each time, and how many were acknowledged by then.
    fn told_by(
        sharing: Sharing,
        receiver: Receiver,
        events: &[(i64, i64, i64)],
    ) -> Vec<(Cause, i64, i64)> {
        let route = Route {
            receiver,
            ..Route::at_sender(WAY_MS)
        };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
        timeline.shook_hands(WAY_MS * MS, 0, route);
        let first = (1 << 32) - FULL;
        let (mut acks, mut end) = (Acks::default(), first);
        for (at_ms, sent, acked) in events {
            for _ in 0..*sent {
                end += FULL;
                let data = Data {
                    sharing,
                    ..Data::at_ms(*at_ms, end)
                };
                timeline.new_data(data, None, route, &acks);
            }
            if *acked > 0 {
                let acked = first + acked * FULL;
                acks.push(at_ms * MS, acked, 60_000, WAY_MS * MS);
                timeline.acknowledged(Moment::at_ms(*at_ms), acked, route);
            }
        }
        timeline.settle_waiting(route);
        let pieces = timeline.between(0, i64::MAX);
        let told = pieces.map(|it| (it.cause, it.start.time_ns / MS, it.end.time_ns / MS));
        told.collect()
    }

    fn of_one_window() -> Sharing {
        Sharing {
            is_shared: true,
            had_loss: true,
            ..Sharing::default()
        }
    }

    fn is_delay((cause, ..): &(Cause, i64, i64)) -> bool {
        *cause == Cause::StallDelayedAckFirstSegment
    }

    /// How much of the time before `until_ms` was the pace of the link.
    fn pace_ms(told: &[(Cause, i64, i64)], until_ms: i64) -> i64 {
        let of_link = told
            .iter()
            .filter(|it| it.0 == Cause::SendLimitedBottleneck);
        of_link
            .map(|it| it.2.min(until_ms) - it.1.min(until_ms))
            .sum()
    }

    #[test]
    fn an_ack_that_was_late_is_no_slow_link_where_later_ones_tell_of_a_faster_one() {
        // A second late ACK makes the link as slow as to explain the first.
        let late = [(0, 1, 220), (220, 2, 640)];
        let prompt = [(640, 3, 666), (666, 4, 694), (694, 5, 724)];
        let flights = [&late[..], &prompt].concat();
        assert_eq!(pace_ms(&told(Receiver::UNHEARD, &late), 220), 220);
        assert_eq!(pace_ms(&told(Receiver::UNHEARD, &flights), 220), 23);
    }

    #[test]
    fn a_full_segment_that_waited_for_a_delayed_ack_may_be_acknowledged_late_itself() {
        let one_by_one = [(54, 1, 280), (280, 1, 506), (506, 1, 528)];
        let flights = [&[(0, 3, 26), (26, 4, 54)], &one_by_one[..]].concat();
        let told = told_of(of_one_window(), Receiver::UNHEARD, &flights);
        let until_ms: Vec<_> = told
            .iter()
            .filter(|it| is_delay(it))
            .map(|it| it.2)
            .collect();
        assert_eq!(until_ms, [301, 528]);
    }

    #[test]
    fn the_last_of_a_flight_is_alone_where_those_before_it_were_acknowledged_without_it() {
        let delayed_ms = |acked_before: i64| -> i64 {
            let begun = [(0, 3, 0), (26, 0, 3), (26, 4, 0), (54, 0, 7), (54, 3, 0)];
            let ended = [
                (78, 0, acked_before),
                (279, 0, 10),
                (279, 1, 0),
                (301, 0, 11),
            ];
            let events = [&begun[..], &ended].concat();
            let told = told_by(of_one_window(), Receiver::UNHEARD, &events);
            let delays = told.iter().filter(|it| is_delay(it));
            delays.map(|it| it.2 - it.1).sum()
        };
        assert_eq!(delayed_ms(9), 199);
        assert_eq!(delayed_ms(7), 0);
    }

    #[test]
    fn a_copy_that_has_more_behind_it_until_it_is_full_is_acknowledged_late_as_any_full_segment() {
        let delayed_ms = |more: i64| -> i64 {
            let route = Route::at_sender(WAY_MS);
            let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
            timeline.shook_hands(WAY_MS * MS, 0, route);
            let (start, mut acks) = ((1 << 32) - FULL, Acks::default());
            let short = Data {
                bytes: 600,
                ..Data::at_ms(0, start + 600)
            };
            timeline.new_data(short, None, route, &acks);
            let copy = Resent {
                at: Moment::at_ms(1000),
                start,
                end: start + 600 + more,
                recovery: Some(RecoveryKind::TailLoss),
                heard: LastHeard::default(),
                has_sack: false,
                is_for_others: false,
                due_ns: None,
            };
            timeline.resent(copy, None, route);
            for (at_ms, end) in [(1220, copy.end), (1242, copy.end + FULL)] {
                acks.push(at_ms * MS, end, 60_000, WAY_MS * MS);
                timeline.acknowledged(Moment::at_ms(at_ms), end, route);
                timeline.new_data(Data::at_ms(at_ms, end + FULL), None, route, &acks);
            }
            timeline.settle_waiting(route);
            let pieces = timeline.between(0, i64::MAX);
            let told = pieces.map(|it| (it.cause, it.start.time_ns / MS, it.end.time_ns / MS));
            let delays = told.filter(is_delay);
            delays.map(|it| it.2 - it.1).sum()
        };
        assert_eq!(delayed_ms(400), 200);
        assert_eq!(delayed_ms(300), 0, "a short one is Nagle's");
    }

    /// When each of two segments was there that ACKs had told to be lost: the copy of the first went at 100 ms, that of the
    /// second when the first's was acknowledged. The ACK of each is due so long after that, if the link is known.
    fn repaired_ms(acked_ms: i64, due_ms: Option<i64>) -> Vec<i64> {
        let route = Route::at_sender(WAY_MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
        timeline.shook_hands(WAY_MS * MS, 0, route);
        let (start, mut acks) = ((1 << 32) - FULL, Acks::default());
        for segment in 1..=2 {
            let data = Data::at_ms(0, start + segment * FULL);
            timeline.new_data(data, None, route, &acks);
        }
        for (segment, copied_ms, acked_ms) in [(1, 100, acked_ms), (2, acked_ms, acked_ms + 20)] {
            let end = start + segment * FULL;
            let copy = Resent {
                at: Moment::at_ms(copied_ms),
                start: end - FULL,
                end,
                recovery: Some(RecoveryKind::FastRecovery),
                heard: LastHeard::default(),
                has_sack: false,
                is_for_others: false,
                due_ns: due_ms.map(|ms| (copied_ms + ms) * MS),
            };
            timeline.resent(copy, None, route);
            acks.push(acked_ms * MS, end, 60_000, WAY_MS * MS);
            timeline.acknowledged(Moment::at_ms(acked_ms), end, route);
        }
        timeline.settle_waiting(route);
        let repairs = timeline.between(0, i64::MAX).filter(|it| it.is_repair());
        repairs.map(|it| it.end.time_ns / MS).collect()
    }

    #[test]
    fn a_copy_that_was_alone_on_its_way_was_there_before_its_delayed_ack() {
        assert_eq!(repaired_ms(120, Some(WAY_MS)), [120, 140]);
        assert_eq!(repaired_ms(320, Some(WAY_MS)), [120, 340]);
        assert_eq!(repaired_ms(320, None), [320, 340], "on an unknown link");
    }

    #[test]
    fn an_ack_of_two_segments_that_waits_for_a_third_is_no_slow_link() {
        let flights = [(0, 3, 26), (26, 4, 54), (54, 5, 84), (84, 2, 300)];
        let pace = |receiver| {
            pace_ms(&told(receiver, &flights), 300) - pace_ms(&told(receiver, &flights), 84)
        };
        assert_eq!(pace(Receiver::UNHEARD), 197);
        assert_eq!(pace(Receiver::OF_THREE), 4);
    }
}
