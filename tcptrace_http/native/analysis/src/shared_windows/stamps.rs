//! How late packets of the server are by its own clock, which stamps them when they leave (RFC 7323, section 3).
//!
//! Theory of operation. What stands in a queue leaves its sender no later for that. The stamps of a host that counts
//! milliseconds tell when each packet left against others of its connection: the least late one stood in no queue, or
//! was the answer to the SYN, and that stood for as long as the handshake took longer than the path. So a packet is late
//! by its queue, and by what the slowest link takes for it.

use trace_model::{flags, Segment};

use super::connection::Connection;
use super::host_pair::HostPair;
use super::late::Late;
use super::Sharing;

impl HostPair {
    /// How late a packet of the server is, if its clock tells.
    pub(super) fn late(&mut self, time_ns: i64, segment: &Segment<'_>) -> Option<Late> {
        let stamp = segment.options.timestamps?.value;
        let way_ns = self.to_server_ns;
        let connection = self.connection(segment.destination_port, segment.source_port)?;
        if segment.has(flags::SYN) {
            let late_ns = way_ns.map(|way_ns| connection.opening_late_ns(time_ns, way_ns));
            connection.opened_late_ns = late_ns.unwrap_or(0);
        }
        let least_ns = connection.clock.late_ns(time_ns, stamp);
        let since_opening_ns = connection.clock.later_than_first_ns(time_ns, stamp);
        let by_opening_ns = connection.opened_late_ns.saturating_add(since_opening_ns);
        self.counts_ms |= connection.clock.counts_ms();
        self.counts_ms.then_some(Late {
            least_ns,
            most_ns: least_ns.max(by_opening_ns),
        })
    }
}

impl Connection {
    /// By how much the first answer to a SYN comes later than the path takes.
    fn opening_late_ns(&self, time_ns: i64, way_ns: i64) -> i64 {
        let is_first = self.syn_ack_ns.is_none() && !self.is_opened_again;
        let late_ns = time_ns.saturating_sub(self.syn_ns).saturating_sub(way_ns);
        if is_first {
            late_ns.max(0)
        } else {
            0
        }
    }
}

impl Sharing {
    /// How long the segment stood before the slowest link behind others' data, as far as that is known, else at the most.
    pub fn queued_as_told_ns(&self) -> i64 {
        if self.is_stamped {
            self.stood_ns.min(self.queued_ns)
        } else {
            self.queued_ns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::{SeqNumber, Timestamps};

    const MS: i64 = 1_000_000;
    const PORT: u16 = 40_000;

    /// A SYN went at once.
    fn pair() -> HostPair {
        let mut pair = HostPair::with_path(20 * MS);
        let syn = Connection::new(0, (PORT, 80), SeqNumber(0), false);
        pair.connections.push_back(syn);
        pair
    }

    /// How late by least and most, in milliseconds, a packet is that a server stamps so and that comes then; its
    /// connection was opened so long after the SYN, on a path of 20 ms.
    fn late_ms(opened_ms: i64, came_ms: i64, stamp: u32) -> Option<(i64, i64)> {
        let mut pair = pair();
        let mut comes = |time_ms: i64, flags, stamp: u32| {
            let mut packet = segment(flags, u32::MAX - 5, 0, 0);
            packet.source_port = 80;
            packet.destination_port = PORT;
            packet.options.timestamps = Some(Timestamps {
                value: (u32::MAX - 50).wrapping_add(stamp),
                echo_reply: 0,
            });
            let late = pair.late(time_ms * MS, &packet);
            late.map(|it| ((it.least_ns + MS / 2) / MS, it.most_ns / MS))
        };
        comes(opened_ms, flags::SYN | flags::ACK, 0);
        comes(opened_ms + 200, flags::ACK, 200);
        comes(came_ms, flags::ACK, stamp)
    }

    #[test]
    fn a_packet_is_late_by_the_clock_of_its_sender() {
        assert_eq!(late_ms(20, 320, 300), Some((0, 0)));
        assert_eq!(late_ms(20, 420, 300), Some((100, 100)));
    }

    #[test]
    fn what_the_answer_to_the_syn_was_late_by_all_others_may_be() {
        assert_eq!(late_ms(70, 420, 300), Some((50, 100)));
    }

    #[test]
    fn a_clock_that_has_not_shown_to_count_milliseconds_tells_nothing() {
        let mut pair = pair();
        let mut packet = segment(flags::ACK, 0, 0, 0);
        assert_eq!(pair.late(0, &packet), None, "there is no stamp");
        packet.options.timestamps = Some(Timestamps {
            value: 5,
            echo_reply: 0,
        });
        (packet.source_port, packet.destination_port) = (80, PORT);
        assert_eq!(pair.late(0, &packet), None);
    }
}
