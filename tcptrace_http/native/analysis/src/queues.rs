//! Queues: packet delays beyond the path's own delay.
//!
//! Near the receiver, the sender's timestamps give the delay (RFC 7323). They count milliseconds of the
//! sender's clock. The queueing delay of a packet is its lateness relative to the earliest packet of the
//! flow. LEDBAT measures the one-way delay in the same way (RFC 6817). Near the sender, round trips give the
//! delay once the receiver has acknowledged the response.

use std::collections::VecDeque;

use trace_model::rows::{QueueMeasure, QueueRow, QueuesTable};

use crate::bounded::BoundedTable;
use crate::finished_message::FinishedMessage;

/// Minimum delay of a queue: half of LEDBAT's full queue (RFC 6817, section 2.5: 100 ms), ten times CoDel's
/// target (RFC 8289: 5 ms).
const DELAY_MIN_NS: i64 = 50_000_000;
/// Lateness of a response's first packet that must not count as server time: ten clock ticks.
const FIRST_DELAY_MIN_NS: i64 = 10_000_000;
/// Number of round trips that shows a queue: a single long one may be a delayed ACK.
const ROUND_TRIPS_MIN: u64 = 4;
/// Maximum number of responses per connection that wait for their last ACK.
///
/// More pipelined responses are too short for enough round trips. A client without ACKs must not cost memory.
const UNACKNOWLEDGED_MAX: usize = 16;

/// Delays of one response's packets beyond the smallest delay.
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

/// Complete response and its round trips so far.
#[derive(Clone, Copy, Debug)]
struct PendingResponse {
    response: FinishedMessage,
    rtt_ns: i64,
    round_trip: Delays,
}

/// Queues in front of one flow's responses.
#[derive(Debug, Default)]
pub struct Queues {
    one_way: Delays,
    round_trip: Delays,
    unacknowledged: VecDeque<PendingResponse>,
}

impl Queues {
    /// Take server data with its lateness.
    #[inline]
    pub fn data(&mut self, frame: u64, time_ns: i64, lateness_ns: i64) {
        self.one_way.add(frame, time_ns, lateness_ns);
    }

    /// Take the ACK of server data up to a stream offset, with its delay beyond the path.
    #[inline]
    pub fn acknowledged(&mut self, end: u64, frame: u64, time_ns: i64, delay_ns: i64) {
        let is_of = |it: &&mut PendingResponse| end <= it.response.end;
        self.unacknowledged
            .iter_mut()
            .find(is_of)
            .map_or(&mut self.round_trip, |it| &mut it.round_trip)
            .add(frame, time_ns, delay_ns);
    }

    /// Take a complete response: it becomes a row if its packets were late, or later if its round trips show
    /// a queue.
    pub fn on_response_end(
        &mut self,
        response: FinishedMessage,
        rtt_ns: Option<i64>,
        rows: &mut BoundedTable<QueuesTable>,
    ) {
        let one_way = std::mem::take(&mut self.one_way);
        let round_trip = std::mem::take(&mut self.round_trip);
        let Some(rtt_ns) = rtt_ns else { return };
        if one_way.most.1 >= least_ns(rtt_ns) || one_way.first.2 >= FIRST_DELAY_MIN_NS {
            rows.push(&row_of(response, &one_way, QueueMeasure::OneWay, rtt_ns));
            return;
        }
        self.unacknowledged.push_back(PendingResponse {
            response,
            rtt_ns,
            round_trip,
        });
        if self.unacknowledged.len() > UNACKNOWLEDGED_MAX {
            self.finish_oldest(rows);
        }
    }

    /// Take the client's ACK up to a stream offset: no further evidence about earlier responses follows.
    #[inline]
    pub fn finish_before(&mut self, acked: u64, rows: &mut BoundedTable<QueuesTable>) {
        while (self.unacknowledged.front()).is_some_and(|it| it.response.end <= acked) {
            self.finish_oldest(rows);
        }
    }

    /// Return the memory of the waiting responses.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        size_of::<PendingResponse>().saturating_mul(self.unacknowledged.capacity()) as u64
    }

    /// Convert the oldest response to a row, if its round trips show a queue.
    fn finish_oldest(&mut self, rows: &mut BoundedTable<QueuesTable>) {
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

/// Return the minimum queueing delay for a row.
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
    fn round_trips_count_for_their_own_pipelined_response() {
        let (mut queues, mut rows) = (Queues::default(), BoundedTable::default());
        let rtt_ns = Some(20 * MS);
        queues.on_response_end(response(0, 0, 4000), rtt_ns, &mut rows);
        queues.on_response_end(response(1, 4000, 8000), rtt_ns, &mut rows);
        let mut seen = Vec::new();
        for (segment, delay_ms) in (1..).zip([0, 10, 20, 30, 60, 70, 80, 90]) {
            let end = segment * 1000;
            queues.acknowledged(end, segment, 0, delay_ms * MS);
            let oldest = queues.unacknowledged.front().map(|it| it.round_trip);
            seen.extend(oldest.map(|it| (it.count, it.mean_ns() / MS)));
            queues.finish_before(end, &mut rows);
        }
        let first = [(1, 0), (2, 5), (3, 10), (4, 15)];
        let second = [(1, 60), (2, 65), (3, 70), (4, 75)];
        assert_eq!(seen, [first, second].concat());
        assert_eq!(rows.take().len(), 1);
    }

    #[test]
    fn client_without_acks_keeps_few_responses() {
        let (mut queues, mut rows) = (Queues::default(), BoundedTable::default());
        for transaction in 0..1000 {
            let end = u64::from(transaction) * 100 + 100;
            queues.on_response_end(response(transaction, end - 100, end), Some(MS), &mut rows);
        }
        assert_eq!(queues.unacknowledged.len(), UNACKNOWLEDGED_MAX);
    }
}
