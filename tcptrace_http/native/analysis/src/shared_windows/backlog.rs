//! How long what comes from the server may have stood before the slowest link.
//!
//! Theory of operation. A link that works without a pause has a queue: each packet comes as long after the one
//! before it, of whichever connection, as the link takes for it. Of a packet that came so nobody sees when it had
//! come to that queue, only that it was not before the link had begun to work.

/// A packet comes by as much of its own time later than the link takes for it, for its headers' sake.
const SLACK_SHARE: i64 = 8;

/// The stretch of time in which the slowest link has not paused.
#[derive(Clone, Copy, Debug)]
struct Busy {
    since_ns: i64,
    /// When the last packet came by.
    last_ns: i64,
    /// The connection of all of them, if it is one.
    client_port: Option<u16>,
}

/// How long a packet may have stood before the slowest link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queued {
    pub(super) all_ns: i64,
    /// ... if that did not carry its own connection's packets only.
    pub(super) behind_others_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    busy: Option<Busy>,
}

impl Backlog {
    /// A packet of a connection came by that the link took so long for, as far as that is known: how long it may
    /// have stood before the link, behind what that carried for others.
    pub(super) fn comes(
        &mut self,
        time_ns: i64,
        service_ns: Option<i64>,
        client_port: u16,
    ) -> Queued {
        let Some(service_ns) = service_ns else {
            self.busy = None;
            return Queued::default();
        };
        let begun_ns = time_ns.saturating_sub(service_ns);
        let slack_ns = service_ns / SLACK_SHARE;
        let goes_on = |busy: &Busy| begun_ns <= busy.last_ns.saturating_add(slack_ns);
        let busy = self.busy.filter(goes_on).unwrap_or(Busy {
            since_ns: begun_ns,
            last_ns: time_ns,
            client_port: Some(client_port),
        });
        let is_alone = busy.client_port == Some(client_port);
        self.busy = Some(Busy {
            last_ns: time_ns,
            client_port: busy.client_port.filter(|_| is_alone),
            ..busy
        });
        let all_ns = begun_ns.saturating_sub(busy.since_ns).max(0);
        Queued {
            all_ns,
            behind_others_ns: if is_alone { 0 } else { all_ns },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_come_in_the_pace_of_the_link_may_have_stood_as_long_as_it_works() {
        let mut backlog = Backlog::default();
        let stood = |ns| Queued {
            all_ns: ns,
            behind_others_ns: ns,
        };
        assert_eq!(backlog.comes(100, Some(8), 1), stood(0));
        assert_eq!(backlog.comes(108, Some(8), 2), stood(8));
        assert_eq!(backlog.comes(112, Some(4), 1), stood(16));
    }

    #[test]
    fn a_pause_of_the_link_shows_that_nothing_stood_before_it() {
        let mut backlog = Backlog::default();
        backlog.comes(100, Some(8), 1);
        backlog.comes(108, Some(8), 2);
        assert_eq!(backlog.comes(118, Some(8), 3), Queued::default());
        assert_eq!(backlog.comes(126, None, 2), Queued::default());
        assert_eq!(backlog.comes(134, Some(8), 3), Queued::default());
    }

    #[test]
    fn what_stands_behind_its_own_connection_alone_stands_behind_no_other() {
        let mut backlog = Backlog::default();
        backlog.comes(100, Some(8), 1);
        let behind_its_own = Queued {
            all_ns: 8,
            behind_others_ns: 0,
        };
        assert_eq!(backlog.comes(108, Some(8), 1), behind_its_own);
    }
}
