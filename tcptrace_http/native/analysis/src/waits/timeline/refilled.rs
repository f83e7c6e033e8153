//! A full buffer that takes of a write just as much as each ACK makes room for.
//!
//! Theory of operation. Where no algorithm of Nagle holds what is short, what a writer gets into a full buffer leaves
//! at once, and ends, pushed, just as far behind what was acknowledged as the buffer is large (Heidemann 1996, section
//! 2.5). What was acknowledged segment by segment is sent anew in segments of the same sizes, a buffer further on: an
//! echo. One end in such a place is chance, and so are as many as you like of pieces that are all of one size; of some
//! that are of no common size they are the buffer's.

use super::super::acks::Acks;
use super::full_buffer::{UNITS, UNIT_BYTES};
use super::{Data, Route, Timeline};
use crate::jitter::RELEASE_MAX_NS;

/// Ends in such places that show a buffer: of two any size of it may be in between by chance, as it is a multiple of
/// its unit in one of a thousand cases only for each.
const ENDS_MIN: u32 = 3;

/// Applications write no pieces as small as that again and again; the sizes of segments and buffers have less in common.
const PIECE_MIN_BYTES: i64 = 64;

/// Ends that lie as far behind what was acknowledged as a buffer of this size is large.
#[derive(Clone, Copy, Debug)]
struct Ends {
    holds: i64,
    newest: i64,
    count: u32,
    /// What the distances between them, and the buffer, are multiples of.
    common: i64,
}

impl Ends {
    fn add(&mut self, end: i64) {
        self.common = common_divisor(self.common, end.saturating_sub(self.newest));
        self.newest = end;
        self.count = self.count.saturating_add(1);
    }

    fn show_buffer(&self) -> bool {
        self.count >= ENDS_MIN && self.common < PIECE_MIN_BYTES
    }
}

fn common_divisor(mut one: i64, mut other: i64) -> i64 {
    while let Some(rest) = one.checked_rem(other) {
        (one, other) = (other, rest);
    }
    one.saturating_abs()
}

/// How large a buffer is that was refilled each time that an ACK made room in it.
#[derive(Debug, Default)]
pub(super) struct Refills {
    /// Of the present answer: writes of another begin anew.
    ends: Vec<Ends>,
    /// As far as that is known.
    pub(super) holds: Option<i64>,
    /// How long the newest data waited for room in it.
    pub(super) waited_ns: Option<i64>,
}

impl Refills {
    /// Another answer begins.
    pub(super) fn begin_anew(&mut self) {
        self.ends.clear();
    }

    /// A write ended at `end`, so much further on than what had been acknowledged once.
    fn ends_behind(&mut self, end: i64, holds: i64) {
        let known = self.ends.iter_mut().find(|it| it.holds == holds);
        let Some(known) = known else {
            self.ends.push(Ends {
                holds,
                newest: end,
                count: 1,
                common: holds,
            });
            return;
        };
        known.add(end);
        if known.show_buffer() {
            self.holds = Some(holds);
        }
    }
}

impl Timeline {
    /// Notes where `data` ends that was sent as soon as it was written.
    pub(super) fn note_refill(&mut self, data: Data, route: Route, acks: &Acks) {
        let holds = self.refills.holds.take();
        self.refills.holds = holds.filter(|it| self.window.never_had_more_than(*it));
        let is_end = data.is_pushed && !data.is_full() && !data.opens_hole;
        if route.is_at_sender || !is_end || self.refills.holds.is_some() {
            return;
        }
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        // What is short leaves before all is acknowledged only where Nagle's algorithm is off.
        if acks.acked_by(known_ns) >= data.start() {
            return;
        }
        let most = UNITS.end().saturating_mul(UNIT_BYTES);
        let from_ns = acks.time_of(data.end.saturating_sub(most));
        for ack in acks.between(from_ns.unwrap_or(known_ns).saturating_sub(1), known_ns) {
            let holds = data.end.saturating_sub(ack.acked);
            if self.may_hold(holds) {
                self.refills.ends_behind(data.end, holds);
            }
        }
    }

    /// Whether `data` is as much as the newest ACK was of that its sender had heard, and ends a buffer further on.
    pub(super) fn is_echo(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let Some(newest) = acks.newest_by(known_ns) else {
            return false;
        };
        let before = acks.acked_by(newest.time_ns.saturating_sub(1));
        let holds = data.end.saturating_sub(newest.acked);
        newest.acked.saturating_sub(before) == i64::from(data.bytes) && self.may_hold(holds)
    }

