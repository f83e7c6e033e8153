//! What a byte takes on the slowest link to the client, as the server's end of it is told.
//!
//! Theory of operation. Each ACK bounds that from above. Bounds agree that an ACK which a timer had delayed cannot
//! have told all alike: of less data the same delay makes more of a byte. Where data waits before the link, the
//! distances of ACKs tell it, if several are the same, or if one is what the client's own data has told: that comes
//! as closely as the link lets it, which is taken to be no faster in that direction. Whether a link has headers of its
//! own is not known; of a request they are a large part, of a full segment they are none.

use tcptrace_tcp::{DELAYED_ACK_SEGMENTS, FULL_SEGMENT_BYTES};

use super::asked::Closest;
use super::link_times::LinkTime;
use crate::byte_time::{per_byte, takes_ns, ByteTime, HEADER_BYTES, SERIAL_HEADER_BYTES};
use crate::link_margins::{BOUNDS_AGREEING_MIN, BOUNDS_AGREE_SHARE, QUEUED_SHARE, SLOWEST_PS};

/// Paces agree that differ by no more than this share of them.
const PACES_AGREE_SHARE: i64 = 100;
/// ... as does one with how close the client's data came, if with the same headers.
const ASKED_PACE_SHARE: i64 = 300;
/// ... and with a bound.
const ASKED_BOUND_SHARE: i64 = 8;
/// As many paces that agree show a link.
const PACES_AGREEING_MIN: u32 = 3;
/// Bounds of sizes that differ by less than this share may have the same delay in them.
const SAME_SIZE_SHARE: i64 = 8;

/// What was acknowledged since the link had begun to work took no longer than that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) elapsed_ns: i64,
    /// All of it that is not in the least round trip of the path, with headers.
    pub(super) size: i64,
    /// Of it, what this ACK acknowledges.
    pub(super) newly: i64,
    /// What the path's least round trip has room for.
    pub(super) most_ps: i64,
    /// How long after its beginning the newest segment left, and what had left by then or with that.
    pub(super) newest_after_ns: i64,
    pub(super) payload: i64,
}

/// How long after the ACK before another one came whose data had waited, and what it acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distance {
    pub(super) gap_ns: i64,
    pub(super) newly: i64,
    pub(super) segments: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentLink {
    /// What a byte takes, at most, and how many bounds agree on that; the size of the newest of them.
    bound_ps: Option<i64>,
    bounds: u32,
    bound_size: i64,
    /// The distance of the last ACKs by the bytes of the later one, and how many before it were the same.
    pace_ps: i64,
    paces: u32,
    /// What it is, as paces have agreed.
    paced_ps: Option<i64>,
    /// ... or bounds, as far as these allow.
    byte_ps: Option<i64>,
    largest_bytes: u32,
    /// What two times have agreed on, unless a bound has refuted that.
    timed: Option<ByteTime>,
    /// Others have agreed on the same.
    is_timed_again: bool,
}

impl SentLink {
    pub(super) fn byte_ps(self) -> Option<i64> {
        self.byte_time().map(|it| it.byte_ps)
    }

    /// ... and with which headers.
    pub(super) fn byte_time(self) -> Option<ByteTime> {
        let told = || self.byte_ps.map(ByteTime::with_frames);
        self.timed.or_else(told)
    }

    /// ... at most, as far as ACKs have told.
    pub(super) fn bound_ps(self) -> Option<i64> {
        self.bound_ps
    }

    /// The largest segment that the server has sent.
    pub(super) fn full_bytes(self) -> i64 {
        i64::from(self.largest_bytes)
    }

    /// The server sends a segment of so many bytes.
    pub(super) fn carries(&mut self, bytes: u32) {
        self.largest_bytes = self.largest_bytes.max(bytes.min(FULL_SEGMENT_BYTES));
    }

