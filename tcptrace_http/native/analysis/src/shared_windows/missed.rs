//! Packets of the server that were missed: which connection accounts for them.

mod told_by_others;

use tcptrace_tcp::{HostStep, TIMED_OUT_MIN_NS, TIMEOUT_MIN_NS};
use trace_model::{flags, Segment, SeqNumber};

use super::ack::Ack;
use super::departures::Left;
use super::host_pair::HostPair;
use super::leaving::Unheard;
use super::missing_packets::Missing;
use super::timed_out::{TimedOut, LEAST_TIMER_NS};
use super::writes::WrittenAt;
use crate::jitter::CLOSE_NS;

/// What the numbers of the server tell when a packet comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    /// How many packets were missed since the last data of its connection that others account for.
    pub(super) elsewhere: u32,
    pub(super) before: Option<MissedBefore>,
    /// ... if connections share their window, which need not be known yet.
    pub(super) if_shared: Option<MissedBefore>,
    /// When what is missing before it would have come.
    pub(super) hole_ns: Option<i64>,
    /// Data that comes may have been sent before and missed, whichever ACK had let it go.
    pub(super) is_again: bool,
    /// What its sender had not heard when it sent data again.
    pub(super) unheard: Option<Unheard>,
    /// It fills a hole of a flight that a timer took for lost, which no ACK has told it to.
    pub(super) is_cleared: bool,
}

/// Data that comes was sent before, and that was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedBefore {
    /// When it would have come.
    pub would_come_ns: i64,
    /// ACKs of other connections told of the loss, and no timer.
    pub is_told: bool,
    /// Its sender went back to it, whether connections share a window or not.
    pub is_gone_back_to: bool,
}

/// Data that comes was sent before and missed.
#[derive(Clone, Copy, Debug, Default)]
struct Again {
    /// Whether connections share their window or not.
    is_known: bool,
    /// Not asked here where its own ACK had let it go and windows are not shared.
    before: Option<MissedBefore>,
    if_shared: Option<MissedBefore>,
}

impl Again {
    fn of(before: Option<MissedBefore>) -> Self {
        Again {
            is_known: true,
            before,
            if_shared: None,
        }
    }
}