    /// For how long `data` waited until an ACK made room for it in a buffer that had been refilled by the one before it;
    /// it came by later by what it then stood before the slowest link.
    pub(super) fn refill_waited_ns(
        &self,
        (data, is_answer): (Data, bool),
        route: Route,
        acks: &Acks,
    ) -> Option<i64> {
        let other = data.sharing.sockets.refilled;
        let holds = self.refills.holds.or(other)?;
        let (sent, _) = self.sent?;
        if self.has_more || is_answer || route.is_at_sender {
            return None;
        }
        if self.ends_with_window(data, route, acks) {
            return None;
        }
        let full = self.sent_until.saturating_sub(holds);
        let filled_ns = acks.time_of(full)?;
        // What is missing before the data left with it, or before.
        let made_ns = acks.time_of(full.saturating_add(1))?;
        let was_full = acks.acked_by(filled_ns) == full && self.window.never_had_more_than(holds);
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let left_ns = data.at.time_ns.saturating_sub(takes_ns);
        let known_ns = Acks::known_by(left_ns, route.to_sender_ns);
        let late_ns = known_ns.saturating_sub(made_ns);
        let may_have_stood = late_ns <= data.sharing.queued_ns.saturating_add(RELEASE_MAX_NS);
        let gap_ns = data.at.time_ns.saturating_sub(sent.time_ns);
        let waited_ns = made_ns.saturating_sub(filled_ns);
        (was_full && may_have_stood && late_ns >= 0)
            .then_some(waited_ns.max(gap_ns.saturating_sub(late_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;
    use crate::used_window::Sockets;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 3000;

    /// A sender of which segments of such sizes, each of them pushed, come 20 ms after each other and are acknowledged one
    /// by one, on a path of 10 ms, and a link that others have kept busy for 200 ms.
    struct Sender {
        timeline: Timeline,
        acks: Acks,
        end: i64,
        now_ms: i64,
        sharing: Sharing,
    }

    impl Sender {
        fn new(refilled: Option<i64>) -> Sender {
            let sharing = Sharing {
                queued_ns: 200 * MS,
                sockets: Sockets {
                    refilled,
                    ..Sockets::default()
                },
                ..Sharing::default()
            };
            let mut sender = Sender {
                timeline: Timeline::new(Words::OF_RESPONSES, None),
                acks: Acks::default(),
                end: START,
                now_ms: 0,
                sharing,
            };
            sender.timeline.window.hears(0, START);
            sender.acks.push(0, START, 60_000, 10 * MS);
            sender
        }

        fn sends(&mut self, sizes: &[u32]) {
            for bytes in sizes {
                self.now_ms += 20;
                self.end += i64::from(*bytes);
                self.comes(*bytes);
                self.acks.push(self.now_ms * MS, self.end, 60_000, 10 * MS);
            }
        }

        fn comes(&mut self, bytes: u32) {
            let data = Data {
                bytes,
                is_pushed: true,
                sharing: self.sharing,
                ..Data::at_ms(self.now_ms, self.end)
            };
            let route = Route::at_receiver(10);
            self.timeline.new_data(data, None, route, &self.acks);
        }

        /// What is told of the time since the segment before, if the next one comes so much later and no ACK has.
        fn told_after(&mut self, later_ms: i64, bytes: u32) -> Vec<(Cause, i64)> {
            let since_ms = self.now_ms;
            self.now_ms += later_ms;
            self.end += i64::from(bytes);
            self.comes(bytes);
            let told = self.timeline.between(since_ms * MS, self.now_ms * MS);
            told.map(|it| (it.cause, it.end.time_ns / MS - since_ms))
                .collect()
        }
    }

    /// How large a buffer seems to be from which segments of such sizes were sent, each of which was acknowledged.
    fn holds_behind(sizes: &[u32]) -> Option<i64> {
        let mut refills = Refills::default();
        let mut acked = vec![START];
        let mut end = START;
        for bytes in sizes {
            end += i64::from(*bytes);
            for ack in &acked {
                let holds = end - ack;
                if holds % UNIT_BYTES == 0 {
                    refills.ends_behind(end, holds);
                }
            }
            acked.push(end);
        }
        refills.holds
    }

    #[test]
    fn segments_that_come_again_a_buffer_further_on_show_how_large_it_is() {
        let odd = [700, 512, 300, 536];
        assert_eq!(holds_behind(&[odd, odd].concat()), Some(2048));
    }

    #[test]
    fn pieces_of_one_size_end_as_far_apart_as_any_buffer_is_large() {
        assert_eq!(holds_behind(&[512; 40]), None);
    }

    #[test]
    fn another_answer_may_begin_as_far_behind_the_one_before() {
        let mut refills = Refills::default();
        for end in [700, 1212, 1512] {
            refills.begin_anew();
            refills.ends_behind(START + end, 4096);
        }
        assert_eq!(refills.holds, None);
    }

    #[test]
    fn what_a_full_buffer_had_room_for_waited_from_the_one_ack_to_the_next_and_then_stood() {
        let sizes = [700, 512, 300, 536];
        let mut sender = Sender::new(Some(2048));
        sender.sends(&sizes);
        let told = sender.told_after(60, 700);
        let buffer = (Cause::SendLimitedSendBuffer, 60);
        assert_eq!(told.last(), Some(&buffer));
        let mut of_none = Sender::new(None);
        of_none.sends(&sizes);
        let told = of_none.told_after(60, 700);
        assert_ne!(told.last(), Some(&buffer));
    }

    #[test]
    fn as_much_as_was_acknowledged_a_buffer_further_on_is_an_echo() {
        for (sizes, bytes, is_echo) in [
            ([200, 1000, 900], 148, false),
            ([148, 1000, 900], 148, true),
            ([148, 1000, 800], 148, false),
        ] {
            let sender = Sender::new(None);
            let (timeline, mut acks) = (sender.timeline, sender.acks);
            let sent: i64 = sizes.iter().sum();
            acks.push(100 * MS, START + sizes[0], 60_000, 10 * MS);
            let data = Data {
                bytes,
                ..Data::at_ms(110, START + sent + i64::from(bytes))
            };
            assert_eq!(
                timeline.is_echo(data, Route::at_receiver(10), &acks),
                is_echo
            );
        }
    }

    #[test]
    fn what_ends_elsewhere_had_no_full_buffer_before_it() {
        let mut sender = Sender::new(Some(2048));
        sender.sends(&[700, 512, 300, 530]);
        let told = sender.told_after(60, 700);
        let buffer = (Cause::SendLimitedSendBuffer, 60);
        assert_ne!(told.last(), Some(&buffer));
    }
}
