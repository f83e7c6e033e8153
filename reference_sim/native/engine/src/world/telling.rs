//! The queue of events for an end's application.

use crate::app::{AppEvent, End};
use crate::fabric::{of_mut, peer};
use crate::tcp::Event as TcpEvent;
use crate::truth::{ConnectionRow, Side};
use crate::world::{Notice, Reach, World};

impl World {
    /// Queue an end's events. Return true if there were any.
    pub(super) fn tell(&mut self, at: End) -> bool {
        let mut has_told = false;
        while let Some(event) = self.end(at).and_then(|end| end.tcp.event()) {
            has_told = true;
            self.tell_of(at, event);
        }
        has_told
    }

    pub(super) fn tell_of(&mut self, at: End, event: TcpEvent) {
        match event {
            TcpEvent::Connected => self.connected(at),
            TcpEvent::Readable(to) => {
                self.came(at, to);
                self.take_in(at);
            }
            TcpEvent::Writable => self.write_on(at),
            TcpEvent::PeerClosed => {
                if let Some(endpoint) = self.end(at) {
                    endpoint.peer_closed = true;
                }
                self.take_in(at);
            }
            TcpEvent::Closed => self.closed(at),
            TcpEvent::Failed => self.over(at, AppEvent::Failed),
        }
    }

    /// Handle a closed end. A client of ns-2's BayFullTcp has one agent for all its connections to a server's
    /// single agent. That agent is free for the next connection once it is closed too.
    fn closed(&mut self, at: End) {
        let other = End {
            side: peer(at.side),
            ..at
        };
        let has_agents = self
            .endpoint(at)
            .is_some_and(|end| end.stack.fin_on_bare_acks);
        let is_other_closed = self.endpoint(other).is_none_or(|end| end.tcp.is_closed());
        if !has_agents {
            self.over(at, AppEvent::Closed);
        } else if is_other_closed {
            for end in [other, at] {
                self.over(end, AppEvent::Closed);
            }
        }
    }

    pub(super) fn over(&mut self, at: End, what: AppEvent) {
        // The window that the end leaves goes to one of the others.
        let heir = self.hosts.group(at).iter().copied().find(|it| *it != at);
        if let Some(heir) = heir {
            self.call(heir);
        }
        let now = self.fabric.now;
        let mut ends = Reach {
            pairs: &mut self.pairs,
            places: &self.places,
        };
        self.hosts.closed(at, now, &mut ends);
        self.notify(at, what);
    }

    /// Record that data up to this offset is readable.
    pub(super) fn came(&mut self, at: End, to: u64) {
        let Some(place) = self.places.get(at.connection) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let rows = &mut self.fabric.truth.transactions;
        pair.timeline.came(at.side, to, self.fabric.now, rows);
        if let Some(endpoint) = of_mut(&mut pair.ends, at.side) {
            endpoint.readable = to;
        }
    }

    pub(super) fn notify(&mut self, at: End, what: AppEvent) {
        if let Some(app) = self.end(at).map(|end| end.app) {
            self.notices.push_back((app, Notice::Happened { at, what }));
        }
    }

    pub(super) fn connected(&mut self, at: End) {
        let now = self.fabric.now;
        match at.side {
            Side::Client => {
                if let Some(row) = self.connection_row(at.connection) {
                    row.established = Some(now);
                }
                self.notify(at, AppEvent::Connected);
            }
            Side::Server => self.notify(at, AppEvent::Accepted),
        }
    }

    pub(super) fn connection_row(&mut self, connection: u32) -> Option<&mut ConnectionRow> {
        self.fabric.truth.connections.find(connection as usize)
    }
}
