//! What comes from the server of a pair.

use tcptrace_tcp::FULL_SEGMENT_BYTES;
use trace_model::Segment;

use super::ack::{Ack, Release};
use super::bare::Question;
use super::below_threshold::Held;
use super::clock::Silence;
use super::connection::{Opened, Step};
use super::departures::Left;
use super::flight::Coming;
use super::host_pair::HostPair;
use super::ledger::Newly;
use super::limits::Leaving;
use super::link_times::LinkTime;
use super::own_flight::Following;
use super::pacer::{is_paced_behind, is_paced_opening};
use super::queue::LetGo;
use super::release::TOGETHER_NS;
use super::threshold::OPTIONS_BYTES;
use super::Sharing;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// A segment of the server comes by, which stood in the queue of the slowest link for at most so long.
    /// It may have been sent before, and been missed.
    pub(super) fn sent(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        (queued_ns, is_missed): (i64, bool),
    ) -> Sharing {
        let client_port = segment.destination_port;
        if !self.is_at_server() {
            self.pace.comes(time_ns, segment.payload_bytes);
        }
        let ack_before = self.ack_before(time_ns, segment.payload_bytes);
        let had_loss = self.had_loss;
        let Some(connection) = self.connection(client_port, segment.source_port) else {
            return Sharing::default();
        };
        let (question, recovery) = (connection.question, connection.fast_recovery);
        let acked_ns = connection.has_all_acked_ns(segment.payload_seq());
        let step = connection.sends(time_ns, segment, had_loss);
        let Step {
            is_new,
            newly,
            begins,
            had_more,
            sent_ns,
            ..
        } = step;
        if let Some(opened) = step.opened {
            self.is_answered(opened);
        }
        self.room.sends(newly);
        let takes_ns = self.pace.of(segment.payload_bytes);
        let was_idle = self.queue.was_idle(time_ns, takes_ns);
        let left = self.leaves_queue(time_ns, segment.payload_bytes, (sent_ns, was_idle));
        if segment.payload_bytes == 0 {
            self.may_answer_mark(time_ns, segment);
            return self.sharing(false);
        }
        if begins && question.bytes > 0 && is_new && !step.is_hole {
            self.answers(time_ns, segment.payload_bytes, question);
        }
        if let Some(acked_ns) = acked_ns.filter(|_| is_new && !begins && !step.answers_syn) {
            self.was_let_go_late((acked_ns, time_ns), segment.payload_bytes);
        }
        let was_buffered = had_more && !begins && !step.is_hole;
        let clock_ns = if is_new {
            self.by_sender_clock_ns(time_ns, segment, was_buffered)
        } else {
            None
        };
        let is_by_sender_clock = clock_ns.is_some();
        let left = if is_by_sender_clock {
            LetGo::Pacer
        } else {
            left
        };
        if is_new {
            let ports = (client_port, segment.source_port);
            self.begins_with((time_ns, segment.payload_bytes), ports, step, was_idle);
        }
        // Who paces a restart goes on with what the pacer let go (Visweswaraiah and Heidemann 1997).
        if step.is_again || step.is_hole || left == LetGo::Pacer {
            self.room.had_loss();
            self.ledger.had_loss();
        }
        if step.is_again || step.is_hole {
            self.begun_anew.is_another();
            self.window_begins_anew(time_ns);
        }
        if step.is_again || is_missed {
            self.copied_ns = time_ns;
        }
        if is_new && !is_missed && !step.is_hole {
            self.goes_on_unrepaired();
        }
        if step.is_hole {
            self.missing.shown_by_hole();
        }
        let is_in_answer = had_more && !begins;
        // A short one Nagle's algorithm may have held.
        let largest = i64::from(self.pace.largest_bytes);
        let is_full = i64::from(segment.payload_bytes).saturating_add(OPTIONS_BYTES) >= largest;
        let newly_sent = Newly {
            was_held: is_in_answer && is_full,
            was_idle,
        };
        let let_go_by = if is_new {
            self.let_go_by(newly_sent)
        } else {
            None
        };
        if is_new {
            self.goes_on_anew(time_ns, newly, let_go_by);
        }
        if let Some(by) = let_go_by.filter(|_| is_in_answer && was_idle) {
            let bytes = segment.payload_bytes;
            let held = Held { bytes, newly, by };
            self.waited_for_repair(held, client_port);
            self.was_let_go(held);
        }
        let room_until_ns = self.room_until_ns(time_ns, (segment.payload_bytes, newly), was_idle);
        self.had_loss |= !is_new || is_missed;
        let silence = Silence {
            from_ns: sent_ns,
            to_ns: time_ns,
            bytes: segment.payload_bytes,
            queued_ns,
            client_port,
            begins: !is_in_answer,
        };
        let was_heard_now = self.was_heard_now(time_ns);
        let is_by_clock = is_new && !was_heard_now && self.leaves_by_clock(silence);
        if is_by_clock && is_in_answer {
            self.pacer.shows();
        }
        if step.is_lost_anew {
            self.halves();
        }
        // What a SYN had asked for comes with its answer (RFC 1644, RFC 7413), whatever the client acknowledged then.
        let is_at_once = step.opened.is_some_and(|it| self.is_at_once(it));
        let quiet_ns = time_ns.saturating_sub(sent_ns);
        let may_be_paced = is_paced_behind(begins, quiet_ns, self.round_trip_ns());
        let is_in_rhythm = left == LetGo::Pacer && self.is_shared && may_be_paced;
        // The first data behind a SYN that asked begins an answer, too; behind a hole it is not known what was pushed.
        let is_behind_pushed = !begins && !had_more && !step.answers_syn && !step.is_hole;
        let is_of_shared_clock = is_by_clock && is_behind_pushed
            || is_by_sender_clock
            || left == LetGo::Pacer && self.queue.is_exactly_paced();
        let would_be_of_pacer = is_new && !is_missed && may_be_paced && is_of_shared_clock;
        let is_behind_syn_ack = step.is_behind_syn_ack && is_behind_pushed && is_new && !is_missed;
        let lay_in_buffer = was_buffered && !step.answers_syn && is_new && !is_missed;
        let is_opening = !was_heard_now && is_paced_opening(left, quiet_ns, self.round_trip_ns());
        let opens_paced = is_behind_syn_ack && is_opening;
        let left_before_acks = lay_in_buffer
            && is_opening
            && self.is_before_acks((client_port, segment.source_port))
            && self.leaves_unheard((sent_ns, time_ns), question.time_ns, was_idle);
        // What follows a head at once was let go with that.
        if (opens_paced || left_before_acks) && was_idle
            || is_by_clock && is_in_answer && !is_missed
        {
            self.begins_paced((client_port, segment.source_port));
        }
        self.may_resume(time_ns);
        let mut release = self.fly(Coming {
            time_ns,
            bytes: segment.payload_bytes,
            client_port,
            quiet_ns,
            had_more,
            begins: begins || step.answers_syn,
            asked_ns: (begins && is_new && !is_missed).then_some(question.time_ns),
            tells_nothing: !is_new || is_missed || is_at_once,
        });
        if release == Release::None && self.is_shared {
            // Of hosts that share a window it is not asked whether that was by chance.
            let stood_ns = self.departures.newest().map_or(0, Left::stood_ns);
            release = self.release(time_ns, client_port, queued_ns.max(stood_ns));
        }
        let is_let_go_by_end = is_new && self.is_let_go_by_end(release, ack_before);
        // What the window had room for is known best of what lay in the server's buffer.
        let known = let_go_by.filter(|_| self.is_shared && is_in_answer);
        release = known.map_or(release, |ack| ack.lets_go(client_port));
        // It found the link idle, and no ACK let it go.
        let is_by_none = is_new && !is_missed && !step.is_hole && was_idle;
        let paced_ns = if is_by_none && release == Release::None {
            let since_ns = if begins { question.time_ns } else { sent_ns };
            self.held_by_pacer_ns((time_ns, segment.payload_bytes), since_ns)
        } else {
            None
        };
        if is_new {
            let leaving = Leaving {
                release,
                // The first data of an answer lay in no buffer that was full, though its SYN-ACK came before it.
                had_more: is_in_answer && !step.answers_syn,
                is_paced: left == LetGo::Pacer || is_by_clock,
                cuts_clock_short: self.sender_clock.is_cut_short(time_ns),
                client_port,
            };
            self.limits(time_ns, (segment.payload_bytes, newly), leaving);
        }
        if is_new && is_in_answer {
            self.own_goes_on(Following {
                time_ns,
                bytes: segment.payload_bytes,
                newly,
                before_ns: sent_ns,
                ports: (client_port, segment.source_port),
                is_paced: is_by_clock || left == LetGo::Pacer,
            });
        }
        let is_of_link = is_in_answer && is_new;
        let was_held = release != Release::None;
        let is_busy = sent_ns >= self.queue.busy_since_ns() && self.pace.largest_ns().is_some();
        let is_behind_others = is_busy && self.came_ns.is_some_and(|came_ns| came_ns > sent_ns);
        let gap_ns = self.came_ns.replace(time_ns);
        let gap_ns = gap_ns.map(|before_ns| time_ns.saturating_sub(before_ns));
        // What comes so closely did not wait for a writer, though that had pushed what came before.
        let is_close = |gap_ns: i64| is_new && gap_ns <= TOGETHER_NS;
        if let Some(gap_ns) = gap_ns.filter(|gap_ns| is_of_link || is_close(*gap_ns)) {
            self.arrives(gap_ns, segment.payload_bytes, was_held);
        }
        // What no ACK is known to have let go left with what one of another connection did.
        let is_of_other = |by: Option<Ack>| {
            by.map_or(release == Release::Other, |ack| {
                ack.client_port != client_port
            })
        };
        let let_go_ns = let_go_by.filter(|_| self.is_shared).map(|ack| ack.time_ns);
        Sharing {
            had_loss: step.had_loss,
            is_after_other: release == Release::Other,
            is_let_go_by_end,
            is_let_go_by_other: is_of_other(let_go_by.filter(|_| self.is_shared).or(ack_before)),
            would_be_by_other: is_of_other(let_go_by.or(ack_before)),
            is_let_go: left == LetGo::Ack && is_new,
            is_behind_others,
            is_by_no_ack: self.had_no_ack(),
            are_others_in_flight: self.are_others_in_flight(time_ns, client_port),
            is_paced: (left == LetGo::Pacer || is_by_clock) && is_new,
            is_of_pacer: self.pacer.is_shown() && is_new && (is_by_clock || is_in_rhythm)
                || self.is_shared && would_be_of_pacer
                || opens_paced
                || is_by_sender_clock && is_in_answer,
            would_be_of_pacer,
            left_before_acks,
            paced_ns,
            clock_ns,
            room_until_ns,
            phases: recovery.leaves(self.phases_as_let_go()),
            had_room_ns: self.had_room_ns().filter(|_| is_new),
            let_go_ns,
            is_let_go_by_newest: let_go_ns.is_some() && let_go_ns == self.newest_ack_ns(),
            threshold: self.inherited_threshold((client_port, segment.source_port)),
            ..self.sharing(release == Release::Other && is_new && !self.are_divided)
        }
    }

    /// The window that all use was halved: another loss of what was sent until now does not halve it again.
    fn halves(&mut self) {
        self.window_halves();
        for connection in &mut self.connections {
            connection.halved = connection.next;
        }
    }

    /// A connection was opened. What may have answered an earlier SYN came too soon after the newest one, and measures
    /// the way only while nothing else does exactly.
    fn is_answered(&mut self, opened: Opened) {
        let there_ns = opened.elapsed_ns;
        if opened.is_again && self.is_way_sure {
            return;
        }
        let is_exact = opened.is_bare && !opened.is_again;
        let is_first = is_exact && !self.is_way_sure;
        self.is_way_sure |= is_exact;
        let known_ns = self.to_server_ns.filter(|_| !is_first);
        let least = known_ns.unwrap_or(i64::MAX);
        self.to_server_ns = Some(least.min(there_ns));
        let is_close = there_ns.saturating_sub(least).saturating_abs() <= CLOSE_NS;
        self.equal_ways = if is_close {
            self.equal_ways.saturating_add(1)
        } else if there_ns < least {
            0
        } else {
            self.equal_ways
        };
    }

    /// Data that lay in the server's buffer comes by, so long after other data. All connections share the slowest
    /// link, so none of it comes closer than that takes; where an ACK may have let it go (`was_held`), a longer
    /// distance is not the link's, nor is a rhythm of delayed ACKs in which others have come in much less. A server's
    /// burst leaves in another pace.
    pub(super) fn arrives(&mut self, gap_ns: i64, bytes: u32, was_held: bool) {
        let round_trip_ns = self.round_trip_ns();
        let may_be_held = was_held && gap_ns >= round_trip_ns;
        if self.is_at_server() {
            return;
        }
        let segments = bytes.div_ceil(FULL_SEGMENT_BYTES);
        let is_as_long = segments == 1 && self.is_as_long((gap_ns, bytes));
        let is_wait = may_be_held && !is_as_long || self.pace.is_outlasted(gap_ns, bytes);
        if segments == 1 {
            self.link.came_behind(gap_ns, bytes);
        }
        if is_wait {
            if may_be_held && segments == 1 {
                self.link_times.note(LinkTime::of_distance(gap_ns, bytes));
            }
            return;
        }
        self.link.came_after(gap_ns, bytes, segments, round_trip_ns);
        self.link_times_agree();
    }

    /// An answer of so many bytes begins, in one segment.
    fn answers(&mut self, time_ns: i64, bytes: u32, question: Question) {
        let Some(to_server_ns) = self.to_server_ns.filter(|_| !self.is_at_server()) else {
            return;
        };
        let elapsed_ns = time_ns.saturating_sub(question.time_ns);
        let late_ns = elapsed_ns.saturating_sub(to_server_ns);
        let stood_ns = self.departures.newest().map_or(0, Left::stood_ns);
        let late = (late_ns, stood_ns);
        self.working.answered(late, bytes, question, &self.pace);
        let bytes = i64::from(bytes).saturating_add(i64::from(question.bytes));
        self.bare.answered(late_ns, bytes);
        self.answer_was_late(late_ns, bytes, question);
        if let Some(byte_ps) = self.bare.agrees() {
            self.link.agree_on(byte_ps, byte_ps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Pace;
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_rhythm_of_delayed_acks_is_no_link_on_which_others_have_come_in_much_less() {
        for (closest_ns, takes_ns) in [(15 * MS, None), (212 * MS, Some(212 * MS))] {
            let mut pair = HostPair::with_path(280 * MS);
            let mut pace = Pace::default();
            pace.follows(closest_ns, FULL_SEGMENT_BYTES);
            pair.pace = pace;
            for _ in 0..3 {
                pair.arrives(212 * MS, FULL_SEGMENT_BYTES, true);
            }
            let on_link_ns = pair.link.takes_ns(FULL_SEGMENT_BYTES, 1);
            let in_ms = |ns: i64| (ns + MS / 2) / MS;
            assert_eq!(on_link_ns.map(in_ms), takes_ns.map(in_ms));
        }
    }
}