    pub(super) fn is_bound(&mut self, bound: Bound) {
        let most_ps = bound.most_ps.min(SLOWEST_PS);
        let bound_ps = per_byte(bound.elapsed_ns, bound.size);
        // No link takes longer: the path was empty for a while, or an ACK is late, and nothing agrees by that.
        let is_of_link = bound_ps <= most_ps;
        let bound_ps = bound_ps.min(most_ps);
        // What left when all before it had gone waited for something else than the link.
        let before_ns = takes_ns(bound_ps, bound.payload);
        let was_busy = is_of_link
            && bound.newest_after_ns < before_ns.saturating_sub(before_ns / QUEUED_SHARE);
        let full = i64::from(self.largest_bytes);
        let is_prompt = bound.newly >= full.saturating_mul(i64::from(DELAYED_ACK_SEGMENTS));
        let differs = bound.size.saturating_sub(self.bound_size).saturating_abs();
        let is_told_anew = is_prompt || differs >= bound.size / SAME_SIZE_SHARE;
        let before_ps = self.bound_ps.unwrap_or(i64::MAX);
        let slack_ps = before_ps / BOUNDS_AGREE_SHARE;
        if bound_ps < before_ps.saturating_sub(slack_ps) {
            self.bounds = u32::from(was_busy);
            self.bound_size = bound.size;
        } else if bound_ps <= before_ps.saturating_add(slack_ps) && was_busy && is_told_anew {
            self.bounds = self.bounds.saturating_add(1);
            self.bound_size = bound.size;
        }
        self.bound_ps = Some(before_ps.min(bound_ps));
        self.is_refuted();
    }

    /// The distance of an ACK to the one before, and how close the client's data has come.
    pub(super) fn is_paced(&mut self, distance: Distance, asked: Option<Closest>) {
        let pace_ps = distance.byte_ps(HEADER_BYTES);
        let difference_ps = pace_ps.saturating_sub(self.pace_ps).saturating_abs();
        self.paces = if difference_ps <= pace_ps / PACES_AGREE_SHARE {
            self.paces.saturating_add(1)
        } else {
            1
        };
        self.pace_ps = pace_ps;
        if asked.is_some_and(|asked| distance.agrees_with(asked)) {
            self.paces = self.paces.max(PACES_AGREEING_MIN);
        }
    }

    /// Two times have agreed on what a byte takes with such headers. What agrees by chance is longer: no packet comes
    /// sooner than the link lets it.
    pub(super) fn is_timed(&mut self, timed: ByteTime) {
        let is_again = self.timed.is_some_and(|known| known.is_same(timed));
        self.is_timed_again |= is_again;
        if self.timed.is_none_or(|known| timed.byte_ps < known.byte_ps) {
            self.is_timed_again &= is_again;
            self.timed = Some(timed);
            self.is_refuted();
        }
    }

    /// An ACK came so late: sooner than by what two times have agreed on, though these may have done so by chance. What
    /// others have agreed on as well was none; then the path's least round trip was less.
    pub(super) fn took(&mut self, time: LinkTime) {
        let is_sure = self.is_timed_again;
        self.timed = self.timed.filter(|it| is_sure || !it.is_refuted_by(time));
    }

    /// A bound tells that the link takes less than two times have agreed on: something else took those.
    fn is_refuted(&mut self) {
        let (timed_ps, bound_ps) = (self.timed_ps(), self.bound_ps);
        let is_less = timed_ps.zip(bound_ps).is_some_and(|(timed_ps, bound_ps)| {
            bound_ps < timed_ps.saturating_sub(timed_ps / ASKED_BOUND_SHARE)
        });
        self.timed = self.timed.filter(|_| !is_less);
    }

    /// What two times have agreed on, as a byte of a full segment takes it, counted with headers of Ethernet.
    fn timed_ps(self) -> Option<i64> {
        let timed = self.timed?;
        let full = i64::from(self.largest_bytes).max(1);
        let size = full.saturating_add(timed.header_bytes);
        let takes_ps = timed.byte_ps.saturating_mul(size);
        takes_ps.checked_div(full.saturating_add(HEADER_BYTES))
    }

