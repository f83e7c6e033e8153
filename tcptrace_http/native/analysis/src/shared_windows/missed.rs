//! Packets of the server that were missed: which connection accounts for them.

use super::host_pair::HostPair;
use super::host_pair::SEGMENT_BYTES;
use super::release::Ack;
use crate::hosts::HostStep;
use crate::missing_packets::TIMEOUT_MIN_NS;
use trace_model::Segment;

/// What the numbers of the server tell when a packet comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    /// How many packets were missed since the last data of its connection that others account for.
    pub(super) elsewhere: u32,
    pub(super) would_come_ns: Option<i64>,
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
        let mut would_come_ns = None;
        if ahead > 0 {
            let full_bytes = match self.pace.largest_bytes {
                0 => SEGMENT_BYTES,
                largest => largest,
            };
            let lost = ahead.unsigned_abs().div_ceil(full_bytes);
            self.missing.account_for_hole(lost, since_ns);
        } else if ahead == 0 && time_ns.saturating_sub(since_ns) >= silent_ns {
            let between = self.missing.account_for_timer(since_ns, time_ns);
            would_come_ns = between.and_then(|between| self.would_come(between, client_port));
        }
        Missed {
            elsewhere,
            would_come_ns,
        }
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
