//! Whose ACK let go what the server sent after a pause, and how often that was another connection's.

use super::ack::Release;
use super::connection::Opened;
use super::departures::Left;
use super::flight::{Coming, Flight};
use super::host_pair::HostPair;
use super::pace::FULL_BYTES_MIN;
use super::queue::IDLE_MIN_NS;
use super::rhythm::is_rhythm;
use super::steady::Opening;
use crate::jitter::{CLOSE_NS, EARLY_MAX_NS};

/// Two packets closer than this left together, if no link is slower.
pub(super) const TOGETHER_NS: i64 = 2_000_000;
/// ... and follow the ACK that lets them go by the path and this much.
const LATE_MAX_NS: i64 = 1_000_000;
/// The path's time varies by this share of it.
const JITTER_SHARE: i64 = 50;
/// So many lost packets leave a gap in a flight, which is as long as they take, give or take this share of it.
const LOST_MAX: i64 = 3;
const LOST_SHARE: i64 = 8;
/// Flights that the ACK of another connection must have let go, if there is hardly an ACK.
const SIGNS_MIN: i64 = 2;
/// ... and with which what was found holds: a host keeps its stack.
const SIGNS_SURE: i64 = 6;
/// ... and the logarithm of how much more likely they are if windows are shared than by chance, in eighths of a bit.
const EVIDENCE_MIN: i64 = 64;
/// ... or no less than this, 32 times, if one of them at least lay in the server's buffer: nothing but an ACK lets that
/// go, while an answer begins when its application has it. Two that did may be one coincidence, of connections whose ACKs
/// let go each other's data; it takes so many, or an answer that begins so as well.
const EVIDENCE_OF_BUFFER_MIN: i64 = 40;
const SIGNS_OF_BUFFER_MIN: i64 = 3;
/// An opening speaks by itself if it is so much more likely than by chance, in eighths of a bit: those that the link
/// has stand behind others' data are not.
const SURE_OPENING: i64 = 24;
/// If windows are shared it is an ACK that lets data go: as close as the path has it, or a little later where what
/// else there is on the path is in its way. So many thousandths an application had held.
const CLOSE: i64 = 400;
const LATE: i64 = 400;
const BY_APPLICATION: i64 = 200;
/// Of the first segments of answers no more than so many thousandths wait for a window; the others come when their
/// server has them, at times that have nothing to do with ACKs.
const OPENING_HELD: i64 = 200;
/// A chance is seen in no longer pause: a second one like it comes with a page.
const PAUSE_MAX_NS: i64 = 1_000_000_000;
/// A chance is a share of this.
const CERTAIN: i64 = 1000;

/// The logarithm of a share, in eighths of a bit.
fn eighths_of_bits(share: i64) -> i64 {
    let share = u128::from(share.max(1).unsigned_abs());
    i64::from(share.saturating_pow(8).ilog2())
}

