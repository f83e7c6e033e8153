//! What the client had sent before on the link to the server.
//!
//! Theory of operation. A link sends one packet after the other, so what a client sends stands behind all that it sent
//! before to that host: the ACK that ended a handshake, the requests of other connections. Behind what left in the same
//! instant it stands on any link; behind earlier packets only if those took longer, which shows once it is known what
//! the link takes.

use crate::jitter::CLOSE_NS;

/// What stood before a packet of the client, but for the beginning of its own request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Payload and number of the packets that left in the same instant, if it was not known what they take.
    pub bytes: u32,
    pub packets: u32,
    /// Else the time that the link took for all before it.
    pub queued_ns: i64,
}

impl Ahead {
    fn and(self, bytes: u32, queued_ns: i64) -> Ahead {
        Ahead {
            bytes: self.bytes.saturating_add(bytes),
            packets: self.packets.saturating_add(1),
            queued_ns: self.queued_ns.saturating_add(queued_ns),
        }
    }
}

/// A packet of the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) time_ns: i64,
    pub(super) client_port: u16,
    pub(super) bytes: u32,
    /// It ends a request (RFC 9293, section 3.9.1).
    pub(super) is_pushed: bool,
    /// What the link takes for it, if that is known.
    pub(super) takes_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uplink {
    newest_ns: i64,
    /// What left in the same instant.
    together: Ahead,
    /// What was not pushed last, on this connection: what follows there goes on with it.
    begun: Option<(u16, Ahead)>,
    busy_until_ns: i64,
}

impl Uplink {
    /// A packet of the client goes by: what stands before it.
    pub(super) fn leaves(&mut self, leaving: Leaving) -> Ahead {
        let Leaving {
            time_ns,
            client_port,
            bytes,
            takes_ns,
            ..
        } = leaving;
        if time_ns.saturating_sub(self.newest_ns) > CLOSE_NS {
            self.together = Ahead::default();
            if let Some((_, begun)) = self.begun.as_mut() {
                (begun.bytes, begun.packets) = (0, 0);
            }
        }
        self.newest_ns = time_ns;
        let begun = self.begun.filter(|(port, _)| *port == client_port);
        let own = begun.map_or(Ahead::default(), |(_, own)| own);
        let standing_ns = self.busy_until_ns.saturating_sub(time_ns);
        let ahead = if takes_ns.is_some() {
            Ahead {
                queued_ns: standing_ns.saturating_sub(own.queued_ns).max(0),
                ..Ahead::default()
            }
        } else {
            Ahead {
                bytes: self.together.bytes.saturating_sub(own.bytes),
                packets: self.together.packets.saturating_sub(own.packets),
                queued_ns: 0,
            }
        };
        let service_ns = takes_ns.unwrap_or(0);
        self.busy_until_ns = self.busy_until_ns.max(time_ns).saturating_add(service_ns);
        self.together = self.together.and(bytes, service_ns);
        if bytes > 0 && !leaving.is_pushed {
            self.begun = Some((client_port, own.and(bytes, service_ns)));
        } else if bytes > 0 && begun.is_some() {
            self.begun = None;
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn leaves(uplink: &mut Uplink, time_ms: i64, client_port: u16, bytes: u32) -> Ahead {
        uplink.leaves(Leaving {
            time_ns: time_ms * MS,
            client_port,
            bytes,
            is_pushed: bytes < 1000,
            takes_ns: None,
        })
    }

    #[test]
    fn a_request_stands_behind_what_its_client_sent_in_the_same_instant_but_for_its_own_beginning()
    {
        let mut uplink = Uplink::default();
        leaves(&mut uplink, 10, 1, 500);
        assert_eq!(leaves(&mut uplink, 20, 1, 0), Ahead::default());
        let behind_an_ack = Ahead {
            packets: 1,
            ..Ahead::default()
        };
        assert_eq!(leaves(&mut uplink, 20, 2, 1000), behind_an_ack);
        assert_eq!(leaves(&mut uplink, 20, 2, 300), behind_an_ack);
        let behind_all = Ahead {
            bytes: 1300,
            packets: 3,
            queued_ns: 0,
        };
        assert_eq!(leaves(&mut uplink, 20, 2, 300), behind_all);
    }

    #[test]
    fn on_a_link_that_is_known_it_stands_as_long_as_that_is_busy() {
        let mut uplink = Uplink::default();
        let mut queued_ms = |time_ms: i64, client_port: u16, is_pushed: bool| {
            let ahead = uplink.leaves(Leaving {
                time_ns: time_ms * MS,
                client_port,
                bytes: 500,
                is_pushed,
                takes_ns: Some(70 * MS),
            });
            (ahead.packets, ahead.queued_ns / MS)
        };
        assert_eq!(queued_ms(100, 1, true), (0, 0));
        assert_eq!(queued_ms(150, 2, false), (0, 20));
        assert_eq!(queued_ms(150, 2, true), (0, 20));
        assert_eq!(queued_ms(400, 3, false), (0, 0));
        assert_eq!(queued_ms(430, 3, true), (0, 0));
    }
}
