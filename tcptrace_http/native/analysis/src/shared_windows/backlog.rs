//! How long what comes from the server may have stood before the slowest link.
//!
//! Theory of operation. A link that works without a pause has a queue: each packet comes as long after the one
//! before it, of whichever connection, as the link takes for it. Of a packet that came so nobody sees when it had
//! come to that queue, only that it was not before the link had begun to work.
//! But a queue lets go first what came to it first: no packet had come before the one that was let go before it, and of
//! that it may be known which ACK its sender had waited for.
//! What the link takes is known once two packets have come at once: it has carried those before as well.

use std::collections::VecDeque;

use super::late::Late;
use super::pace::OnLink;
use crate::jitter::AT_ONCE_MAX_NS;

/// Packets of a pair that came before it was known what they took: the first flights of several connections.
const UNTIMED_MAX: usize = 32;

/// A packet that comes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) time_ns: i64,
    pub(super) bytes: u32,
    pub(super) client_port: u16,
    /// What was lost right before it took so much of the link at the most.
    pub(super) lost_ns: i64,
    /// How much later it comes than what stands in no queue, as its sender's clock tells.
    pub(super) late: Option<Late>,
}

/// The stretch of time in which the slowest link has not paused.
#[derive(Clone, Copy, Debug)]
struct Busy {
    since_ns: i64,
    /// When the last packet came by.
    last_ns: i64,
    /// The connection of all of them, if it is one.
    client_port: Option<u16>,
    /// When the last packet came to the queue, at the earliest.
    joined_ns: i64,
}

/// How long a packet may have stood before the slowest link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queued {
    pub(super) all_ns: i64,
    /// ... since the packet before it had come to the queue, as far as that is known.
    pub(super) stood_ns: i64,
    /// ... if that did not carry its own connection's packets only.
    pub(super) behind_others_ns: i64,
    /// The clock of its sender has told how long it stood.
    pub(super) is_stamped: bool,
}

/// The stretch before a packet that was late, until it shows whether the link had paused.
#[derive(Clone, Copy, Debug)]
struct Paused {
    before: Busy,
    /// When the newest packet would have come if it had not.
    due_ns: i64,
}

#[derive(Debug, Default)]
pub(super) struct Backlog {
    busy: Option<Busy>,
    paused: Option<Paused>,
    /// The connection of the newest packet and of the newest other one, and when they came.
    newest: [(u16, i64); 2],
    /// What came before it was known what the link takes.
    untimed: VecDeque<Came>,
}

impl Backlog {
    /// The newest packet came to the queue when data comes by at `joined_ns` that stands behind nothing.
    pub(super) fn joined_at(&mut self, joined_ns: i64) {
        if let Some(busy) = self.busy.as_mut() {
            busy.joined_ns = busy.joined_ns.max(joined_ns);
        }
    }

    /// A packet comes by; `on_link` is what the link takes for so many bytes, as far as that is known: how long it may
    /// have stood before the link, behind what that carried for others.
    pub(super) fn comes(
        &mut self,
        packet: Came,
        on_link: &impl Fn(u32) -> Option<OnLink>,
    ) -> Queued {
        let Some(service) = on_link(packet.bytes) else {
            self.busy = None;
            if self.untimed.len() >= UNTIMED_MAX {
                self.untimed.pop_front();
            }
            self.untimed.push_back(packet);
            return Queued::default();
        };
        for before in std::mem::take(&mut self.untimed) {
            self.comes(before, on_link);
        }
        let Came {
            time_ns,
            client_port,
            ..
        } = packet;
        let begun_ns = time_ns.saturating_sub(service.takes_ns);
        let slack_ns = service.slack_ns().saturating_add(packet.lost_ns);
        let goes_on = self.goes_on(time_ns, service.takes_ns, slack_ns);
        let busy = goes_on.unwrap_or(Busy {
            since_ns: begun_ns,
            last_ns: time_ns,
            client_port: Some(client_port),
            joined_ns: begun_ns,
        });
        let is_alone = busy.client_port == Some(client_port);
        let all_ns = begun_ns.saturating_sub(busy.since_ns).max(0);
        let longer_ns = service.longer_ns();
        let stamped_ns = packet.late.map(|late| late.stood_ns(longer_ns, all_ns));
        let joined_ns =
            stamped_ns.map_or(busy.joined_ns, |stood_ns| begun_ns.saturating_sub(stood_ns));
        self.busy = Some(Busy {
            last_ns: time_ns,
            client_port: busy.client_port.filter(|_| is_alone),
            joined_ns,
            ..busy
        });
        let stood_ns = begun_ns.saturating_sub(joined_ns).max(0);
        self.has_come(client_port, time_ns);
        Queued {
            stood_ns,
            all_ns,
            behind_others_ns: if !is_alone {
                all_ns
            } else if self.is_behind_other(client_port, time_ns.saturating_sub(stood_ns)) {
                stood_ns
            } else {
                0
            },
            is_stamped: stamped_ns.is_some(),
        }
    }