    /// Whether what tells of the link agrees, be it how close the client's data comes.
    pub(super) fn agrees(&mut self, asked: Option<Closest>) {
        let Some(bound_ps) = self.bound_ps else {
            return;
        };
        let slack_ps = bound_ps / BOUNDS_AGREE_SHARE;
        if self.paces >= PACES_AGREEING_MIN && self.pace_ps <= bound_ps.saturating_add(slack_ps) {
            self.paced_ps = Some(self.pace_ps);
        }
        // A bound may have a part of an ACK's delay in it, but it is one.
        let least_ps = bound_ps.saturating_sub(bound_ps / ASKED_BOUND_SHARE);
        let is_bound = |ps: &i64| (least_ps..=bound_ps.saturating_add(slack_ps)).contains(ps);
        let told_ps = if self.paced_ps.is_some() {
            self.paced_ps
        } else if self.bounds >= BOUNDS_AGREEING_MIN {
            Some(bound_ps)
        } else {
            let mut asked_ps = asked.into_iter().flat_map(|asked| self.by_asked(asked));
            // Which headers the link has is not known: a bound that tells the same tells it better.
            let is_close = |ps: i64| bound_ps.saturating_sub(ps) <= slack_ps;
            let asked_ps = asked_ps.find(is_bound);
            let asked_ps = asked_ps.map(|ps| if is_close(ps) { bound_ps } else { ps });
            self.byte_ps.or(asked_ps)
        };
        self.byte_ps = told_ps.map(|ps| ps.min(bound_ps));
    }

    /// What a byte of a full segment takes, counted with headers of Ethernet, as the client's data tells it on a link
    /// without and with them.
    fn by_asked(self, asked: Closest) -> [i64; 2] {
        let full = i64::from(self.largest_bytes).max(1);
        [SERIAL_HEADER_BYTES, HEADER_BYTES].map(|header| {
            let size = full.saturating_add(header);
            let takes_ps = asked.byte_ps(header).saturating_mul(size);
            let counted = full.saturating_add(HEADER_BYTES);
            takes_ps.checked_div(counted).unwrap_or(0)
        })
    }
}

impl Distance {
    fn byte_ps(self, header: i64) -> i64 {
        let headers = self.segments.saturating_mul(header);
        per_byte(self.gap_ns, self.newly.saturating_add(headers))
    }