impl HostPair {
    /// Data of the server goes by; what let it go, or the flight that it is part of.
    pub(super) fn fly(&mut self, coming: Coming) -> Release {
        let Coming { time_ns, bytes, .. } = coming;
        let own = self.release(time_ns, coming.client_port, 0);
        let before = self.flight;
        let pause_ns = before.map_or(i64::MAX, |it| time_ns.saturating_sub(it.last_ns));
        let last_bytes = before.map_or(0, |it| it.last_bytes);
        // There is no link between the server and who looks next to it: what leaves at once comes at once.
        let on_link_ns = if self.is_at_server() { 0 } else { pause_ns };
        if last_bytes >= FULL_BYTES_MIN && pause_ns > 0 {
            self.pace.follows(on_link_ns, bytes);
        }
        // What found the link idle left by itself.
        let was_alone = self.found_link_idle(pause_ns, bytes);
        let goes_on = before.filter(|_| !was_alone && self.is_together(pause_ns));
        let mut flight = goes_on.unwrap_or(Flight {
            start_ns: time_ns,
            last_ns: time_ns,
            last_bytes: bytes,
            release: own,
            pause_ns,
            // A rhythm is one of a pacer, or of the ACKs that follow it, if several fit into a round trip; flights
            // of a window follow each other by nearly a whole one.
            has_told: pause_ns.saturating_mul(2) <= self.round_trip_ns()
                && before.is_some_and(|it| is_rhythm(it.pause_ns, pause_ns)),
        });
        let resumes = goes_on.is_none() || coming.quiet_ns >= self.round_trip_ns() / 2;
        // Who had no more to send waited for the application, and those of two connections may work in step.
        let was_there = coming.had_more || coming.begins;
        // What stood before the link may have left with an ACK of its own that came long before.
        let stood_ns = self.departures.newest().map_or(0, Left::stood_ns);
        let stood = self.release(time_ns, coming.client_port, stood_ns) == Release::Own;
        let is_sign = !flight.has_told && resumes && was_there && !coming.tells_nothing && !stood;
        // An answer waits for as long as its own connection is quiet, whatever others carry meanwhile.
        let of_own = goes_on.is_some() || coming.begins;
        let waited_ns = if of_own { coming.quiet_ns } else { pause_ns };
        // Behind what left before it, it comes later than the ACK has it that let it go.
        let may_have_stood = goes_on.is_some()
            && self.pace.largest_ns().is_some()
            && !self.is_longer_than_link(pause_ns, bytes);
        let is_behind = may_have_stood && own == Release::None;
        // What is as long behind its question as others waited for its server.
        let is_steady = coming
            .asked_ns
            .is_some_and(|asked_ns| self.is_steady(time_ns, time_ns.saturating_sub(asked_ns)));
        if is_sign && !is_behind && self.is_tellable(waited_ns) {
            flight.has_told = own != Release::Own;
            if !is_steady {
                self.tells(own, coming, waited_ns);
            }
        }
        self.flight = Some(Flight {
            last_ns: time_ns,
            last_bytes: bytes,
            ..flight
        });
        let lasts_ns = time_ns.saturating_sub(flight.start_ns);
        if own == Release::None
            && lasts_ns < self.round_trip_ns()
            && flight.release != Release::None
        {
            // It left with the first of them and stood behind it.
            return Release::Other;
        }
        own
    }

    /// What a flight tells of whose ACK let it go, which begins with this after such a pause.
    fn tells(&mut self, release: Release, coming: Coming, pause_ns: i64) {
        if release == Release::Own {
            return;
        }
        let is_by_other = release == Release::Other;
        let nearest = self.ack_before(coming.time_ns, coming.bytes);
        let is_close =
            is_by_other && nearest.is_some_and(|ack| ack.client_port != coming.client_port);
        let pause_ns = self.chance_lasts_ns(coming, pause_ns);
        let late_ns = self.late_ns().saturating_add(EARLY_MAX_NS);
        let close_ns = CLOSE_NS.saturating_mul(2).min(late_ns);
        let by_chance = |width_ns| self.chance(coming.client_port, pause_ns, width_ns);
        let of_late = by_chance(late_ns);
        let (held, chance) = match (is_by_other, is_close) {
            (true, true) => (CLOSE, by_chance(close_ns)),
            (true, false) => (LATE, of_late.saturating_sub(by_chance(close_ns))),
            (false, _) => (BY_APPLICATION, CERTAIN.saturating_sub(of_late)),
        };
        let if_shared = if coming.begins {
            let held = if is_by_other { OPENING_HELD } else { 0 };
            let by_server = chance.saturating_mul(CERTAIN.saturating_sub(OPENING_HELD)) / CERTAIN;
            held.saturating_add(by_server)
        } else {
            held
        };
        let is_of_window = is_by_other && !coming.begins;
        self.by_others = self.by_others.saturating_add(i64::from(is_of_window));
        self.openings_by_others = self
            .openings_by_others
            .saturating_add(i64::from(is_by_other && coming.begins));
        let evidence = eighths_of_bits(if_shared).saturating_sub(eighths_of_bits(chance));
        self.evidence = self.evidence.saturating_add(evidence);
        let is_sure = is_by_other && coming.begins && evidence >= SURE_OPENING;
        self.sure_openings = self.sure_openings.saturating_add(i64::from(is_sure));
        if is_by_other && coming.begins {
            self.steady.shows(Opening { evidence, is_sure });
        }
        if is_close {
            let is_end = nearest.is_some_and(|ack| self.ends_connection(ack));
            self.division.lets_go(is_end, coming.begins);
        }
        let were_sharing = self.are_sharing() && self.by_others >= SIGNS_SURE;
        self.has_learnt_of_sharing(self.shows_sharing() || were_sharing);
    }

