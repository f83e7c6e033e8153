//! When the server sent what comes: at the latest as long before as path and link take for it, sooner if it stood
//! in a queue.
//!
//! Theory of operation. A link that has nothing else to send carries a packet at once, so that it left as long
//! before as the path and it itself take. What comes as long after the packet before it as the link takes for it
//! may have stood behind that: it left then, or any time since that packet did.

use super::pace::OnLink;

/// When a packet left, as the times at which ACKs went by here that reached the server then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub from_ns: i64,
    pub to_ns: i64,
    /// As soon, if what was lost right before it was lost before the link.
    pub likely_ns: i64,
}

impl Left {
    /// How long it may have stood before the link.
    pub(super) fn stood_ns(self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// The newest packet of the server: when it came, and how soon it may have left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Departures {
    newest: Option<(i64, Left)>,
}

impl Departures {
    /// When the newest packet left.
    pub(super) fn newest(&self) -> Option<Left> {
        self.newest.map(|(_, left)| left)
    }

    /// A packet comes that left at `to_ns` if nothing was before it; what it takes on the link is known or not. What
    /// was lost right before it may have taken `lost_ns` there.
    pub(super) fn comes(
        &mut self,
        time_ns: i64,
        to_ns: i64,
        on_link: Option<OnLink>,
        lost_ns: i64,
    ) -> Left {
        let OnLink { takes_ns, .. } = on_link.unwrap_or_default();
        let slack_ns = on_link.map_or(0, OnLink::slack_ns);
        let begun_ns = time_ns.saturating_sub(takes_ns);
        let is_behind = |came_ns: i64, lost_ns: i64| {
            on_link.is_some()
                && begun_ns.saturating_sub(lost_ns) <= came_ns.saturating_add(slack_ns)
        };
        let from_ns = match self.newest {
            Some((came_ns, left)) if is_behind(came_ns, lost_ns) => left.from_ns.min(to_ns),
            _ => to_ns.saturating_sub(lost_ns),
        };
        let likely_ns = match self.newest {
            Some((came_ns, left)) if is_behind(came_ns, 0) => left.likely_ns.min(to_ns),
            _ => to_ns,
        };
        let left = Left {
            from_ns,
            to_ns,
            likely_ns,
        };
        self.newest = Some((time_ns, left));
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(from_ns: i64, to_ns: i64) -> Left {
        Left {
            from_ns,
            to_ns,
            likely_ns: from_ns,
        }
    }

    fn takes(takes_ns: i64, bare_ns: i64) -> Option<OnLink> {
        Some(OnLink {
            takes_ns,
            bare_ns,
            headers_ns: bare_ns,
            varies_ns: 0,
        })
    }

    #[test]
    fn a_packet_behind_another_on_the_link_left_when_it_comes_or_since_that_one_left() {
        let mut departures = Departures::default();
        assert_eq!(departures.comes(1000, 900, takes(80, 0), 0), left(900, 900));
        assert_eq!(departures.comes(1080, 980, takes(80, 0), 0), left(900, 980));
        assert_eq!(
            departures.comes(1165, 1065, takes(80, 0), 0),
            left(900, 1065)
        );
        assert_eq!(
            departures.comes(1300, 1200, takes(80, 0), 0),
            left(1200, 1200)
        );
        assert_eq!(departures.comes(1301, 1201, None, 0), left(1201, 1201));
    }

    #[test]
    fn a_bare_packet_between_others_shows_no_pause_of_the_link() {
        let mut departures = Departures::default();
        departures.comes(1000, 900, takes(80, 4), 0);
        assert_eq!(
            departures.comes(1007, 1003, takes(4, 4), 0),
            left(900, 1003)
        );
        assert_eq!(departures.comes(1090, 990, takes(80, 4), 0), left(900, 990));
        let idle = departures.comes(1100, 1096, takes(4, 4), 0);
        assert_eq!(idle, left(1096, 1096));
    }

    #[test]
    fn what_was_lost_behind_the_link_stood_before_it_like_what_comes() {
        let mut departures = Departures::default();
        departures.comes(1000, 900, takes(80, 0), 0);
        let behind = departures.comes(1160, 1060, takes(80, 0), 80);
        assert_eq!((behind.from_ns, behind.likely_ns), (900, 1060));
        let alone = departures.comes(1500, 1400, takes(80, 0), 80);
        assert_eq!((alone.from_ns, alone.likely_ns), (1320, 1400));
    }
}
