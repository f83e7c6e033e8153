//! Packets of the server that were missed: which connection accounts for them.

use trace_model::Segment;

use super::host_pair::{HostPair, SEGMENT_BYTES};
use super::release::Ack;
use crate::hosts::HostStep;
use crate::timeouts::TIMEOUT_MIN_NS;

/// ACKs of data sent later that tell of a loss (RFC 5681, section 3.2).
const DUPLICATE_ACKS: usize = 3;

/// What the numbers of the server tell when a packet comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    /// How many packets were missed since the last data of its connection that others account for.
    pub(super) elsewhere: u32,
    pub(super) before: Option<MissedBefore>,
}

/// Data that comes was sent before, and that was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedBefore {
    /// When it would have come.
    pub would_come_ns: i64,
    /// ACKs of other connections told of the loss, and no timer.
    pub is_told: bool,
}

impl HostPair {
    /// Takes what the numbers of the server tell when a packet of this connection comes.
    pub(super) fn misses(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        host_step: Option<HostStep>,
    ) -> Missed {
        let Some(host_step) = host_step else {
            return Missed::default();
        };
        self.missing.note(host_step.passed_over, time_ns);
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let client_port = segment.destination_port;
        let has_payload = segment.payload_bytes > 0;
        let connection = self.connection(client_port, segment.source_port);
        let Some(connection) = connection.filter(|_| has_payload) else {
            return Missed::default();
        };
        let since_ns = std::mem::replace(&mut connection.data_ns, time_ns);
        let next = connection.next;
        let ahead = next.map_or(0, |next| segment.seq.distance_from(next));
        let elsewhere = self.missing.accounted_for(since_ns);
        let mut before = None;
        if ahead > 0 {
            let full_bytes = match self.pace.largest_bytes {
                0 => SEGMENT_BYTES,
                largest => largest,
            };
            let lost = ahead.unsigned_abs().div_ceil(full_bytes);
            self.missing.account_for_hole(lost, since_ns);
        } else if ahead == 0 {
            let let_go = self
                .ack_before(time_ns, segment.payload_bytes)
                .filter(|_| self.is_shared);
            let is_silent = time_ns.saturating_sub(since_ns) >= silent_ns;
            let between = match let_go {
                // What an ACK lets go no timer has sent.
                Some(ack) => self.told_by(ack, since_ns),
                None if is_silent => self.missing.account_for_timer(since_ns, time_ns),
                None => None,
            };
            if between.is_some() {
                self.room.had_loss();
            }
            let would_come_ns = between.and_then(|between| self.would_come(between, client_port));
            before = would_come_ns.map(|would_come_ns| MissedBefore {
                would_come_ns,
                is_told: let_go.is_some(),
            });
        }
        Missed { elsewhere, before }
    }

    /// What was missed since `since_ns` is sent again when so many ACKs of data that was sent later have come as this
    /// is the last of: in an ensemble those of other connections are as good as duplicate ones (E-TCP, section 3).
    fn told_by(&mut self, last: Ack, since_ns: i64) -> Option<(i64, i64)> {
        let acks = &self.acks;
        let told = |noticed_ns: i64| {
            let before = |time_ns: i64| acks.partition_point(|ack| ack.time_ns < time_ns);
            let later = acks.range(before(noticed_ns)..);
            let later = later.take_while(|ack| ack.time_ns <= last.time_ns);
            later.filter(|ack| ack.is_new).count() == DUPLICATE_ACKS
        };
        self.missing.account_for_told(since_ns, told)
    }

    /// When data of this connection would have come between two times, if the ACK of another one let it go then.
    fn would_come(&self, (after_ns, before_ns): (i64, i64), client_port: u16) -> Option<i64> {
        let way_ns = self
            .to_server_ns?
            .saturating_add(self.pace.largest_ns().unwrap_or(0));
        let came = |ack: &&Ack| {
            let came_ns = ack.time_ns.saturating_add(way_ns);
            came_ns > after_ns && came_ns <= before_ns
        };
        let newest = self.acks.iter().rev().find(came)?;
        let is_of_other = newest.client_port != client_port;
        is_of_other.then(|| newest.time_ns.saturating_add(way_ns))
    }
}
