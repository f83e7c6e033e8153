//! Data that no ACK let go: a clock of its sender did.
//!
//! Theory of operation. What lies in a sender's buffer waits for a window, and goes when an ACK makes room: one of
//! its own connection, or of another that shares the window. So what goes although no ACK came since the data
//! before it left, and did not stand before the slowest link meanwhile, was let go by a clock. It is no timer of a
//! loss if it comes sooner than those run out: its sender spreads a window that it knows from before over a round
//! trip until ACKs come (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). Where an ACK let the data
//! before go they have come: then an application filled a segment of which Nagle's algorithm had held the
//! beginning.
//! An ACK of another connection that comes in between lets neither go: it makes room when it comes.

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::ack::Ack;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

/// As much of a link's time may be its sender's pace instead, so that data comes sooner by it: a full segment at
/// 12 Mbit/s.
const SHORT_NS: i64 = 1_000_000;

/// Nothing came on a connection between these times, at the later of which so much comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    pub(super) bytes: u32,
    /// How long that may have stood behind others.
    pub(super) queued_ns: i64,
    pub(super) client_port: u16,
    /// It did not lie in the sender's buffer when what came before left.
    pub(super) begins: bool,
}

impl HostPair {
    /// Whether no ACK of data had come to the server that may have let data of a connection go, nor the data before it;
    /// the slowest link was idle in between.
    pub(super) fn leaves_by_clock(&self, silence: Silence) -> bool {
        let Silence {
            from_ns,
            to_ns,
            bytes,
            ..
        } = silence;
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let is_on_link = from_ns >= self.queue.busy_since_ns();
        if is_on_link || to_ns.saturating_sub(from_ns) >= silent_ns {
            return false;
        }
        let Some(to_server_ns) = self.to_server_ns else {
            return false;
        };
        // What several distances have not agreed on bounds the link's time from above only.
        let on_link = |bytes| self.link.takes_ns(bytes, 1).unwrap_or(0);
        let (takes_ns, headers_ns) = (on_link(bytes), on_link(0));
        // Options of the SYN, which measured the path, and framing take a part of what headers do.
        let close_ns = CLOSE_NS.saturating_add(headers_ns.max(takes_ns.min(SHORT_NS)));
        let way_ns = to_server_ns.saturating_add(takes_ns.saturating_sub(headers_ns));
        let latest_ns = to_ns.saturating_sub(way_ns).saturating_add(close_ns);
        // The one that let the data before go as well: where ACKs do that, no clock runs.
        let earliest_ns = from_ns.saturating_sub(way_ns).saturating_sub(close_ns);
        // One of its own connection may have let all go behind which that stood before the link.
        let standing_ns = from_ns.saturating_sub(self.queue.busy_before_ns(from_ns));
        let first_ns = earliest_ns.saturating_sub(standing_ns);
        let until = self.acks.partition_point(|ack| ack.time_ns <= latest_ns);
        let heard = self.acks.range(..until).rev();
        let mut since = heard.take_while(|ack| ack.time_ns > first_ns);
        let unknown_ns = self.pace.of(bytes).unwrap_or(0).saturating_sub(takes_ns);
        let near_ns = close_ns.saturating_mul(2).saturating_add(unknown_ns.max(0));
        let near_before_ns = earliest_ns.saturating_add(near_ns);
        let near_this_ns = self.may_have_left_ns(latest_ns.saturating_sub(near_ns), silence);
        // What another connection's ACK makes room for leaves when that comes.
        let may_have_let_go = |ack: &Ack| {
            let is_own = ack.client_port == silence.client_port;
            let is_near = ack.time_ns <= near_before_ns || ack.time_ns > near_this_ns;
            is_own || ack.time_ns > earliest_ns && (is_near || silence.begins)
        };
        let is_by_ack = since.any(|ack| ack.is_of_data && may_have_let_go(ack));
        !is_by_ack && !self.was_let_go_by_own(silence)
    }

    /// Whether an ACK of its own connection let the data before go, as closely as what follows at once tells what the link
    /// takes: where ACKs do that, no clock runs.
    fn was_let_go_by_own(&self, silence: Silence) -> bool {
        let Some(left_ns) = self.left_ns(silence.from_ns, silence.bytes) else {
            return false;
        };
        let from = self
            .acks
            .partition_point(|ack| ack.time_ns < left_ns.saturating_sub(CLOSE_NS));
        let close = self.acks.range(from..);
        let mut close = close.take_while(|ack| ack.time_ns <= left_ns.saturating_add(CLOSE_NS));
        close.any(|ack| ack.is_of_data && ack.client_port == silence.client_port)
    }

