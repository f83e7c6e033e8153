//! What was sent again if connections share their window, before that is known.
//!
//! Theory of operation. Hosts show only after some flights that they share a window. Until then what a timer or the ACKs
//! of others would have sent again in one is told both ways. Who sends one missing packet again has it then: others that
//! would have sent it again as well have not lost it. But nothing else is known of it, for their own numbers or a hole
//! may show whose it was.

use super::ack::Ack;
use super::departures::Left;
use super::host_pair::HostPair;
use super::missed::MissedBefore;

impl HostPair {
    /// The missing packet at this place, which that ACK has let go, was sent again if connections share their window: as
    /// ACKs told (`is_told`), or by a timer.
    pub(super) fn missed_if_shared(
        &mut self,
        (place, ack): (usize, Option<Ack>),
        is_told: bool,
    ) -> Option<MissedBefore> {
        let missing = self.missing.claim(place)?;
        Some(MissedBefore {
            would_come_ns: self.let_go_with(&missing, ack?),
            is_told,
            is_gone_back_to: false,
        })
    }

    /// Whether an ACK came to the server when data left, if the link takes less for that than it seems to: as long as
    /// distances have not agreed on it, it may.
    pub(super) fn may_be_let_go(&self, time_ns: i64, bytes: u32, left: Left) -> bool {
        let latest = Left {
            from_ns: left.to_ns,
            to_ns: time_ns.saturating_sub(self.to_server_ns.unwrap_or(0)),
            ..left
        };
        self.link.takes_ns(bytes, 1).is_none() && self.acks_when(latest).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn as_long_as_the_link_is_not_known_data_may_have_left_any_time_since_its_way_began() {
        for (ack_ms, samples, may_be) in [(290, 0, true), (270, 0, false), (290, 3, false)] {
            let mut pair = HostPair::with_path(100 * MS);
            for _ in 0..samples {
                pair.link.came_after(20 * MS, 1000, 1, 100 * MS);
            }
            pair.acks.push_back(Ack::of_data(ack_ms * MS, 1, 1000));
            let left = Left {
                from_ns: 280 * MS,
                to_ns: 280 * MS,
                likely_ns: 280 * MS,
            };
            assert_eq!(pair.may_be_let_go(400 * MS, 1000, left), may_be);
        }
    }
}
