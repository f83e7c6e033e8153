//! What a connection has in flight of its own: it shows how large a buffer is, or the largest window of one.
//!
//! Theory of operation. Whether a window is shared or not, each connection fills a buffer of its own; a host gives all
//! of them one of the same size. So where connections stop with just as much in flight as one that was told to have
//! filled its buffer, which a window that grows does not, all of them have one as large.

use super::host_pair::HostPair;
use super::window::Stopped;
use crate::jitter::{late_max_ns, EARLY_MAX_NS};
use crate::used_window::Limit;

/// New data of a connection comes that had more to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Following {
    pub(super) time_ns: i64,
    pub(super) bytes: u32,
    pub(super) newly: i64,
    /// When the data before it came.
    pub(super) before_ns: i64,
    pub(super) ports: (u16, u16),
    /// A clock let it go.
    pub(super) is_paced: bool,
}

impl HostPair {
    /// A connection goes on with new data: if it had stopped, that may tell how large its buffer is.
    pub(super) fn own_goes_on(&mut self, following: Following) {
        let Following {
            time_ns,
            bytes,
            before_ns,
            ports,
            ..
        } = following;
        let pause_ns = time_ns.saturating_sub(before_ns);
        let Some(path_ns) = self.to_server_ns.filter(|_| !self.is_together(pause_ns)) else {
            return;
        };
        let known_by = |time_ns: i64| time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS);
        let late_ns = late_max_ns((path_ns, self.pace.of(bytes).unwrap_or(0)), None);
        let full_bytes = self.pace.largest_bytes.max(bytes);
        let was_idle = pause_ns > self.round_trip_ns();
        self.own_hears(ports, known_by(before_ns));
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let sent = connection.sent_bytes.saturating_sub(following.newly);
        connection.used.stops(sent.saturating_add(1), full_bytes);
        if was_idle {
            connection.used.was_idle();
        }
        self.own_hears(ports, known_by(time_ns).saturating_sub(late_ns));
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let used = connection.used;
        let acked = sent.saturating_sub(used.outstanding());
        let is_paced = !following.is_paced && connection.paced_behind == Some(acked);
        let begun_ns = (acked == 0).then_some(connection.syn_ns);
        if following.is_paced {
            connection.paced_behind = Some(acked);
        }
        let limit = used.limit(sent.saturating_add(1), bytes, false);
        let begun_ns = begun_ns.filter(|_| !self.are_others_in_flight(time_ns, ports.0));
        let let_go_by = self.ack_before(time_ns, bytes);
        let is_by_own = let_go_by.is_some_and(|ack| ack.client_port == ports.0);
        self.window.one_stopped(Stopped {
            outstanding: used.outstanding(),
            full_bytes: i64::from(full_bytes),
            client_port: ports.0,
            is_full: limit == Limit::SendBuffer,
            is_paced,
            time_ns,
            begun_ns,
            is_before_full: bytes >= full_bytes,
            may_be_window: self.had_loss || !is_by_own,
        });
    }

    /// The window of a connection hears its own ACKs that went by until then.
    fn own_hears(&mut self, ports: (u16, u16), until_ns: i64) {
        let mut connections = self.connections.iter_mut().rev();
        let Some(connection) = connections.find(|it| (it.client_port, it.server_port) == ports)
        else {
            return;
        };
        let heard_ns = connection.used.heard_until_ns();
        let unheard = self.acks.partition_point(|ack| ack.time_ns <= heard_ns);
        let steps = self.acks.iter().zip(self.acks.iter().skip(1));
        let own = steps
            .skip(unheard.saturating_sub(1))
            .filter(|(_, ack)| ack.client_port == ports.0);
        let newly = own.map(|(before, ack)| (ack.time_ns, ack.acked.saturating_sub(before.acked)));
        let all = newly.clone();
        let all = all.fold(0_i64, |sum, (_, newly)| sum.saturating_add(newly));
        let now = connection.sent_bytes.saturating_sub(connection.in_flight());
        let mut acked = now.saturating_sub(all);
        for (time_ns, newly) in newly.take_while(|(time_ns, _)| *time_ns <= until_ns) {
            acked = acked.saturating_add(newly);
            connection.used.hears(time_ns, acked.saturating_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::Ack;
    use super::super::connection::Connection;
    use super::super::pace::Pace;
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;
    const FULL: u32 = 1000;
    const WAY_NS: i64 = 100 * MS;

    /// Two hosts with a path of 100 ms, on which a segment takes a millisecond.
    fn pair() -> HostPair {
        let mut pair = HostPair::with_path(WAY_NS);
        pair.to_client_ns = Some(20 * MS);
        let mut pace = Pace::default();
        pace.follows(MS, FULL);
        pair.pace = pace;
        pair
    }

    /// A connection sends flights of so many segments, each of which waits for the ACKs of all of the one before.
    fn sends(pair: &mut HostPair, client_port: u16, start_ns: i64, flights: &[i64]) {
        sends_paced(pair, client_port, start_ns, (flights, false));
    }

    /// ... and a clock spreads the first of them, or none.
    fn sends_paced(
        pair: &mut HostPair,
        client_port: u16,
        start_ns: i64,
        (flights, is_paced): (&[i64], bool),
    ) {
        let spread_ns = if is_paced { 4 * MS } else { MS };
        let first = SeqNumber(u32::MAX - 3000);
        let ports = (client_port, 80);
        let mut connection = Connection::new(start_ns, ports, SeqNumber(0), false);
        connection.first = Some(first);
        (connection.next, connection.acked) = (Some(first), Some(first));
        pair.connections.push_back(connection);
        let (mut time_ns, mut before_ns, mut unacked) = (start_ns, start_ns, 0);
        for flight in flights {
            for at in 0..unacked {
                let acked = pair.room.acknowledges(i64::from(FULL));
                let it = pair.connection(client_port, 80).unwrap();
                it.acked = it.acked.map(|acked| acked.plus(FULL));
                pair.acks
                    .push_back(Ack::of_data(time_ns + at, client_port, acked));
            }
            for at in 0..*flight {
                let it = pair.connection(client_port, 80).unwrap();
                it.sent_bytes += i64::from(FULL);
                it.next = it.next.map(|next| next.plus(FULL));
                pair.room.sends(i64::from(FULL));
                let is_first = time_ns == start_ns;
                let every_ns = if is_first { spread_ns } else { MS };
                let came_ns = time_ns + WAY_NS + every_ns * (at + 1);
                pair.own_goes_on(Following {
                    is_paced: is_paced && is_first && at > 0,
                    time_ns: came_ns,
                    bytes: FULL,
                    newly: i64::from(FULL),
                    before_ns,
                    ports,
                });
                before_ns = came_ns;
            }
            unacked = *flight;
            time_ns = before_ns + 10 * MS;
        }
    }

    #[test]
    fn connections_that_stop_with_just_as_much_in_flight_have_buffers_of_that_size() {
        let mut pair = pair();
        sends(&mut pair, 1, 1000 * MS, &[2, 4, 6, 6]);
        assert_eq!(
            pair.window.of_one(),
            None,
            "its window may have been full once"
        );
        sends(&mut pair, 2, 5000 * MS, &[3, 6, 6]);
        assert_eq!(pair.window.of_one(), Some(6000));
    }

    #[test]
    fn connections_that_stop_with_just_as_much_behind_a_clock_have_buffers_of_that_size() {
        for (second, is_paced, buffer) in [
            (12, true, Some(12_000)),
            (14, true, None),
            (12, false, None),
        ] {
            let mut pair = pair();
            sends_paced(&mut pair, 1, 1000 * MS, (&[12, 1], is_paced));
            sends_paced(&mut pair, 2, 5000 * MS, (&[second, 1], is_paced));
            assert_eq!(pair.window.of_one(), buffer, "{second}");
        }
    }

    #[test]
    fn connections_whose_windows_grow_show_no_buffer() {
        let mut pair = pair();
        sends(&mut pair, 1, 1000 * MS, &[2, 4, 8, 16]);
        sends(&mut pair, 2, 5000 * MS, &[2, 4, 8, 16]);
        assert_eq!(pair.window.of_one(), None);
    }
}