    /// All have as much in flight as before, though they are more or fewer: so much more likely is that if they share
    /// their window.
    pub(super) fn is_sign_of_sharing(&mut self, evidence: i64) {
        self.by_others = self.by_others.saturating_add(1);
        self.evidence = self.evidence.saturating_add(evidence);
        self.division.is_refuted();
        self.has_learnt_of_sharing(self.are_sharing() || self.shows_sharing());
    }

    /// Whether what flights tell is enough.
    fn shows_sharing(&self) -> bool {
        let signs = self.by_others.saturating_add(self.openings_by_others);
        let is_of_buffer = self.by_others > 0;
        let has_signs = self.sure_openings >= SIGNS_MIN || (is_of_buffer && signs >= SIGNS_MIN);
        let is_no_step = signs >= SIGNS_OF_BUFFER_MIN || self.openings_by_others > 0;
        (has_signs && self.evidence >= EVIDENCE_MIN)
            || (is_of_buffer && is_no_step && self.evidence >= EVIDENCE_OF_BUFFER_MIN)
    }

    /// Whether what comes after such a pause left together with what came before, of which some may have been lost.
    pub(super) fn is_together(&self, pause_ns: i64) -> bool {
        let service_ns = self.pace.largest_ns().unwrap_or(0);
        let lost = pause_ns
            .saturating_add(service_ns / 2)
            .checked_div(service_ns)
            .unwrap_or(0)
            .min(LOST_MAX);
        let off_ns = pause_ns.saturating_sub(service_ns.saturating_mul(lost));
        pause_ns <= service_ns.saturating_add(service_ns / 2).max(TOGETHER_NS)
            || off_ns.saturating_abs() <= service_ns / LOST_SHARE
    }

    /// Whether a segment found the slowest link idle, on a path so long that only an ACK can have let it go then.
    fn found_link_idle(&self, pause_ns: i64, bytes: u32) -> bool {
        self.is_longer_than_link(pause_ns, bytes) && self.round_trip_ns() > self.late_ns()
    }

    /// Whether a segment comes so much later than the one before as the slowest link, which is known, is not busy for.
    fn is_longer_than_link(&self, pause_ns: i64, bytes: u32) -> bool {
        self.pace.on_link(bytes).is_some_and(|on_link| {
            let slack_ns = on_link.slack_ns().max(IDLE_MIN_NS);
            pause_ns > on_link.takes_ns.saturating_add(slack_ns)
        })
    }

    /// Whether an answer came with that to the SYN, which had not been kept for it.
    pub(super) fn is_at_once(&self, opened: Opened) -> bool {
        let way_ns = self.to_server_ns.unwrap_or(0);
        opened.elapsed_ns <= way_ns.saturating_add(self.late_ns())
    }

    /// How much later than an ACK lets it go data may come by. Next to the server that is seen to leave.
    fn late_ns(&self) -> i64 {
        if self.is_at_server() {
            return CLOSE_NS;
        }
        self.pace
            .largest_ns()
            .unwrap_or(0)
            .saturating_add(self.round_trip_ns() / JITTER_SHARE)
            .saturating_add(LATE_MAX_NS)
    }

    /// On a link on which a segment takes as long as the path, every ACK is one at the right time, unless there was a
    /// pause.
    fn is_tellable(&self, pause_ns: i64) -> bool {
        let span_ns = self.round_trip_ns().max(pause_ns);
        self.connections.len() > 1 && self.late_ns().saturating_mul(3) < span_ns
    }

    /// Whose ACK let go what goes by at `time_ns`, if it stood in the queue of the slowest link for no longer than this.
    pub(super) fn release(&self, time_ns: i64, client_port: u16, queued_ns: i64) -> Release {
        // Alone, nobody is there to share with.
        let others = self.connections.len() > 1;
        let Some(to_server_ns) = self.to_server_ns.filter(|_| others) else {
            return Release::None;
        };
        let target = time_ns.saturating_sub(to_server_ns);
        let newest = target.saturating_add(EARLY_MAX_NS);
        let oldest = target
            .saturating_sub(self.late_ns())
            .saturating_sub(queued_ns);
        let mut release = Release::None;
        for ack in self
            .acks
            .iter()
            .rev()
            .skip_while(|ack| ack.time_ns > newest)
        {
            if ack.time_ns < oldest {
                break;
            }
            if ack.client_port == client_port {
                return Release::Own;
            }
            if ack.is_new {
                release = Release::Other;
            }
        }
        release
    }

