//! When a packet of the server left, and what it had heard by then.

use trace_model::Segment;

use super::ack::Ack;
use super::departures::Left;
use super::host_pair::HostPair;
use super::pace::OnLink;
use crate::jitter::CLOSE_NS;

/// What was lost behind the link had its time there as well: so many packets of a flight at most.
const LOST_MAX: u32 = 64;

/// What a sender had not heard when it sent something again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unheard {
    /// How long it had heard nothing, at the least and at the most: it may have stood in a queue since.
    pub least_ns: i64,
    pub most_ns: i64,
    /// Of its connection so many ACKs have gone by here that cannot have reached it.
    pub later_acks: u32,
}

impl HostPair {
    /// A packet of the server comes, before which so many were lost: when it left.
    pub(super) fn leaves(&mut self, time_ns: i64, bytes: u32, lost: u32) -> Left {
        let on_link = self.pace.on_link(bytes);
        let longer_ns = on_link.map_or(0, OnLink::longer_ns);
        let way_ns = self.to_server_ns.unwrap_or(0).saturating_add(longer_ns);
        let to_ns = time_ns.saturating_sub(way_ns);
        let lost_ns = self.lost_ns(lost);
        self.departures.comes(time_ns, to_ns, on_link, lost_ns)
    }

    /// How long the link had to do with so many packets that never came by, at the most.
    pub(super) fn lost_ns(&self, lost: u32) -> i64 {
        let full_ns = self.pace.largest_ns().unwrap_or(0);
        full_ns.saturating_mul(i64::from(lost.min(LOST_MAX)))
    }

    /// So much sooner than the way has it may a packet come by behind the ACK that let it go. On a short path that is less
    /// than times vary by: nothing comes before that ACK has gone.
    pub(super) fn early_ns(&self) -> i64 {
        let way_ns = self.to_server_ns.filter(|_| !self.is_at_server());
        way_ns.map_or(CLOSE_NS, |ns| CLOSE_NS.min(ns / 2))
    }

    /// Whether an ACK came to the server when a packet left, whatever it acknowledged.
    pub(super) fn had_any_ack(&self, left: Left) -> bool {
        let from_ns = left.from_ns.saturating_sub(CLOSE_NS);
        let to_ns = left.to_ns.saturating_add(self.early_ns());
        let from = self.acks.partition_point(|ack| ack.time_ns < from_ns);
        self.acks.get(from).is_some_and(|ack| ack.time_ns <= to_ns)
    }

    /// Whether no ACK of something new, on whichever connection, came to the server when the newest packet may have left.
    pub(super) fn had_no_ack(&self) -> bool {
        let left = self.departures.newest();
        let left = left.filter(|_| self.pace.largest_ns().is_some());
        left.is_some_and(|left| self.acks_when(left).next().is_none())
    }

    /// When the newest ACK of something new went by that had come to the server when the newest packet left.
    pub(super) fn newest_ack_ns(&self) -> Option<i64> {
        let left = self.departures.newest()?;
        let latest_ns = left.to_ns.saturating_add(self.early_ns());
        let until = self.acks.partition_point(|ack| ack.time_ns <= latest_ns);
        let mut heard = self.acks.range(..until).rev();
        heard.find(|ack| ack.is_new).map(|ack| ack.time_ns)
    }

    /// What the server had heard, or not, when it sent data again: of the connection, or of any if they share their
    /// window. None where nothing is sent again, or it is not known how long that takes on the link.
    pub(super) fn unheard(
        &mut self,
        time_ns: i64,
        left: Left,
        segment: &Segment<'_>,
    ) -> Option<Unheard> {
        self.pace.largest_ns()?;
        let latest_ns = self.left_by_ns(time_ns, segment.payload_bytes);
        let connection = self.connection(segment.destination_port, segment.source_port)?;
        let is_again = connection.next?.is_after(segment.seq);
        let to_ns = left.to_ns.saturating_add(CLOSE_NS);
        let is_of_it = |ack: &&Ack| self.is_shared || ack.client_port == segment.destination_port;
        let mut heard = self.acks.iter().rev().filter(|_| is_again).filter(is_of_it);
        let is_later = |ack: &&Ack| latest_ns.is_some_and(|ns| ack.time_ns > ns);
        let later = heard.clone().take_while(is_later);
        let later = later.filter(|ack| ack.client_port == segment.destination_port);
        let in_time = heard.clone().find(|ack| !is_later(ack))?;
        let heard = heard.find(|ack| ack.time_ns <= to_ns)?;
        Some(Unheard {
            least_ns: left.from_ns.saturating_sub(heard.time_ns),
            most_ns: left.to_ns.saturating_sub(in_time.time_ns),
            later_acks: u32::try_from(later.count()).unwrap_or(u32::MAX),
        })
    }

    /// At the latest when data left that comes now, where distances have agreed on what the link takes for it: but for
    /// the headers, of which the path's least round trip has a part.
    fn left_by_ns(&self, time_ns: i64, bytes: u32) -> Option<i64> {
        let takes_ns = |bytes: u32| self.link.takes_ns(bytes, 1);
        let (takes_ns, bare_ns) = takes_ns(bytes).zip(takes_ns(0))?;
        let way_ns = self.to_server_ns.filter(|_| !self.is_at_server())?;
        let left_ns = time_ns.saturating_sub(way_ns).saturating_sub(takes_ns);
        Some(left_ns.saturating_add(bare_ns.saturating_mul(2)))
    }

    /// The ACKs of something new that came to the server after a packet had left.
    pub(super) fn acks_after(&self, left: Left) -> impl Iterator<Item = &Ack> {
        let after_ns = left.likely_ns.saturating_add(self.early_ns());
        let from = self.acks.partition_point(|ack| ack.time_ns <= after_ns);
        self.acks.range(from..).filter(|ack| ack.is_new)
    }