    /// Whether a packet of another connection has come since, if a packet of this one comes now.
    fn is_behind_other(&self, client_port: u16, since_ns: i64) -> bool {
        let is_other = |(port, came_ns): &(u16, i64)| *port != client_port && *came_ns > since_ns;
        self.newest.iter().any(is_other)
    }

    /// A packet of a connection has come: the newest, and the newest of another one.
    fn has_come(&mut self, client_port: u16, time_ns: i64) {
        let [newest, other] = self.newest;
        let other = if newest.0 == client_port {
            other
        } else {
            newest
        };
        self.newest = [(client_port, time_ns), other];
    }

    /// The work of the link that a packet is part of which comes now and takes so long there; none if that had paused, or
    /// seems so until the next packet comes.
    fn goes_on(&mut self, time_ns: i64, takes_ns: i64, slack_ns: i64) -> Option<Busy> {
        let begun_ns = time_ns.saturating_sub(takes_ns);
        let goes_on = |busy: &Busy| begun_ns <= busy.last_ns.saturating_add(slack_ns);
        let known = self
            .had_not_paused(time_ns, takes_ns, slack_ns)
            .or(self.busy.filter(goes_on));
        if known.is_none() {
            self.paused = self.busy.map(|before| Paused {
                before,
                due_ns: before.last_ns.saturating_add(takes_ns),
            });
        }
        known
    }