    /// Whether the client's data came as close by its size, whichever headers the link has.
    fn agrees_with(self, asked: Closest) -> bool {
        let is_prompt_or_alone = self.segments <= i64::from(DELAYED_ACK_SEGMENTS);
        let are_same = |header: i64| {
            let (pace_ps, asked_ps) = (self.byte_ps(header), asked.byte_ps(header));
            let differs = pace_ps.saturating_sub(asked_ps).saturating_abs();
            differs <= pace_ps / ASKED_PACE_SHARE
        };
        is_prompt_or_alone && (are_same(SERIAL_HEADER_BYTES) || are_same(HEADER_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const BYTE_PS: i64 = 100_000_000;

    /// A bound of `size` bytes that a timer has made so much longer, of which `newly` were acknowledged now.
    fn bound(size: i64, delay_ms: i64, newly: i64) -> Bound {
        Bound {
            elapsed_ns: takes_ns(BYTE_PS, size) + delay_ms * MS,
            size,
            newly,
            most_ps: SLOWEST_PS,
            newest_after_ns: 0,
            payload: size,
        }
    }

    fn bounded(bounds: &[Bound]) -> Option<i64> {
        let mut link = SentLink::default();
        link.carries(1000);
        for bound in bounds {
            link.is_bound(*bound);
            link.agrees(None);
        }
        link.byte_ps()
    }

    #[test]
    fn bounds_of_as_much_data_may_have_the_same_delay_in_them() {
        assert_eq!(bounded(&[bound(3000, 200, 900); 5]), None);
        let others = [3000, 4000, 5000].map(|size| bound(size, 0, 900));
        assert_eq!(bounded(&others), Some(BYTE_PS));
        assert_eq!(bounded(&[bound(3000, 0, 2000); 3]), Some(BYTE_PS));
    }

    #[test]
    fn what_the_pace_of_acks_has_shown_no_looser_bounds_undo() {
        let mut link = SentLink::default();
        link.is_bound(bound(3000, 200, 900));
        for _ in 0..3 {
            let distance = Distance {
                gap_ns: 100 * MS,
                newly: 946,
                segments: 1,
            };
            link.is_paced(distance, None);
        }
        link.agrees(None);
        for size in [4000, 5000, 6000] {
            link.is_bound(bound(size, 200, 900));
            link.agrees(None);
        }
        assert_eq!(link.byte_ps(), Some(BYTE_PS));
    }

    #[test]
    fn one_pace_that_is_that_of_a_request_shows_the_link_whatever_headers_it_has() {
        for header in [40, 54] {
            let mut link = SentLink::default();
            link.carries(1000);
            link.is_bound(bound(3000, 200, 900));
            let distance = Distance {
                gap_ns: takes_ns(BYTE_PS, 1000 + header),
                newly: 1000,
                segments: 1,
            };
            let asked = |longer_ns: i64| Closest {
                gap_ns: takes_ns(BYTE_PS, 100 + header) + longer_ns,
                bytes: 100,
            };
            let mut other = link;
            other.is_paced(distance, Some(asked(MS)));
            other.agrees(Some(asked(MS)));
            assert_eq!(other.byte_ps(), None);
            link.is_paced(distance, Some(asked(0)));
            link.agrees(Some(asked(0)));
            let full_ns = link.byte_ps().map(|ps| takes_ns(ps, 1054));
            let differs_ns = full_ns.map(|ns| (ns - takes_ns(BYTE_PS, 1000 + header)).abs());
            assert!(differs_ns.is_some_and(|ns| ns < 1000), "{full_ns:?}");
        }
    }

    #[test]
    fn what_two_times_agree_on_is_the_least_of_it_unless_a_bound_tells_of_less() {
        let agreed = |byte_ps: i64| ByteTime {
            byte_ps,
            header_bytes: 54,
        };
        let mut link = SentLink::default();
        link.carries(946);
        for (told_ps, known_ps) in [
            (BYTE_PS, BYTE_PS),
            (2 * BYTE_PS, BYTE_PS),
            (BYTE_PS / 2, BYTE_PS / 2),
        ] {
            link.is_timed(agreed(told_ps));
            assert_eq!(link.byte_ps(), Some(known_ps));
        }
        link.is_timed(agreed(BYTE_PS / 3));
        assert_eq!(link.byte_ps(), Some(BYTE_PS / 3));
        let mut bound_before = SentLink::default();
        bound_before.carries(946);
        bound_before.is_timed(agreed(2 * BYTE_PS));
        bound_before.is_bound(bound(3000, 0, 2000));
        assert_eq!(bound_before.byte_ps(), None);
    }

    #[test]
    fn what_two_times_have_agreed_on_once_an_ack_that_comes_sooner_refutes() {
        let mut link = SentLink::default();
        link.carries(946);
        let timed = ByteTime {
            byte_ps: BYTE_PS,
            header_bytes: 54,
        };
        let late = |late_ms: i64| LinkTime {
            elapsed_ns: late_ms * MS,
            bytes: 946,
            packets: 1,
            is_distance: false,
            stretch: Some(1),
            is_with_syn: false,
        };
        link.is_timed(timed);
        let mut again = link;
        link.took(late(100));
        assert_eq!(link.byte_ps(), Some(BYTE_PS));
        link.took(late(95));
        assert_eq!(link.byte_ps(), None);
        again.is_timed(timed);
        again.took(late(95));
        assert_eq!(again.byte_ps(), Some(BYTE_PS), "the path was less");
    }

    #[test]
    fn what_two_times_agree_on_counts_with_the_headers_of_a_full_segment() {
        let mut link = SentLink::default();
        link.carries(946);
        link.is_timed(ByteTime {
            byte_ps: BYTE_PS,
            header_bytes: 40,
        });
        let full_ns = link.byte_time().map(|it| it.takes_ns(946, 1));
        assert_eq!(full_ns, Some(takes_ns(BYTE_PS, 986)));
    }

    #[test]
    fn a_request_agrees_with_a_bound_on_a_link_with_headers_and_on_one_without() {
        for header in [40, 54] {
            let mut link = SentLink::default();
            link.carries(1000);
            let asked = Some(Closest {
                gap_ns: takes_ns(BYTE_PS, 100 + header),
                bytes: 100,
            });
            // A timer has its part in it.
            link.is_bound(bound(30_000, 150, 900));
            link.agrees(asked);
            let full_ns = link.byte_ps().map(|ps| takes_ns(ps, 1054));
            let differs_ns = full_ns.map(|ns| (ns - takes_ns(BYTE_PS, 1000 + header)).abs());
            assert!(differs_ns.is_some_and(|ns| ns < 1000), "{full_ns:?}");
        }
    }
}
