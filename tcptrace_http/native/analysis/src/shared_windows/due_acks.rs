//! When the ACK of what the server sends is due, next to it: behind all that it has sent on any connection.

use trace_model::{flags, Segment};

use super::host_pair::HostPair;
use super::way::Way;

impl HostPair {
    /// A packet of the client comes by.
    pub(super) fn queue_hears(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let ports = (segment.source_port, segment.destination_port);
        if let Some(way) = self.way_from_server().filter(|_| segment.has(flags::ACK)) {
            let asked = self.asked.closest();
            let ack = (segment.ack, segment.payload_bytes);
            let late = self.sent_queue.hears(time_ns, ports, ack, way, asked);
            if let Some(late) = late {
                self.acked_late(late);
            }
        }
    }

    /// A packet of the server comes by: when its ACK is due, if the link is known.
    pub(super) fn queue_sends(&mut self, time_ns: i64, segment: &Segment<'_>) -> Option<i64> {
        let ports = (segment.destination_port, segment.source_port);
        if segment.has(flags::SYN) {
            self.sent_queue.opens(ports, segment.seq.plus(1));
            if segment.payload_bytes > 0 {
                self.sent_queue.begins_with_syn(ports);
            }
        }
        let way = self.way_from_server()?;
        if segment.payload_bytes == 0 {
            if segment.has(flags::FIN) {
                self.sent_queue.closes(time_ns, ports, way);
            }
            self.sent_queue.sends_bare(time_ns, way);
            return None;
        }
        // What comes with a SYN lies behind it.
        let start = segment.seq.plus(segment.has(flags::SYN).into());
        let data = (start, segment.payload_bytes);
        self.sent_queue.sends(time_ns, ports, data, way)
    }

    /// How many ACKs of other connections have passed over what the connection of this packet has on its way, the last of
    /// them right now.
    pub(super) fn passed_over(&self, time_ns: i64, segment: &Segment<'_>) -> u32 {
        let ports = (segment.destination_port, segment.source_port);
        self.sent_queue.passed_over_now(time_ns, ports)
    }

    /// Whether an ACK has told that something behind this packet came, which is sent again.
    pub(super) fn has_come_behind(&self, segment: &Segment<'_>) -> bool {
        let ports = (segment.destination_port, segment.source_port);
        self.sent_queue.has_come_behind(ports, segment.seq)
    }

    /// The way to the client and back, if this is the server's end.
    pub(super) fn way_from_server(&self) -> Option<Way> {
        self.client_way.filter(|_| self.is_at_server())
    }

    /// A SYN-ACK was answered after such a time, with so much data: the least of these ways is that which is the least
    /// without the data, as far as it is known what that took.
    pub(super) fn came_back(&mut self, elapsed_ns: i64, bytes: u32) {
        self.to_client_ns = self.to_client_ns.into_iter().chain([elapsed_ns]).min();
        let byte_ps = self.sent_queue.byte_ps();
        let way = Way { elapsed_ns, bytes };
        let is_less = |known: Way| way.bare_ns(byte_ps) < known.bare_ns(byte_ps);
        if self.client_way.is_none_or(is_less) {
            self.client_way = Some(way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use crate::byte_time::ByteTime;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_way_without_a_request_is_none_the_less_if_it_took_longer_than_that_with_one_but_for_it() {
        let mut pair = HostPair::with_path(0);
        pair.came_back(70 * MS, 600);
        pair.came_back(30 * MS, 0);
        let way = |pair: &HostPair| pair.way_from_server().map(|it| (it.elapsed_ns, it.bytes));
        assert_eq!(way(&pair), Some((30 * MS, 0)));
        let asked = way(&pair_that_knows_the_link());
        assert_eq!(asked, Some((70 * MS, 600)));
    }

    /// ... where a byte takes 0.1 ms.
    fn pair_that_knows_the_link() -> HostPair {
        let mut pair = HostPair::with_path(0);
        pair.came_back(70 * MS, 600);
        let way = Way {
            elapsed_ns: 70 * MS,
            bytes: 600,
        };
        let takes = ByteTime::with_frames(100_000_000);
        pair.sent_queue.link_takes(takes, way);
        pair.came_back(30 * MS, 0);
        pair
    }

    #[test]
    fn data_that_comes_with_a_syn_is_told_of_by_the_ack_of_all_of_it() {
        let mut pair = HostPair::with_path(0);
        pair.came_back(30 * MS, 0);
        let way = Way {
            elapsed_ns: 30 * MS,
            bytes: 0,
        };
        let data = segment(flags::SYN | flags::ACK, 0, 1, 1000);
        pair.queue_sends(0, &data);
        let ports = (data.destination_port, data.source_port);
        let ack = (data.seq.plus(1001), 0);
        let late = pair.sent_queue.hears(40 * MS, ports, ack, way, None);
        assert!(late.is_some());
    }
}