    /// The link's work before it seemed to pause, if a packet comes as soon as it would if that had gone on: the one that
    /// came late was not late on the link.
    fn had_not_paused(&mut self, time_ns: i64, takes_ns: i64, slack_ns: i64) -> Option<Busy> {
        let paused = self.paused?;
        let due_ns = paused.due_ns.saturating_add(takes_ns);
        let late_ns = time_ns.saturating_sub(due_ns);
        self.paused = (slack_ns..AT_ONCE_MAX_NS)
            .contains(&late_ns)
            .then_some(Paused { due_ns, ..paused });
        let meanwhile = self.busy.and_then(|busy| busy.client_port);
        let of_one = paused
            .before
            .client_port
            .filter(|port| meanwhile == Some(*port));
        let before = Busy {
            client_port: of_one,
            ..paused.before
        };
        (late_ns < slack_ns).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(time_ns: i64, client_port: u16) -> Came {
        Came {
            time_ns,
            bytes: 0,
            client_port,
            lost_ns: 0,
            late: None,
        }
    }

    fn takes(takes_ns: i64, bare_ns: i64) -> impl Fn(u32) -> Option<OnLink> {
        move |_| {
            Some(OnLink {
                takes_ns,
                bare_ns,
                headers_ns: bare_ns,
                varies_ns: 0,
            })
        }
    }

    #[test]
    fn packets_that_come_in_the_pace_of_the_link_may_have_stood_as_long_as_it_works() {
        let mut backlog = Backlog::default();
        let stood = |ns| Queued {
            all_ns: ns,
            stood_ns: ns,
            behind_others_ns: ns,
            is_stamped: false,
        };
        assert_eq!(backlog.comes(packet(100, 1), &takes(8, 0)), stood(0));
        assert_eq!(backlog.comes(packet(108, 2), &takes(8, 0)), stood(8));
        assert_eq!(backlog.comes(packet(112, 1), &takes(4, 0)), stood(16));
    }

    #[test]
    fn a_pause_of_the_link_shows_that_nothing_stood_before_it() {
        let mut backlog = Backlog::default();
        backlog.comes(packet(100, 1), &takes(8, 0));
        backlog.comes(packet(108, 2), &takes(8, 0));
        assert_eq!(
            backlog.comes(packet(118, 3), &takes(8, 0)),
            Queued::default()
        );
    }

    #[test]
    fn a_link_that_carried_what_was_lost_behind_it_had_not_paused() {
        let mut backlog = Backlog::default();
        let mut all_ns = |time_ns, lost_ns| {
            let packet = Came {
                lost_ns,
                ..packet(time_ns, 1)
            };
            backlog.comes(packet, &takes(8, 0)).all_ns
        };
        assert_eq!(all_ns(100, 0), 0);
        assert_eq!(all_ns(124, 16), 24, "two packets were lost");
        assert_eq!(all_ns(150, 16), 0, "they took no longer than that");
    }

    #[test]
    fn no_packet_came_to_the_queue_before_the_one_that_it_let_go_before() {
        let mut backlog = Backlog::default();
        let mut stood_ns = |time_ns, joined_ns: Option<i64>| {
            let queued = backlog.comes(packet(time_ns, 1), &takes(8, 0));
            if let Some(joined_ns) = joined_ns {
                backlog.joined_at(joined_ns);
            }
            (queued.all_ns, queued.stood_ns)
        };
        assert_eq!(stood_ns(100, None), (0, 0));
        assert_eq!(stood_ns(108, Some(97)), (8, 8));
        assert_eq!(stood_ns(116, Some(95)), (16, 11));
        assert_eq!(
            stood_ns(124, None),
            (24, 19),
            "an earlier time tells nothing"
        );
        assert_eq!(stood_ns(140, None), (0, 0), "the link had paused");
    }

    #[test]
    fn what_stands_behind_its_own_connection_alone_stands_behind_no_other() {
        let mut backlog = Backlog::default();
        backlog.comes(packet(100, 1), &takes(8, 0));
        let behind_its_own = Queued {
            all_ns: 8,
            stood_ns: 8,
            behind_others_ns: 0,
            is_stamped: false,
        };
        assert_eq!(backlog.comes(packet(108, 1), &takes(8, 0)), behind_its_own);
    }

    #[test]
    fn a_small_packet_may_take_as_long_as_headers_do_beyond_its_share() {
        let mut backlog = Backlog::default();
        backlog.comes(packet(100, 1), &takes(8, 2));
        backlog.comes(packet(108, 2), &takes(8, 2));
        let stood_ns = |queued: Queued| queued.behind_others_ns;
        assert_eq!(stood_ns(backlog.comes(packet(113, 3), &takes(3, 2))), 18);
        assert_eq!(stood_ns(backlog.comes(packet(119, 1), &takes(3, 2))), 0);
    }

    #[test]
    fn what_came_before_two_at_once_told_what_the_link_takes_was_carried_by_it_as_well() {
        let mut backlog = Backlog::default();
        let long = |time_ns, client_port| Came {
            bytes: 8,
            ..packet(time_ns, client_port)
        };
        for time_ns in [100, 108] {
            let queued = backlog.comes(long(time_ns, 1), &|_| None);
            assert_eq!(queued, Queued::default());
        }
        let as_long_as_its_bytes = |bytes: u32| takes(i64::from(bytes), 0)(bytes);
        let third = backlog.comes(long(116, 2), &as_long_as_its_bytes);
        assert_eq!(third.behind_others_ns, 16);
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn a_packet_that_is_late_is_no_pause_of_the_link_if_the_next_comes_as_much_too_soon() {
        let all_ms = |times_ms: &[i64]| {
            let mut backlog = Backlog::default();
            let queued = times_ms.iter().map(|time_ms| {
                let came = backlog.comes(packet(time_ms * MS, 1), &takes(8 * MS, 0));
                came.all_ns / MS
            });
            queued.collect::<Vec<_>>()
        };
        assert_eq!(all_ms(&[100, 108, 119, 124, 132]), [0, 8, 0, 24, 32]);
        assert_eq!(all_ms(&[100, 108, 119, 127, 135]), [0, 8, 0, 8, 16]);
    }

    #[test]
    fn how_long_a_packet_stood_the_clock_of_its_sender_tells() {
        let mut backlog = Backlog::default();
        let mut stood_ms = |time_ms, client_port, late_ms: Option<(i64, i64)>| {
            let late = late_ms.map(|(least_ms, most_ms)| Late {
                least_ns: least_ms * MS,
                most_ns: most_ms * MS,
            });
            let came = Came {
                late,
                ..packet(time_ms * MS, client_port)
            };
            let queued = backlog.comes(came, &takes(8 * MS, 0));
            (queued.stood_ns / MS, queued.behind_others_ns / MS)
        };
        assert_eq!(stood_ms(100, 1, Some((8, 8))), (0, 0));
        assert_eq!(stood_ms(108, 1, Some((16, 16))), (8, 0));
        assert_eq!(
            stood_ms(116, 2, Some((8, 20))),
            (12, 16),
            "it was opened late"
        );
        assert_eq!(stood_ms(124, 2, Some((8, 90))), (24, 24), "not by the link");
        assert_eq!(
            stood_ms(160, 2, Some((28, 28))),
            (20, 0),
            "so long since others"
        );
        assert_eq!(
            stood_ms(168, 1, None),
            (28, 8),
            "none came to the queue before that"
        );
    }
}
