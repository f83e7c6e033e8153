//! A sender's limit and windows in the truth.

use crate::app::End;
use crate::fabric::{of, of_mut};
use crate::scenario::Record;
use crate::tcp::Connection;
use crate::truth::{LimitRow, WindowRow};
use crate::world::World;

impl World {
    /// Record the rows of changed state.
    pub(super) fn note_state(&mut self, at: End) {
        let Record {
            windows, limits, ..
        } = self.fabric.record;
        if !windows && !limits {
            return;
        }
        let time = self.fabric.now;
        let Some(place) = self.places.get(at.connection) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let next = *of(&pair.flow.sent_end, at.side);
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        let limit = endpoint.tcp.limit();
        if limits && endpoint.limit.replace(limit) != Some(limit) {
            self.fabric.truth.limits.push(LimitRow {
                time,
                connection: at.connection,
                side: at.side,
                limit,
                next,
            });
        }
        if windows {
            let row = window_row(at, &endpoint.tcp);
            if endpoint.window.replace(row) != Some(row) {
                self.fabric.truth.windows.push(WindowRow { time, ..row });
            }
        }
    }
}

/// Return the window row without its time.
fn window_row(at: End, tcp: &Connection) -> WindowRow {
    let sender = tcp.sender();
    WindowRow {
        time: 0,
        connection: at.connection,
        side: at.side,
        cwnd: sender.window.cwnd,
        ssthresh: sender.window.ssthresh,
        flight: sender.flight(),
        receive_window: sender.receive_window(),
        smoothed_rtt: sender.round_trip.smoothed(),
        retransmission_timeout: sender.round_trip.timeout(&tcp.stack().retransmission),
    }
}
