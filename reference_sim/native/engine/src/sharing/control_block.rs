//! Shared control blocks: a new connection starts from the state of earlier or concurrent connections of a
//! pair of hosts (RFC 2140).

use std::collections::BTreeMap;

use super::{Estimate, HostPair, Path};
use crate::stack::Nanoseconds;

/// Weight of a new round trip: a quarter of the average (RFC 2140, section 3: `>> 2`).
const GAIN_DIVISOR: i128 = 4;

/// The remembered path state of all hosts.
///
/// State ages only in [`ControlBlocks::aged`]. Eggert 1999 (section 5) and RFC 2140 (section 6) leave the
/// aging open, and the paper's measurements reuse state unchanged.
#[derive(Clone, Debug, Default)]
pub struct ControlBlocks {
    cached: BTreeMap<HostPair, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    path: Path,
    since: Nanoseconds,
}

impl ControlBlocks {
    /// Return the start state of a new connection, if an earlier connection existed.
    #[must_use]
    pub fn cached(&self, pair: HostPair) -> Option<Path> {
        self.cached.get(&pair).map(|known| known.path)
    }

    /// Return the start state with the window halved per round trip since its storage, down to one segment
    /// (Handley, Padhye and Floyd 1999, cited by Eggert 1999, section 7.4).
    #[must_use]
    pub fn aged(&self, pair: HostPair, now: Nanoseconds) -> Option<Path> {
        let known = self.cached.get(&pair)?;
        let path = known.path;
        let passed = path.round_trip.and_then(|estimate| {
            now.saturating_sub(known.since)
                .checked_div(estimate.smoothed)
        });
        let halvings = passed.and_then(|count| u32::try_from(count).ok());
        let left = path.cwnd.checked_shr(halvings.unwrap_or(u32::MAX));
        Some(Path {
            cwnd: left.unwrap_or(0).max(u64::from(path.mss)),
            ..path
        })
    }

    /// Record the end of a connection. Windows are stored unchanged, and round trips are averaged.
    pub fn closed(&mut self, pair: HostPair, measured: Path, now: Nanoseconds) {
        let known = self.cached(pair).and_then(|path| path.round_trip);
        let round_trip = match (known, measured.round_trip) {
            (Some(known), Some(new)) => Some(Estimate {
                smoothed: merged(known.smoothed, new.smoothed),
                variation: merged(known.variation, new.variation),
            }),
            (known, new) => new.or(known),
        };
        let path = Path {
            round_trip,
            ..measured
        };
        self.keep(pair, path, now);
    }

    /// Store the control block of an ensemble unchanged after its last member left (Eggert 1999, section
    /// 3.2).
    pub fn keep(&mut self, pair: HostPair, path: Path, now: Nanoseconds) {
        self.cached.insert(pair, Known { path, since: now });
    }
}

/// Divide the windows of open connections equally between them and a new one, at least one segment each.
/// Return the part of each.
///
/// RFC 2140 (section 4) requires that the new member does not raise the sum, and leaves the division open.
#[must_use]
pub fn divided(members: &[Path]) -> Option<Path> {
    let first = members.first()?;
    let parts = members.len() as u64 + 1;
    let part = |of: fn(&Path) -> u64| {
        let sum = members
            .iter()
            .fold(0_u64, |sum, member| sum.saturating_add(of(member)));
        (sum / parts).max(u64::from(first.mss))
    };
    Some(Path {
        cwnd: part(|path| path.cwnd),
        ssthresh: part(|path| path.ssthresh).max(2 * u64::from(first.mss)),
        mss: first.mss,
        round_trip: members.iter().find_map(|path| path.round_trip),
    })
}

/// Return the part of a leaving connection's window that each remaining connection gets.
#[must_use]
pub fn part_of_leaver(leaver: &Path, staying: u64) -> u64 {
    leaver.cwnd.checked_div(staying).unwrap_or(0)
}

fn merged(known: u64, new: u64) -> u64 {
    let step = (i128::from(new) - i128::from(known)) / GAIN_DIVISOR;
    u64::try_from(i128::from(known) + step).unwrap_or(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PAIR: HostPair = HostPair {
        local: 1,
        remote: 0,
    };

    fn path(cwnd: u64, smoothed: u64) -> Path {
        Path {
            cwnd,
            ssthresh: 8 * 1460,
            mss: 1460,
            round_trip: Some(Estimate {
                smoothed,
                variation: smoothed / 2,
            }),
        }
    }

    #[test]
    fn a_path_is_cached_at_the_first_close_in_its_direction_only() {
        let mut blocks = ControlBlocks::default();
        assert_eq!(blocks.cached(PAIR), None);
        blocks.closed(PAIR, path(5 * 1460, 80 * MS), 0);
        assert_eq!(blocks.cached(PAIR), Some(path(5 * 1460, 80 * MS)));
        let other = HostPair {
            local: 0,
            remote: 1,
        };
        assert_eq!(blocks.cached(other), None);
    }

    #[test]
    fn a_later_close_sets_the_window_and_moves_the_round_trip_by_a_quarter() {
        let mut blocks = ControlBlocks::default();
        blocks.closed(PAIR, path(5 * 1460, 80 * MS), 0);
        blocks.closed(PAIR, path(2 * 1460, 40 * MS), 0);
        let cached = blocks.cached(PAIR).unwrap();
        assert_eq!(cached.cwnd, 2 * 1460);
        assert_eq!(cached.round_trip.unwrap().smoothed, 70 * MS);
        assert_eq!(cached.round_trip.unwrap().variation, 35 * MS);
    }

    #[test]
    fn an_aged_window_is_halved_for_each_round_trip_and_never_below_a_segment() {
        let mut blocks = ControlBlocks::default();
        blocks.keep(PAIR, path(8 * 1460, 80 * MS), 100 * MS);
        let window = |now| blocks.aged(PAIR, now).unwrap().cwnd;
        assert_eq!(window(179 * MS), 8 * 1460);
        assert_eq!(window(180 * MS), 4 * 1460);
        assert_eq!(window(260 * MS), 2 * 1460);
        assert_eq!(window(100_000 * MS), 1460);
        assert_eq!(blocks.cached(PAIR).unwrap().cwnd, 8 * 1460);
    }

    #[test]
    fn a_joining_connection_keeps_the_sum_of_windows() {
        let part = divided(&[path(9 * 1460, 80 * MS), path(6 * 1460, 80 * MS)]).unwrap();
        assert_eq!(part.cwnd, 5 * 1460);
        assert_eq!(part.round_trip.unwrap().smoothed, 80 * MS);
    }

    #[test]
    fn no_part_is_less_than_a_segment() {
        assert_eq!(divided(&[path(1460, 80 * MS)]).unwrap().cwnd, 1460);
        assert_eq!(divided(&[]), None);
    }

    #[test]
    fn a_leaving_members_window_goes_to_the_others() {
        assert_eq!(part_of_leaver(&path(6 * 1460, MS), 2), 3 * 1460);
        assert_eq!(part_of_leaver(&path(6 * 1460, MS), 0), 0);
    }
}