    /// As soon may have left what left at `left_ns` if nothing was before it: since then it may have stood before the
    /// link, behind data of others or what was lost.
    fn may_have_left_ns(&self, left_ns: i64, silence: Silence) -> i64 {
        let newest = self.departures.newest();
        let from_ns = newest.map_or(i64::MAX, |it| it.from_ns.saturating_sub(CLOSE_NS));
        from_ns.min(left_ns.saturating_sub(silence.queued_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Data came 1000 ms after the start, and the link has been idle since; an ACK went at this time, if any.
    fn pair(ack: Option<(i64, bool)>) -> HostPair {
        let mut pair = HostPair::with_path(100 * MS);
        pair.queue.was_busy_since(1000 * MS);
        pair.queue.is_idle_until(1050 * MS);
        if let Some((time_ms, is_of_data)) = ack {
            pair.acks.push_back(Ack {
                is_new: false,
                is_of_data,
                ..Ack::of_data(time_ms * MS, 2, 0)
            });
        }
        pair
    }

    fn after(from_ms: i64, to_ms: i64) -> Silence {
        Silence {
            from_ns: from_ms * MS,
            to_ns: to_ms * MS,
            bytes: 1460,
            queued_ns: 0,
            client_port: 1,
            begins: false,
        }
    }

    #[test]
    fn what_leaves_the_buffer_with_no_ack_is_let_go_by_a_clock() {
        assert!(pair(None).leaves_by_clock(after(1000, 1050)));
        // The one was long before the data before, the other is not with the server yet.
        assert!(pair(Some((850, true))).leaves_by_clock(after(1000, 1050)));
        assert!(pair(Some((951, true))).leaves_by_clock(after(1000, 1050)));
        // A request lets nothing go that lay there.
        assert!(pair(Some((940, false))).leaves_by_clock(after(1000, 1050)));
    }

    #[test]
    fn what_an_ack_of_any_connection_may_have_let_go_is_not() {
        assert!(!pair(Some((950, true))).leaves_by_clock(after(1000, 1050)));
        // It let the data before go.
        assert!(!pair(Some((900, true))).leaves_by_clock(after(1000, 1050)));
    }

    #[test]
    fn what_an_ack_of_its_own_went_before_is_not_and_another_connections_lets_go_when_it_comes() {
        let between = pair(Some((920, true)));
        let of = |client_port, begins| Silence {
            client_port,
            begins,
            ..after(1000, 1050)
        };
        assert!(between.leaves_by_clock(of(1, false)));
        assert!(!between.leaves_by_clock(of(2, false)));
        assert!(!between.leaves_by_clock(of(1, true)));
        let stood = Silence {
            queued_ns: 30 * MS,
            ..after(1000, 1050)
        };
        assert!(!between.leaves_by_clock(stood));
    }

    #[test]
    fn what_an_ack_of_its_own_let_go_and_stood_before_the_link_tells_that_no_clock_runs() {
        for (own_port, is_by_clock) in [(2, false), (1, true)] {
            let mut burst = pair(Some((870, true)));
            let silence = Silence {
                client_port: own_port,
                ..after(1000, 1050)
            };
            burst.queue.was_busy_since(1000 * MS);
            assert!(burst.leaves_by_clock(silence));
            // Since then the link has been busy until the data before came.
            burst.queue.was_busy_since(970 * MS);
            assert_eq!(burst.leaves_by_clock(silence), is_by_clock);
        }
    }

    #[test]
    fn what_came_as_long_behind_its_ack_as_the_link_takes_for_it_tells_that_no_clock_runs() {
        for (takes_ms, is_by_clock) in [(0, true), (3, false)] {
            let mut pair = pair(Some((897, true)));
            if takes_ms > 0 {
                pair.pace.follows(takes_ms * MS, 1460);
            }
            let own = Silence {
                client_port: 2,
                ..after(1000, 1050)
            };
            assert_eq!(pair.leaves_by_clock(own), is_by_clock);
        }
    }

    #[test]
    fn on_a_link_that_is_no_slow_one_data_may_come_as_soon_as_the_path_lets_it() {
        for (takes_ms, is_by_clock) in [(1, false), (10, true)] {
            let mut pair = pair(Some((950, true)));
            for _ in 0..3 {
                pair.link.came_after(takes_ms * MS, 1460, 1, 100 * MS);
            }
            assert_eq!(pair.leaves_by_clock(after(1000, 1050)), is_by_clock);
        }
    }

    #[test]
    fn what_stood_before_the_link_or_comes_when_a_timer_has_run_out_is_not() {
        assert!(!pair(None).leaves_by_clock(after(1050, 1060)));
        assert!(!pair(None).leaves_by_clock(after(1000, 1400)));
    }
}
