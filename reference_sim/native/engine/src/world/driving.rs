//! The drive of an end after each event: it sends, and its events go to its application.

use crate::app::End;
use crate::fabric::{of, of_mut};
use crate::world::{Reach, World};

impl World {
    /// Drive an end: send, queue events, and plan the timer.
    pub(super) fn drive(&mut self, at: End) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        if endpoint.tcp.tells_before_sending() && self.tell(at) {
            // The application responds first. The end is driven after that.
            return self.call(at);
        }
        self.transmit(at);
        while self.tell(at) {
            self.transmit(at);
        }
        self.note_state(at);
        self.plan_timer(at);
        for other in self.hosts.group(at).to_vec() {
            if other != at {
                self.note_state(other);
                self.plan_timer(other);
            }
        }
        self.settle(at.connection);
    }

    /// Schedule an end for a drive after the application returns.
    pub(super) fn call(&mut self, at: End) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        if std::mem::replace(&mut endpoint.is_due, true) {
            return;
        }
        if endpoint.stack.upcall_opens_before_ack && !endpoint.tcp.is_opening() {
            self.answering.push(at);
        } else {
            self.due.push(at);
        }
    }

    pub(super) fn transmit(&mut self, at: End) {
        if self.hosts.has(at) {
            return self.transmit_of_group(at);
        }
        let now = self.fabric.now;
        let Some(place) = self.places.get(at.connection) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        endpoint.has_written = false;
        let before = *of(&pair.flow.sent_end, at.side);
        while let Some((segment, reason)) = endpoint.tcp.transmit(now) {
            self.fabric
                .send(place, &mut pair.flow, at.side, segment, reason);
        }
        let end = *of(&pair.flow.sent_end, at.side);
        if end > before {
            let rows = &mut self.fabric.truth.transactions;
            pair.timeline.sent(at.side, end, now, rows);
        }
    }

    /// Send from this end, or with E-TCP from any end of its group.
    fn transmit_of_group(&mut self, at: End) {
        let now = self.fabric.now;
        if let Some(endpoint) = self.end(at) {
            endpoint.has_written = false;
        }
        loop {
            let mut ends = Reach {
                pairs: &mut self.pairs,
                places: &self.places,
            };
            let Some((from, segment, reason)) = self.hosts.transmit(at, now, &mut ends) else {
                return;
            };
            let place = self.places.get(from.connection);
            let Some((place, pair)) = place.zip(place.and_then(|it| self.pairs.get_mut(it))) else {
                return;
            };
            let before = *of(&pair.flow.sent_end, from.side);
            self.fabric
                .send(place, &mut pair.flow, from.side, segment, reason);
            let end = *of(&pair.flow.sent_end, from.side);
            if end > before {
                let rows = &mut self.fabric.truth.transactions;
                pair.timeline.sent(from.side, end, now, rows);
            }
        }
    }
}
