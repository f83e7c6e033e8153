//! What bare answers to SYNs and FINs of the client tell of the largest window of a pair's connections.

use trace_model::{flags, Segment};

use super::ack::Ack;
use super::connection::Connection;
use super::host_pair::HostPair;
use super::largest::{Flight, Mark, Shown};

impl HostPair {
    /// A SYN or a FIN of the client goes by, after what it acknowledges was counted.
    pub(super) fn marks(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let mark = Mark {
            time_ns,
            acked: self.room.acked(),
            acks: self.largest.acks,
            end: segment.seq.plus(segment.sequence_length()),
        };
        if !self.is_at_server() && self.connections.iter().any(Connection::had_more) {
            self.phases.is_marked();
        }
        if let Some(connection) = self.connection(segment.source_port, segment.destination_port) {
            connection.mark = Some(mark);
        }
    }

    /// A segment of the server without payload comes: the answer to a mark tells what was in flight.
    pub(super) fn may_answer_mark(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let connection = self.connection(segment.destination_port, segment.source_port);
        let mark = connection.and_then(|it| it.mark.take_if(|mark| mark.end == segment.ack));
        let is_bare = !segment.has(flags::FIN) && !self.is_at_server();
        let Some(mark) = mark.filter(|_| is_bare) else {
            return;
        };
        let had_more = self.connections.iter().any(|it| it.had_more());
        let sends = |it: &&Connection| it.sent_ns > mark.time_ns;
        let flight = Flight {
            bytes: self.room.sent().saturating_sub(mark.acked),
            acks: mark.acks,
            asked_ns: mark.time_ns,
            answered_ns: time_ns,
            senders: self.connections.iter().filter(sends).count(),
        };
        let full_bytes = i64::from(self.pace.largest_bytes);
        // After a loss a window grows by a segment in a round trip: that is not told from one that does not.
        let may_tell = !self.had_loss || self.largest.bytes.is_some();
        if !had_more || !may_tell || full_bytes == 0 {
            return;
        }
        let is_shared = self.is_shared || self.has_what_others_left(flight, full_bytes);
        match self.largest.shows(flight, full_bytes, is_shared) {
            Shown::Nothing => {}
            Shown::InUse(flight) => {
                let since_ns = self.is_largest_since_ns(flight, full_bytes);
                self.phases
                    .is_largest(since_ns.unwrap_or(flight.answered_ns));
            }
            Shown::NotThat => self.phases.was_not_largest(),
        }
    }

    /// When what a window let go came that ACKs had opened to the size of this flight since the one before, if it was
    /// never lowered: each opens it by a segment (RFC 5681, section 3.1).
    fn is_largest_since_ns(&self, flight: Flight, full_bytes: i64) -> Option<i64> {
        let before = self.largest.before;
        let oldest_ns = self.acks.front()?.time_ns;
        if self.had_loss || oldest_ns > before.asked_ns && before.acks > 0 {
            return None;
        }
        let missing = flight.bytes.saturating_sub(before.bytes);
        let acks = missing.checked_div(full_bytes)?;
        let from = self
            .acks
            .partition_point(|ack| ack.time_ns <= before.asked_ns);
        let opens = |ack: &&Ack| ack.is_new && ack.is_of_data;
        let acks = usize::try_from(acks).ok()?;
        let opened = self.acks.range(from..).filter(opens).nth(acks)?;
        let until = opened.acked.saturating_add(flight.bytes);
        let had = self.acks.partition_point(|ack| ack.acked < until);
        let since_ns = self.acks.get(had)?.time_ns;
        Some(since_ns.min(flight.answered_ns))
    }

    /// The window may have been made smaller, as what it lets go then comes.
    pub(super) fn window_begins_anew(&mut self, time_ns: i64) {
        self.largest.begins_anew(time_ns);
        self.phases.is_smaller(time_ns);
    }
}