    /// How likely an ACK of another connection is at the right time, if it has nothing to do with it: the share
    /// of the last two round trips, or of the pause, that is as close to one.
    fn chance(&self, client_port: u16, pause_ns: i64, width_ns: i64) -> i64 {
        let round_trips_ns = self.round_trip_ns().saturating_mul(2);
        let span_ns = round_trips_ns.max(pause_ns.min(PAUSE_MAX_NS));
        let Some(newest) = self.acks.back() else {
            return 0;
        };
        let recent = self.acks.iter().rev();
        let recent = recent.take_while(|ack| newest.time_ns.saturating_sub(ack.time_ns) <= span_ns);
        let mut covered_ns = 0_i64;
        let mut until_ns = i64::MAX;
        for ack in recent.filter(|ack| ack.is_new && ack.client_port != client_port) {
            let distance_ns = until_ns.saturating_sub(ack.time_ns);
            covered_ns = covered_ns.saturating_add(distance_ns.min(width_ns));
            until_ns = ack.time_ns;
        }
        let share = covered_ns.saturating_mul(CERTAIN).checked_div(span_ns);
        share.unwrap_or(CERTAIN).min(CERTAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::Ack;
    use super::super::connection::Connection;
    use super::super::pace::Pace;
    use super::*;
    use trace_model::{IpAddress, SeqNumber};

    const MS: i64 = 1_000_000;

    #[test]
    fn what_lay_in_the_buffer_shows_a_shared_window_with_less_evidence_than_the_beginnings_of_answers(
    ) {
        let address = IpAddress {
            is_v6: false,
            octets: [0; 16],
        };
        for (by_others, openings, evidence, shows) in [
            (3, 0, EVIDENCE_OF_BUFFER_MIN, true),
            (3, 0, EVIDENCE_OF_BUFFER_MIN - 1, false),
            (1, 1, EVIDENCE_OF_BUFFER_MIN, true),
            (2, 0, EVIDENCE_OF_BUFFER_MIN, false),
            (2, 0, EVIDENCE_MIN, true),
            (0, 3, EVIDENCE_OF_BUFFER_MIN, false),
            (0, 3, EVIDENCE_MIN, true),
        ] {
            let mut pair = HostPair::new(address, address);
            pair.by_others = by_others;
            (pair.openings_by_others, pair.sure_openings) = (openings, openings);
            pair.evidence = evidence;
            assert_eq!(pair.shows_sharing(), shows);
        }
    }

    #[test]
    fn next_to_the_server_data_leaves_with_the_ack_that_lets_it_go() {
        for (way_ms, is_at_server, release) in
            [(0, true, Release::None), (50, false, Release::Other)]
        {
            let mut pair = HostPair::with_path(way_ms * MS);
            pair.to_client_ns = is_at_server.then_some(50 * MS);
            for client_port in [1, 2] {
                let connection = Connection::new(0, (client_port, 80), SeqNumber(0), false);
                pair.connections.push_back(connection);
            }
            pair.acks.push_back(Ack::of_data(100 * MS, 2, 0));
            let after = |late_us: i64| pair.release((100 + way_ms) * MS + late_us * 1000, 1, 0);
            assert_eq!(after(400), Release::Other);
            assert_eq!(after(1500), release);
        }
    }

    #[test]
    fn what_comes_later_than_a_known_link_is_busy_for_found_it_idle_if_the_path_is_longer() {
        for (way_ns, is_idle) in [(100 * MS, true), (MS, false)] {
            let mut pair = HostPair::with_path(way_ns);
            assert!(
                !pair.found_link_idle(20 * MS, 1000),
                "its pace is not known"
            );
            let mut pace = Pace::default();
            pace.follows(4 * MS, 1000);
            pair.pace = pace;
            assert!(!pair.found_link_idle(4 * MS, 1000));
            assert_eq!(pair.found_link_idle(6 * MS, 1000), is_idle);
            assert!(pair.is_longer_than_link(6 * MS, 1000), "nor did it stand");
        }
    }
}
