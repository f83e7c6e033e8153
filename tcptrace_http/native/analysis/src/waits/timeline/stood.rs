//! Data that an ACK of its own connection let go, and that stood behind others' data before the slowest link then.
//!
//! Theory of operation. Connections that begin together stand before the slowest link together: the first of them comes
//! as soon after its ACK as path and link take, each of the others as much later as it stood behind those. The ACK that
//! let it go is one that its receiver sent when the data before had come: until then a window that is its own had no
//! more room. What it stood there for was the pace of the link.
//! So did data that goes on beyond what its receiver had offered: of windows that connections share none lets that go
//! before an ACK of its own moves the receiver's on (RFC 9293, section 3.8.6).

use super::super::acks::{Acks, Released};
use super::{Data, Route, Timeline};

impl Timeline {
    /// How long data that comes so long after the data before stood behind others', though an ACK of theirs came at its
    /// time, if its own connection's newest ACK may have let it go.
    pub(super) fn stood_ns(
        &self,
        (gap_ns, had_nothing): (i64, bool),
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<i64> {
        let sharing = data.sharing;
        let may_have_stood = had_nothing && sharing.by_other && !route.is_at_sender;
        if !may_have_stood || sharing.is_shared {
            return None;
        }
        let on_link_ns = self.let_go_after_ns(data, route, acks).unwrap_or(0);
        let path_ns = route.to_sender_ns.saturating_add(on_link_ns);
        let late_ns = acks.late_ns(data.at.time_ns, path_ns)?;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let stood_ns = late_ns.saturating_add(on_link_ns).saturating_sub(takes_ns);
        let is_since = late_ns.saturating_add(path_ns) <= gap_ns;
        let start = data.start();
        let known_ns = Acks::known_by(data.at.time_ns, path_ns);
        let was_all_acked = acks.acked_by(known_ns) >= start;
        // In a queue that is longer than the path an ACK fits at any time.
        let is_tellable = stood_ns < route.to_sender_ns;
        (is_since && was_all_acked && is_tellable && stood_ns > 0 && stood_ns <= sharing.queued_ns)
            .then_some(stood_ns)
    }

    /// Whether the receiver's window had no room for data until an ACK of its own connection came that moved it on, behind
    /// which the data may have stood since.
    pub(super) fn waited_for_own_room(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let behind_ns = takes_ns.saturating_add(data.sharing.queued_ns);
        let released = acks.released(data.at.time_ns, data.end, route.to_sender_ns, behind_ns);
        released == Released::ByWindow
    }

    /// Until when data stood so.
    pub(super) fn stood_until_ns(
        &self,
        (gap_ns, had_nothing): (i64, bool),
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<i64> {
        let stood_ns = self.stood_ns((gap_ns, had_nothing), data, route, acks)?;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let came_ns = data.at.time_ns.saturating_sub(gap_ns);
        Some(came_ns.saturating_add(takes_ns).saturating_add(stood_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::shared_windows::Sharing;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    /// What a segment of 1,000 bytes takes on the link.
    const TAKES: i64 = 8;

    /// What a body waited for that came so long behind others, in milliseconds, and until when; the ACK of the head
    /// before it went at 110 ms, on a path of 100 ms. Others' data was ahead for 40 ms.
    fn told(behind_ms: i64, is_shared: bool) -> Vec<(Cause, i64)> {
        let route = Route::at_receiver(100);
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(TAKES * MS, 1000, 1, 100 * MS);
        }
        let start = (1 << 32) - 100;
        let mut acks = Acks::default();
        acks.push(0, start - 200, 60_000, 100 * MS);
        acks.push(110 * MS, start, 60_000, 100 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let mut send = |time_ms: i64, end: i64, bytes: u32, by_other: bool| {
            let sharing = Sharing {
                link,
                by_other,
                is_shared,
                queued_ns: 40 * MS,
                to_server_ns: Some(100 * MS),
                ..Sharing::default()
            };
            let data = Data {
                bytes,
                full_bytes: 1000,
                is_pushed: true,
                sharing,
                ..Data::at_ms(time_ms, end)
            };
            timeline.new_data(data, None, route, &acks);
        };
        let came_ms = 110 + 100 + TAKES + behind_ms;
        send(100, start, 200, false);
        send(came_ms, start + 1000, 1000, true);
        let pieces = timeline.between(100 * MS, came_ms * MS);
        let pieces = pieces.map(|piece| (piece.cause, piece.end.time_ns / MS));
        pieces.collect()
    }

    #[test]
    fn what_its_own_ack_let_go_while_others_stood_before_the_link_waited_for_that_and_for_the_ack()
    {
        let let_go = told(32, false);
        let is_pace = |it: &&(Cause, i64)| it.0 == Cause::SendLimitedBottleneck;
        let (pace, wait) = (let_go.iter().rfind(is_pace), let_go.last());
        assert_eq!(
            pace,
            Some(&(Cause::SendLimitedBottleneck, 100 + TAKES + 32))
        );
        assert!(wait.is_some_and(|(cause, _)| *cause != Cause::ServerDataUnavailable));
    }

    #[test]
    fn what_comes_later_than_it_can_have_stood_there_waited_for_its_application() {
        let written = told(60, false);
        assert_eq!(written.last(), Some(&(Cause::ServerDataUnavailable, 278)));
    }

    #[test]
    fn where_windows_are_shared_the_ack_of_another_connection_let_data_go() {
        let shared = told(32, true);
        assert_eq!(shared.last(), Some(&(Cause::SendLimitedSlowStart, 250)));
    }

    /// The newest wait of data that goes on behind others', with each ACK of its own of two segments: on a path of 4 ms
    /// it stands there for 40 ms. Its receiver offers so much.
    fn told_with_window(window: u32, is_shared: bool) -> Option<Cause> {
        let start = (1 << 32) - 2000;
        let route = Route::at_receiver(4);
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(TAKES * MS, 1000, 1, 4 * MS);
        }
        let mut acks = Acks::default();
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for round in 0..4 {
            for place in 0..2 {
                let sharing = Sharing {
                    link,
                    is_shared,
                    by_other: place == 0,
                    queued_ns: 40 * MS,
                    service_ns: Some(TAKES * MS),
                    is_behind_others: place == 0,
                    to_server_ns: Some(4 * MS),
                    ..Sharing::default()
                };
                let at = Moment {
                    time_ns: (round * 48 + place * TAKES) * MS,
                    frame: 1,
                };
                let data = Data {
                    bytes: 1000,
                    full_bytes: 1000,
                    sharing,
                    ..Data::plain(at, start + 1000 * (2 * round + place + 1))
                };
                timeline.new_data(data, None, route, &acks);
            }
            let acked = start + 2000 * (round + 1);
            acks.push((round * 48 + TAKES) * MS, acked, window, 4 * MS);
        }
        let told = timeline.between((2 * 48 + TAKES) * MS, 3 * 48 * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn what_goes_on_behind_others_beyond_what_was_offered_waited_for_the_receiver() {
        for (window, is_shared, cause) in [
            (2800, true, Cause::SendLimitedReceiveWindow),
            (2800, false, Cause::SendLimitedReceiveWindow),
            (28_000, true, Cause::SendLimitedSlowStart),
        ] {
            assert_eq!(told_with_window(window, is_shared), Some(cause));
        }
    }
}
