//! Queues: how much longer packets took than the path asks for.
//!
//! Near the receiver the timestamps of the sender tell (RFC 7323): they count its milliseconds, so a
//! packet that is later by them than the least late one of the flow stood in a queue that much longer
//! (one-way delay as in LEDBAT, RFC 6817). Near the sender round trips tell, once the receiver has acknowledged the
//! response: its last byte was sent a round trip and a queue before that.

use std::collections::VecDeque;

use trace_model::rows::{QueueMeasure, QueueRow, QueuesTable};

use crate::bounded::Bounded;
use crate::finished_message::FinishedMessage;

/// Linux, Windows, macOS and FreeBSD count milliseconds. A clock that does not is not used: this many
/// of its milliseconds must have taken about as long.
const TICK_NS: i64 = 1_000_000;
const CLOCK_SURE_NS: i64 = 100_000_000;
/// A queue that grows makes them take longer, by no more than this while it is believed; the next
/// slower clock in use takes four times as long.
const CLOCK_SLOW_MAX: i64 = 3;
/// A clock that counts anything but milliseconds is further off than by such a part of what passed.
const CLOCK_OFF_SHARE: i64 = 2;
/// The clocks of two hosts differ in their rates by less than such a part: crystals are exact to some ten parts in a
/// million (RFC 6817, appendix A.2, has what that does to the least delay).
pub(crate) const SKEW_MAX_SHARE: i64 = 10_000;
/// Half of the delay that LEDBAT calls a full queue (RFC 6817, section 2.5: 100 ms), ten times what
/// CoDel leaves standing (RFC 8289: 5 ms).
const DELAY_MIN_NS: i64 = 50_000_000;
/// The first packet of a response that was later than this tells of its server what must not be taken for
/// its work: ten times the tick of its clock.
const FIRST_DELAY_MIN_NS: i64 = 10_000_000;
/// Round trips that show a queue: a single long one may be a delayed ACK.
const ROUND_TRIPS_MIN: u64 = 4;
/// Responses of a connection whose last ACK is awaited. Of more that are pipelined each is too short to have as many
/// round trips; a client that acknowledges nothing must not cost memory.
const UNACKNOWLEDGED_MAX: usize = 16;

/// The clock of a sender, as its timestamps show it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderClock {
    first: Option<(i64, u32)>,
    least_ns: i64,
    least_at_ns: i64,
    is_sure: bool,
    counts_ms: bool,
}

impl SenderClock {
    /// How much later a packet came than the least late one; none while the clock is not known.
    #[inline]
    pub fn lateness_ns(&mut self, time_ns: i64, timestamp: u32) -> Option<i64> {
        let late_ns = self.late_ns(time_ns, timestamp);
        self.is_sure.then_some(late_ns)
    }

    /// ... if it counts milliseconds.
    #[inline]
    pub fn late_ns(&mut self, time_ns: i64, timestamp: u32) -> i64 {
        let (first_ns, first) = *self.first.get_or_insert((time_ns, timestamp));
        let counted = counted_ns(first, timestamp);
        let elapsed = time_ns.saturating_sub(first_ns);
        let offset = elapsed.saturating_sub(counted);
        let aged_ns = time_ns.saturating_sub(self.least_at_ns) / SKEW_MAX_SHARE;
        let least_ns = self.least_ns.saturating_add(aged_ns);
        if offset <= least_ns || first_ns == time_ns {
            (self.least_ns, self.least_at_ns) = (offset, time_ns);
        }
        if counted >= CLOCK_SURE_NS {
            self.is_sure = elapsed <= counted.saturating_mul(CLOCK_SLOW_MAX)
                && counted <= elapsed.saturating_mul(CLOCK_SLOW_MAX);
            let off = elapsed.saturating_sub(counted).saturating_abs();
            self.counts_ms = off <= counted.min(elapsed) / CLOCK_OFF_SHARE;
        }
        offset.saturating_sub(least_ns.min(offset))
    }

    /// How much later a packet came than the first one, if it counts milliseconds.
    #[must_use]
    pub fn later_than_first_ns(&self, time_ns: i64, timestamp: u32) -> i64 {
        self.first.map_or(0, |(first_ns, first)| {
            let elapsed = time_ns.saturating_sub(first_ns);
            elapsed.saturating_sub(counted_ns(first, timestamp))
        })
    }

