//! The step between an application and its sockets: reading of arrived data, and writing call by call.

use crate::app::{AppEvent, End};
use crate::event_queue::Event;
use crate::fabric::{of_mut, peer};
use crate::stack::Nanoseconds;
use crate::world::{end_number, Notice, World};

impl World {
    /// Read the available data, unless the application has stopped reading.
    pub(super) fn take_in(&mut self, at: End) {
        let Some((_, pair)) = self.pair(at.connection) else {
            return;
        };
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        if !endpoint.is_reading {
            return;
        }
        let app = endpoint.app;
        let to = endpoint.readable;
        let has_more = to > endpoint.read;
        endpoint.read = to;
        let is_over = std::mem::take(&mut endpoint.peer_closed);
        let messages = of_mut(&mut pair.messages, peer(at.side));
        let complete = messages.partition_point(|(end, _)| *end <= to);
        let complete: Vec<u64> = messages
            .drain(..complete)
            .map(|(_, number)| number)
            .collect();
        let mut tell = |what| self.notices.push_back((app, Notice::Happened { at, what }));
        if has_more {
            // The SYN does not count.
            tell(AppEvent::Received { total: to - 1 });
        }
        for message in complete {
            tell(AppEvent::Message { message });
        }
        if is_over {
            tell(AppEvent::PeerClosed);
        }
    }

    /// Continue with the waiting write calls.
    pub(super) fn write_on(&mut self, at: End) {
        let now = self.fabric.now;
        loop {
            let Some(endpoint) = self.end(at) else {
                return;
            };
            let Some(write) = endpoint.writes.front().copied() else {
                return;
            };
            let start = endpoint.taken.map_or(now, |taken| taken + write.gap);
            if endpoint.pauses {
                return;
            }
            if write.is_whole && start > now {
                endpoint.pauses = true;
                let event = Event::Write {
                    end: end_number(at),
                };
                return self.fabric.events.push(start, event);
            }
            if endpoint.has_written {
                self.transmit(at);
            }
            if !self.make_write(at) {
                return;
            }
        }
    }

    /// Make the next call. Return true if a part of it was taken.
    pub(super) fn make_write(&mut self, at: End) -> bool {
        let now = self.fabric.now;
        let Some(endpoint) = self.end(at) else {
            return false;
        };
        let Some(write) = endpoint.writes.front_mut() else {
            return false;
        };
        let taken = endpoint.tcp.write(write.left, now).min(write.left);
        write.left -= taken;
        write.is_whole &= taken == 0;
        endpoint.has_written |= taken > 0;
        if write.left > 0 {
            return taken > 0;
        }
        endpoint.writes.pop_front();
        endpoint.taken = Some(now);
        if endpoint.writes.is_empty() {
            if endpoint.is_closing {
                self.close_tcp(at);
            }
            self.notify(at, AppEvent::Written);
        }
        true
    }

    pub(super) fn make_planned_write(&mut self, at: End, time: Nanoseconds) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        endpoint.pauses = false;
        self.fabric.now = time;
        self.write_on(at);
        self.drive(at);
    }

    pub(super) fn close_tcp(&mut self, at: End) {
        let now = self.fabric.now;
        let Some(endpoint) = self.end(at) else {
            return;
        };
        // In ns-2, the call with the last data also marks the end. A socket is closed by a separate call, and
        // the written data has been sent by then.
        if endpoint.has_written && !endpoint.stack.upcall_before_ack {
            self.transmit(at);
        }
        if let Some(endpoint) = self.end(at) {
            endpoint.tcp.close(now);
        }
    }
}