impl HostPair {
    /// Takes what the server's numbers tell when a packet comes, before which so many are missing that were not before.
    pub(super) fn misses(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        (host_step, missing): (Option<HostStep>, u32),
        (left, written): (Left, Option<WrittenAt>),
    ) -> Missed {
        let unheard = self.unheard(time_ns, left, segment);
        let Some(host_step) = host_step else {
            return Missed {
                unheard,
                ..Missed::default()
            };
        };
        self.missing.note(host_step.passed_over, time_ns, left);
        if missing > 0 {
            self.may_go_elsewhere(time_ns);
        }
        let ports = (segment.destination_port, segment.source_port);
        let has_payload = segment.payload_bytes > 0;
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return Missed::default();
        };
        let since_ns = connection.data_ns;
        let next = connection.next;
        if segment.has(flags::SYN) && next.is_none() {
            self.accounts_for_answers(time_ns, ports);
            if has_payload {
                self.may_answer_again(time_ns, left, ports);
            }
        }
        let cleared_ns = self.threshold.cleared_ns();
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return Missed::default();
        };
        if has_payload {
            connection.data_ns = time_ns;
        } else if segment.has(flags::SYN) || segment.has(flags::RST) {
            connection.has_sent_no_data(time_ns, segment);
            return Missed::default();
        }
        // Data before which no SYN-ACK came by shows that this was missed.
        let opens = i32::from(!segment.has(flags::SYN));
        let ahead = next.map_or(opens, |next| segment.payload_seq().distance_from(next));
        if !has_payload {
            self.tells_by_number(ports, (since_ns, time_ns), ahead, host_step);
            return Missed::default();
        }
        if ahead > 0 {
            connection.hole_ns.get_or_insert(time_ns);
        }
        if ahead != 0 || written == Some(WrittenAt::OnTime) {
            connection.goes_back_ns = None;
        }
        let is_cleared = connection.hole_ns.is_some_and(|ns| ns <= cleared_ns);
        self.had_hole |= ahead != 0;
        let is_same = self.sent_by.replace(ports) == Some(ports);
        if missing > 0 && ahead == 0 && is_same && time_ns.saturating_sub(since_ns) < TIMEOUT_MIN_NS
        {
            self.missing.are_between(missing);
            self.may_go_elsewhere(time_ns);
        }
        let elsewhere = self.missing.accounted_for(since_ns);
        let (mut again, mut hole_ns) = (Again::default(), None);
        match ahead {
            ..0 => {
                let is_by_timer = !self.had_any_ack(left) && self.may_have_timed_out(ports, left);
                let is_new = self.is_of_new_flight(ports, segment);
                let is_told = !is_by_timer && (is_new || self.threshold.is_told());
                if let Some(next) = next {
                    self.recovers((time_ns, ports), (segment.payload_seq(), next), is_told);
                }
                self.lost(ports, (left, time_ns), 0, (is_new, is_by_timer));
                self.hole_timed_out(ports, left, is_by_timer);
                self.fills_hole(time_ns, ports, is_by_timer);
                self.passes_over_copies(since_ns, time_ns, segment);
            }
            0 if written == Some(WrittenAt::OnTime) => {}
            0 => {
                let found = self.missed_before(since_ns, time_ns, left, segment);
                again = found.unwrap_or_default();
            }
            1.. => {
                let first = self.shows_hole(ahead.unsigned_abs(), since_ns, time_ns);
                hole_ns = first.map(|missing| self.would_come_ns(&missing));
                if let Some(connection) = self.connection(ports.0, ports.1) {
                    connection.hole_left = connection.hole_left.or(first.map(|it| it.left()));
                }
            }
        }
        if let Some(connection) = self.connection(ports.0, ports.1).filter(|_| ahead >= 0) {
            connection.newest_ns = time_ns;
        }
        Missed {
            elsewhere,
            before: again.before,
            if_shared: again.if_shared,
            hole_ns: hole_ns.filter(|_| self.is_shared),
            is_again: again.is_known,
            unheard,
            is_cleared,
        }
    }

    /// Data that starts there is sent again on a connection and comes now, when all up to `next` had been sent: ACKs had
    /// told of a loss, or a timer ran out. If all is acknowledged by now, the ACK of that has ended the recovery.
    pub(super) fn recovers(
        &mut self,
        (time_ns, ports): (i64, (u16, u16)),
        from_to: (SeqNumber, SeqNumber),
        is_told: bool,
    ) {
        let begins_anew = self.no_recovery.is_shown();
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        connection
            .fast_recovery
            .sends_again(time_ns, from_to, !is_told || begins_anew);
        if is_told && !begins_anew && connection.in_flight() == 0 {
            let mut newest = self.acks.iter_mut().rev();
            if let Some(ack) = newest.find(|ack| ack.client_port == ports.0 && ack.is_new) {
                ack.ends_recovery = true;
            }
        }
    }

    /// Packets are missing, of which none may have been lost as long as no data has shown a loss.
    fn may_go_elsewhere(&mut self, time_ns: i64) {
        self.goes_elsewhere |= !self.had_hole && self.missing.go_elsewhere(time_ns);
    }

    /// Whether a timer had a round trip to run out since an ACK of something new started it (RFC 6298, section 5.3).
    fn may_have_timed_out(&mut self, ports: (u16, u16), left: Left) -> bool {
        let least_ns = LEAST_TIMER_NS.max(self.round_trip_ns());
        let connection = self.connection(ports.0, ports.1);
        connection.is_some_and(|it| left.to_ns.saturating_sub(it.acked_ns) >= least_ns)
    }

    /// Something was sent again that was first sent after the loss before, or not: a timer that ran out leaves the window
    /// in slow start, and ACKs that told of the loss at its threshold.
    fn lost(&mut self, ports: (u16, u16), again: (Left, i64), unseen: i64, what: (bool, bool)) {
        self.had_loss = true;
        self.no_recovery.lost(again.0, ports.0, what);
        self.closes_own(ports, unseen, what.0);
        self.closes(again, unseen, what);
    }

    /// Data comes that was missing before: if a timer sent it again, that tells how long it waits. An ACK of what was
    /// new has started it last, or the data itself when it left, not long before what came behind it.
    fn fills_hole(&mut self, time_ns: i64, ports: (u16, u16), is_by_timer: bool) {
        let way_ns = self.full_way_ns();
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let hole_ns = connection.hole_ns.take();
        let started_ns = connection.acked_ns.saturating_add(way_ns);
        let waited = hole_ns.map(|hole_ns| time_ns.saturating_sub(hole_ns.max(started_ns)));
        let is_timer = |waited_ns: &i64| is_by_timer && *waited_ns >= TIMED_OUT_MIN_NS;
        self.timer_ns = waited.filter(is_timer).or(self.timer_ns);
    }

    /// Data comes that is sent again. What it passes over behind the data that was sent again before it was sent again
    /// as well, and missed, unless an ACK told that it need not be.
    fn passes_over_copies(&mut self, since_ns: i64, time_ns: i64, segment: &Segment<'_>) {
        let ports = (segment.destination_port, segment.source_port);
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let end = segment.payload_seq().plus(segment.payload_bytes);
        let before = connection.again.replace(end);
        let known = before.map(|before| match connection.acked {
            Some(acked) if acked.is_after(before) => acked,
            _ => before,
        });
        let bytes = known.map_or(0, |known| segment.payload_seq().distance_from(known));
        if bytes > 0 {
            self.shows_hole(bytes.unsigned_abs(), since_ns, time_ns);
        }
    }

    /// Data comes that follows what came of its connection at `since_ns`. It may have been sent before, if a packet has
    /// been missing since and a timer had the time to run out, or enough ACKs told of it.
    fn missed_before(
        &mut self,
        since_ns: i64,
        time_ns: i64,
        left: Left,
        segment: &Segment<'_>,
    ) -> Option<Again> {
        let ports = (segment.destination_port, segment.source_port);
        if let Some(before) = self.goes_back(ports, left) {
            return Some(Again::of(Some(before)));
        }
        let ((client_port, server_port), again) = (ports, (left, time_ns));
        let unseen = i64::from(segment.payload_bytes);
        let is_answer = segment.has(flags::SYN);
        // Copies of what came before it may have come since, and the first question.
        let data_ns = since_ns;
        let since_ns = self.connection(client_port, server_port)?.newest_ns;
        let silent_since_ns = data_ns.max(since_ns.saturating_sub(self.to_server_ns.unwrap_or(0)));
        // The answer to a SYN may be known to be the packet that is missing.
        let own = self.missing.answer_to(client_port).filter(|_| is_answer);
        if own.is_none() {
            self.missing.left_over(since_ns).next()?;
        }
        let was_let_go = self.acks_when(left).next().is_some();
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let is_silent = time_ns.saturating_sub(silent_since_ns) >= silent_ns;
        let connection = self.connection(client_port, server_port)?;
        let (acked_ns, had_more) = (connection.acked_ns, connection.had_more());
        let with_tick = self.timers.is_tick_between(left.from_ns, left.to_ns);
        let timed_out = if is_silent && with_tick != Some(false) {
            let own = own.map(TimedOut::without_ack);
            own.or_else(|| self.timed_out(left, since_ns, acked_ns))
        } else {
            None
        };
        // What an ACK lets go no timer has sent, but by chance at the same time.
        let may_be_timer = |it: &TimedOut| it.is_exact || with_tick == Some(true);
        let timed_out = timed_out.filter(|it| !was_let_go || may_be_timer(it));
        // Nor has one that waited for another time than all others, if its application may not have had it before.
        let timed_out =
            timed_out.filter(|it| had_more || it.may_be_of(&self.timers, self.timer_ns));
        let (place, ack) = match timed_out {
            Some(ref it) => (it.place, it.ack),
            None => self.told_by(left, since_ns, client_port)?,
        };
        let is_told = timed_out.is_none();
        let noticed_ns = self.missing.noticed_ns(place).filter(|_| !is_told);
        let is_new = self.is_of_later_flight(place);
        let mut if_shared = None;
        if !self.is_shared {
            // Whether they share a window shows later.
            self.closes(again, unseen, (is_new, !is_told));
            self.closes_own(ports, unseen, is_new);
            let is_by_ack = !was_let_go && self.may_be_let_go(time_ns, segment.payload_bytes, left);
            if is_told || !is_by_ack {
                if_shared = self.missed_if_shared((place, ack), is_told);
            }
            if is_told {
                return Some(Again {
                    if_shared,
                    ..Again::default()
                });
            }
        }
        if let Some(timed_out) = timed_out.as_ref() {
            self.timers.ran_out(left.likely_ns, &timed_out.waits_ns);
            self.had_hole |= timed_out.is_exact;
        }
        if let Some(connection) = self.connection(client_port, server_port) {
            connection.goes_back_ns = noticed_ns;
        }
        let Some(would_come_ns) = self.sends_again(place, ack, client_port) else {
            return Some(Again {
                if_shared,
                ..Again::of(None)
            });
        };
        // Else its application may not have had it before.
        if self.is_shared || had_more {
            self.lost(ports, again, unseen, (is_new, !is_told));
        }
        Some(Again::of(Some(MissedBefore {
            would_come_ns,
            is_told,
            is_gone_back_to: false,
        })))
    }

    /// A missing packet was sent again, which ACK let it go first: when it would have come.
    fn sends_again(&mut self, place: usize, ack: Option<Ack>, client_port: u16) -> Option<i64> {
        let missing = self.missing.account_for(place)?;
        self.room.had_loss();
        let Some(ack) = ack else {
            // Its application, or a clock of the sender, let it go.
            return self.is_shared.then_some(missing.noticed_ns);
        };
        // Where windows are not shared, what its own ACKs let go is known to its connection.
        if !self.is_shared && ack.client_port == client_port {
            return None;
        }
        Some(self.let_go_with(&missing, ack))
    }

    /// When a missing packet would have come that this ACK let go.
    pub(super) fn let_go_with(&self, missing: &Missing, ack: Ack) -> i64 {
        let would_come_ns = ack.time_ns.saturating_add(self.full_way_ns());
        would_come_ns.clamp(missing.after_ns, missing.noticed_ns)
    }

    /// The ACK that is the likeliest to have let a missing packet go: each lets one go, and the one that came nearest to
    /// when it left let the packet go that shows that it is missing.
    pub(super) fn likely_before(&self, missing: &Missing) -> Option<&Ack> {
        let left = missing.left();
        let more = missing.more as usize;
        let acks = || self.acks_when(left).rev();
        let off_ns = |ack: &&Ack| ack.time_ns.saturating_sub(left.to_ns).saturating_abs();
        let shows = acks().min_by_key(off_ns);
        let shows = shows.filter(|ack| off_ns(ack) <= CLOSE_NS);
        let until_ns = shows.map_or(i64::MAX, |ack| ack.time_ns);
        let before = acks().filter(|ack| ack.time_ns < until_ns).nth(more);
        before
            .or_else(|| acks().nth(more))
            .or_else(|| acks().next())
    }
}