    /// Whether it is known to count milliseconds, and no multiple of them.
    #[must_use]
    pub fn counts_ms(&self) -> bool {
        self.counts_ms
    }
}

/// What a clock of milliseconds has counted from one timestamp to another.
pub(crate) fn counted_ns(first: u32, timestamp: u32) -> i64 {
    i64::from(timestamp.wrapping_sub(first) as i32).saturating_mul(TICK_NS)
}

/// Delays over the least, of the packets of one response.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    count: u64,
    sum_ns: i64,
    first: (u64, i64, i64),
    most: (u64, i64),
    last_ns: i64,
}

impl Delays {
    fn add(&mut self, frame: u64, time_ns: i64, delay_ns: i64) {
        if self.count == 0 {
            self.first = (frame, time_ns, delay_ns);
        }
        self.count = self.count.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(delay_ns);
        if delay_ns > self.most.1 {
            self.most = (frame, delay_ns);
        }
        self.last_ns = delay_ns;
    }

    fn mean_ns(&self) -> i64 {
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        self.sum_ns.checked_div(count).unwrap_or(0)
    }
}

/// A response that has come by to its end, and what its round trips tell so far.
#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    response: FinishedMessage,
    rtt_ns: i64,
    round_trip: Delays,
}

/// The queues that one flow's responses met.
#[derive(Debug, Default)]
pub struct Queues {
    one_way: Delays,
    round_trip: Delays,
    unacknowledged: VecDeque<Unacknowledged>,
}

impl Queues {
    /// Data of the server came so much later than it might have.
    #[inline]
    pub fn data(&mut self, frame: u64, time_ns: i64, lateness_ns: i64) {
        self.one_way.add(frame, time_ns, lateness_ns);
    }

    /// Data of the server up to a stream offset was acknowledged so much later than the path asks for.
    #[inline]
    pub fn acknowledged(&mut self, end: u64, frame: u64, time_ns: i64, delay_ns: i64) {
        let is_of = |it: &&mut Unacknowledged| end <= it.response.end;
        self.unacknowledged
            .iter_mut()
            .find(is_of)
            .map_or(&mut self.round_trip, |it| &mut it.round_trip)
            .add(frame, time_ns, delay_ns);
    }

    /// A response is complete: if its packets came late it becomes a row, else once its round trips have told.
    pub fn response_ends(
        &mut self,
        response: FinishedMessage,
        rtt_ns: Option<i64>,
        rows: &mut Bounded<QueuesTable>,
    ) {
        let one_way = std::mem::take(&mut self.one_way);
        let round_trip = std::mem::take(&mut self.round_trip);
        let Some(rtt_ns) = rtt_ns else { return };
        if one_way.most.1 >= least_ns(rtt_ns) || one_way.first.2 >= FIRST_DELAY_MIN_NS {
            rows.push(&row_of(response, &one_way, QueueMeasure::OneWay, rtt_ns));
            return;
        }
        self.unacknowledged.push_back(Unacknowledged {
            response,
            rtt_ns,
            round_trip,
        });
        if self.unacknowledged.len() > UNACKNOWLEDGED_MAX {
            self.tell_oldest(rows);
        }
    }

    /// The client has acknowledged all up to a stream offset: nothing more tells of the responses before it.
    #[inline]
    pub fn tell_before(&mut self, acked: u64, rows: &mut Bounded<QueuesTable>) {
        while (self.unacknowledged.front()).is_some_and(|it| it.response.end <= acked) {
            self.tell_oldest(rows);
        }
    }

    /// Memory that what is remembered takes.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        size_of::<Unacknowledged>().saturating_mul(self.unacknowledged.capacity()) as u64
    }

    /// The oldest response becomes a row, if its round trips show a queue.
    fn tell_oldest(&mut self, rows: &mut Bounded<QueuesTable>) {
        let Some(oldest) = self.unacknowledged.pop_front() else {
            return;
        };
        let (seen, rtt_ns) = (oldest.round_trip, oldest.rtt_ns);
        if seen.count >= ROUND_TRIPS_MIN && seen.mean_ns() >= least_ns(rtt_ns) {
            let by = QueueMeasure::RoundTrip;
            rows.push(&row_of(oldest.response, &seen, by, rtt_ns));
        }
    }
}

/// From which delay on packets stood in a queue that is worth a row.
fn least_ns(rtt_ns: i64) -> i64 {
    DELAY_MIN_NS.max(rtt_ns)
}