    /// The ACKs of something new that came to the server when a packet left.
    pub(super) fn acks_when(&self, left: Left) -> impl DoubleEndedIterator<Item = &Ack> {
        let from_ns = left.from_ns.saturating_sub(CLOSE_NS);
        let to_ns = left.to_ns.saturating_add(self.early_ns());
        let from = self.acks.partition_point(|ack| ack.time_ns < from_ns);
        let until = self.acks.partition_point(|ack| ack.time_ns <= to_ns);
        self.acks
            .range(from..until.max(from))
            .filter(|ack| ack.is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::flags;

    fn left(from_ns: i64, to_ns: i64) -> Left {
        Left {
            from_ns,
            to_ns,
            likely_ns: from_ns,
        }
    }

    #[test]
    fn on_a_path_shorter_than_times_vary_by_no_ack_let_go_what_came_before_it_went_by() {
        const US: i64 = 1000;
        for (way_us, is_let_go) in [(220, false), (2000, true)] {
            let mut pair = HostPair::with_path(way_us * US);
            pair.to_client_ns = Some(0);
            pair.acks.push_back(Ack::of_data(1000 * US, 1, 1000));
            let sooner = left(600 * US, 600 * US);
            assert_eq!(pair.had_any_ack(sooner), is_let_go);
            assert_eq!(pair.acks_when(sooner).count(), usize::from(is_let_go));
            let just_then = left(950 * US, 950 * US);
            assert!(pair.had_any_ack(just_then));
            assert_eq!(pair.acks_when(just_then).count(), 1);
        }
    }

    #[test]
    fn no_ack_let_go_what_left_before_any_of_something_new_came() {
        const MS: i64 = 1_000_000;
        for (time_ms, is_new, had_none) in [
            (60, true, true),
            (105, true, false),
            (105, false, true),
            (140, true, true),
        ] {
            let mut pair = HostPair::with_path(50 * MS);
            pair.pace.follows(10 * MS, 1000);
            pair.acks.push_back(Ack {
                is_new,
                ..Ack::of_data(time_ms * MS, 1, 1000)
            });
            // The link was idle until 150 ms, and has carried data since.
            for came_ms in [160, 170, 180] {
                pair.leaves(came_ms * MS, 1000, 0);
            }
            assert_eq!(pair.had_no_ack(), had_none, "{time_ms} {is_new}");
        }
    }

    #[test]
    fn what_is_sent_again_tells_how_long_nothing_was_heard_of_whoever_shares_the_window() {
        let address = trace_model::IpAddress::v4([10, 0, 0, 2]);
        let mut pair = HostPair::new(address, address);
        pair.heard(0, &packet(true, flags::SYN, 0, 0));
        pair.sent(
            100,
            &packet(false, flags::SYN | flags::ACK, 0, 0),
            (0, false),
        );
        pair.sent(200, &packet(false, flags::ACK, 1, 1000), (0, false));
        for (time_ns, client_port) in [(210_000_000, 1), (250_000_000, 2)] {
            pair.acks.push_back(Ack::of_data(time_ns, client_port, 0));
        }
        let (copy, new) = (
            packet(false, flags::ACK, 1, 1000),
            packet(false, flags::ACK, 1001, 1000),
        );
        let then = left(300_000_000, 300_000_000);
        assert_eq!(
            pair.unheard(then.to_ns, then, &copy),
            None,
            "the link's pace is not known"
        );
        pair.pace.follows(1_200_000, 1000);
        let least_ns = |unheard: Option<Unheard>| unheard.map(|it| it.least_ns);
        assert_eq!(
            least_ns(pair.unheard(then.to_ns, then, &copy)),
            Some(90_000_000)
        );
        assert_eq!(pair.unheard(then.to_ns, then, &new), None);
        pair.is_shared = true;
        assert_eq!(
            least_ns(pair.unheard(then.to_ns, then, &copy)),
            Some(50_000_000)
        );
    }

    #[test]
    fn an_ack_that_went_by_after_a_copy_had_left_came_too_late_for_its_sender() {
        const MS: i64 = 1_000_000;
        let mut pair = HostPair::with_path(50 * MS);
        pair.heard(0, &packet(true, flags::SYN, 0, 0));
        let syn_ack = packet(false, flags::SYN | flags::ACK, u32::MAX - 1000, 0);
        pair.sent(50 * MS, &syn_ack, (0, false));
        let data = packet(false, flags::ACK, u32::MAX - 999, 1000);
        pair.sent(100 * MS, &data, (0, false));
        pair.pace.follows(80 * MS, 1000);
        for time_ms in [110, 260, 290] {
            pair.acks.push_back(Ack {
                is_new: false,
                ..Ack::of_data(time_ms * MS, 1, 0)
            });
        }
        let later_acks = |pair: &mut HostPair| {
            let left = left(150 * MS, 250 * MS);
            let unheard = pair.unheard(380 * MS, left, &data);
            unheard.map(|it| (it.most_ns / MS, it.later_acks))
        };
        let unknown = later_acks(&mut pair);
        assert_eq!(unknown, Some((-40, 0)), "the link is not known");
        for _ in 0..3 {
            pair.link.came_after(80 * MS, 1000, 1, 100 * MS);
        }
        assert_eq!(later_acks(&mut pair), Some((140, 2)));
    }

    fn packet(from_client: bool, flags: u16, seq: u32, payload_bytes: u32) -> Segment<'static> {
        let (source_port, destination_port) = if from_client { (1, 80) } else { (80, 1) };
        Segment {
            source_port,
            destination_port,
            ..segment(flags, seq, 0, payload_bytes)
        }
    }
}
