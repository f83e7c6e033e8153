//! Data that no ACK let go: a clock of its sender did.
//!
//! Theory of operation. What lies in a sender's buffer waits for a window, and goes when an ACK makes room: one of
//! its own connection, or of another that shares the window. So what goes although no ACK came since the data
//! before it left, and did not stand before the slowest link meanwhile, was let go by a clock. It is no timer of a
//! loss if it comes sooner than those run out: its sender spreads a window that it knows from before over a round
//! trip until ACKs come (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). Where an ACK let the data
//! before go they have come: then an application filled a segment of which Nagle's algorithm had held the
//! beginning.

use super::host_pair::{HostPair, SEGMENT_BYTES};
use crate::jitter::CLOSE_NS;
use crate::timeouts::TIMEOUT_MIN_NS;

impl HostPair {
    /// Whether no ACK of data had come to the server when data left, nor when the data of its connection left
    /// that came at `before_ns`, or since; the slowest link was idle in between.
    pub(super) fn leaves_by_clock(&self, before_ns: i64, time_ns: i64, bytes: u32) -> bool {
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let is_on_link = before_ns >= self.queue.busy_since_ns();
        if is_on_link || time_ns.saturating_sub(before_ns) >= silent_ns {
            return false;
        }
        let Some(to_server_ns) = self.to_server_ns else {
            return false;
        };
        // What several distances have not agreed on bounds the link's time from above only.
        let on_link = |bytes| self.link.takes_ns(bytes, 1, SEGMENT_BYTES).unwrap_or(0);
        let (takes_ns, headers_ns) = (on_link(bytes), on_link(0));
        // Options of the SYN, which measured the path, and framing take a part of what headers do.
        let close_ns = CLOSE_NS.saturating_add(headers_ns);
        let way_ns = to_server_ns.saturating_add(takes_ns.saturating_sub(headers_ns));
        let latest_ns = time_ns.saturating_sub(way_ns).saturating_add(close_ns);
        // The one that let the data before go as well: where ACKs do that, no clock runs.
        let earliest_ns = before_ns.saturating_sub(way_ns).saturating_sub(close_ns);
        let until = self.acks.partition_point(|ack| ack.time_ns <= latest_ns);
        let heard = self.acks.range(..until).rev();
        let mut since = heard.take_while(|ack| ack.time_ns > earliest_ns);
        !since.any(|ack| ack.is_of_data)
    }
}

#[cfg(test)]
mod tests {
    use super::super::release::Ack;
    use super::*;
    use trace_model::IpAddress;

    const MS: i64 = 1_000_000;

    /// Data came 1000 ms after the start, and the link has been idle since; an ACK went at this time, if any.
    fn pair(ack: Option<(i64, bool)>) -> HostPair {
        let address = IpAddress {
            is_v6: false,
            octets: [0; 16],
        };
        let mut pair = HostPair::new(address, address);
        pair.to_server_ns = Some(100 * MS);
        pair.queue.is_idle_until(1050 * MS);
        if let Some((time_ms, is_of_data)) = ack {
            pair.acks.push_back(Ack {
                time_ns: time_ms * MS,
                client_port: 2,
                is_new: false,
                is_of_data,
                acked: 0,
                of_ns: 0,
            });
        }
        pair
    }

    #[test]
    fn what_leaves_the_buffer_with_no_ack_is_let_go_by_a_clock() {
        assert!(pair(None).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
        // The one was long before the data before, the other is not with the server yet.
        assert!(pair(Some((850, true))).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
        assert!(pair(Some((951, true))).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
        // A request lets nothing go that lay there.
        assert!(pair(Some((940, false))).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
    }

    #[test]
    fn what_an_ack_of_any_connection_may_have_let_go_is_not() {
        assert!(!pair(Some((950, true))).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
        // It let the data before go.
        assert!(!pair(Some((900, true))).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
        assert!(!pair(Some((920, true))).leaves_by_clock(1000 * MS, 1050 * MS, 1460));
    }

    #[test]
    fn what_stood_before_the_link_or_comes_when_a_timer_has_run_out_is_not() {
        assert!(!pair(None).leaves_by_clock(1050 * MS, 1060 * MS, 1460));
        assert!(!pair(None).leaves_by_clock(1000 * MS, 1400 * MS, 1460));
    }
}