fn row_of(
    response: FinishedMessage,
    delays: &Delays,
    measured_by: QueueMeasure,
    rtt: i64,
) -> QueueRow {
    QueueRow {
        flow: response.flow,
        transaction: response.transaction,
        first_frame: delays.first.0,
        start: delays.first.1,
        first_delay: delays.first.2,
        most_frame: delays.most.0,
        most_delay: delays.most.1,
        mean_delay: delays.mean_ns(),
        last_delay: delays.last_ns,
        samples: delays.count,
        measured_by,
        rtt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::rows::Direction;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_packet_that_is_later_by_its_senders_clock_stood_in_a_queue() {
        let mut clock = SenderClock::default();
        let start = u32::MAX - 50;
        let lateness = [(0, 0), (100, 100), (290, 200), (300, 300)].map(|(time, ticks)| {
            let late_ns = clock.lateness_ns(time * MS, start.wrapping_add(ticks));
            late_ns.map(|late_ns| (late_ns + MS / 2) / MS)
        });
        assert_eq!(lateness, [None, Some(0), Some(90), Some(0)]);
    }

    #[test]
    fn a_clock_that_goes_slower_than_the_captures_makes_nothing_late() {
        let mut clock = SenderClock::default();
        for second in 0..1000_i64 {
            let time_ns = second * 1000 * MS + second * MS / 20;
            let ticks = u32::try_from(second * 1000).unwrap_or(0);
            let late_ns = clock.late_ns(time_ns, ticks);
            assert!(late_ns < MS, "{late_ns} after {second} s");
        }
    }

    #[test]
    fn a_clock_that_counts_two_milliseconds_is_told_from_one_that_stood_in_a_queue() {
        let counts_ms = |elapsed_ms: i64, ticks: u32| {
            let mut clock = SenderClock::default();
            clock.late_ns(0, 7);
            clock.late_ns(elapsed_ms * MS, ticks + 7);
            clock.counts_ms()
        };
        assert!(counts_ms(200, 200));
        assert!(counts_ms(290, 200), "a queue of 90 ms");
        assert!(!counts_ms(400, 200));
        assert!(!counts_ms(100, 200));
    }

    #[test]
    fn a_clock_that_does_not_count_milliseconds_tells_nothing() {
        let mut clock = SenderClock::default();
        for tick in 0..200 {
            assert_eq!(clock.lateness_ns(i64::from(tick) * 10 * MS, tick), None);
        }
    }

    fn response(transaction: u32, start: u64, end: u64) -> FinishedMessage {
        FinishedMessage {
            flow: 0,
            transaction,
            direction: Direction::ServerToClient,
            start,
            end,
            head_bytes: 100,
        }
    }

    #[test]
    fn round_trips_that_end_behind_responses_in_a_pipeline_tell_of_each_its_own() {
        let (mut queues, mut rows) = (Queues::default(), Bounded::default());
        let rtt_ns = Some(20 * MS);
        queues.response_ends(response(0, 0, 4000), rtt_ns, &mut rows);
        queues.response_ends(response(1, 4000, 8000), rtt_ns, &mut rows);
        let mut seen = Vec::new();
        for (segment, delay_ms) in (1..).zip([0, 10, 20, 30, 60, 70, 80, 90]) {
            let end = segment * 1000;
            queues.acknowledged(end, segment, 0, delay_ms * MS);
            let oldest = queues.unacknowledged.front().map(|it| it.round_trip);
            seen.extend(oldest.map(|it| (it.count, it.mean_ns() / MS)));
            queues.tell_before(end, &mut rows);
        }
        let first = [(1, 0), (2, 5), (3, 10), (4, 15)];
        let second = [(1, 60), (2, 65), (3, 70), (4, 75)];
        assert_eq!(seen, [first, second].concat());
        assert_eq!(rows.take().len(), 1);
    }

    #[test]
    fn a_client_that_acknowledges_nothing_has_few_responses_remembered() {
        let (mut queues, mut rows) = (Queues::default(), Bounded::default());
        for transaction in 0..1000 {
            let end = u64::from(transaction) * 100 + 100;
            queues.response_ends(response(transaction, end - 100, end), Some(MS), &mut rows);
        }
        assert_eq!(queues.unacknowledged.len(), UNACKNOWLEDGED_MAX);
    }
}
