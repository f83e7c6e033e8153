//! A pause between two data segments of one sender, and what may have ended it.

#[cfg(test)]
pub(super) mod tests;

use trace_model::rows::{Direction, PauseRow};

use super::{Path, SentData, DISPROOF_MARGIN_NS, RELEASE_MAX_NS, RELEASE_RTT_SHARE};
use crate::finished_message::FinishedMessage;
use crate::jitter::CLOSE_NS;
use crate::segmentation::{Counted, Lull};

/// An ACK that came sooner was not delayed: 10 ms is the least that Linux can be set to, less what timers vary by.
pub(super) const ACK_DELAY_MIN_NS: i64 = 5_000_000;
/// Two ACKs whose distances differ by less are equally near, for round trips vary by as much; then
/// the one that acknowledges a short segment is taken, for only that one can release held data.
pub(super) const EQUALLY_NEAR_NS: i64 = 2_000_000;
/// ... unless data came as close to the path's time behind the one as nothing does by chance, and not behind the other.
const CLOSE_SHARE: i64 = 4;

/// A pause between two data segments of one sender.
#[derive(Debug)]
pub(super) struct Pause {
    pub(super) previous: SentData,
    pub(super) data: SentData,
    /// The one after it is.
    pub(super) is_short: bool,
    pub(super) path: Path,
    pub(super) spacing_ns: i64,
    /// When what was sent before had left the slowest link.
    pub(super) drained_ns: i64,
    /// What the link took for the released segment at most, as far as it is known at the end of the message.
    pub(super) bound_ns: i64,
    /// As far as it was known before the last ACK.
    pub(super) queued_until_ns: Option<i64>,
    pub(super) largest_flight_bytes: u64,
    /// When an ACK made room for it in the window, if there was none before.
    pub(super) made_room_ns: Option<i64>,
    /// ... if the window is no larger than it was shown to be.
    pub(super) may_have_made_room_ns: Option<i64>,
    /// What was in flight filled the window to its last byte.
    pub(super) was_used_up: bool,
    /// Something was lost before.
    pub(super) had_loss: bool,
    /// Its sender holds what is short until all is acknowledged, as RFC 896 has it: it has done so behind full
    /// ones.
    pub(super) waits_for_all: bool,
    /// ... or what is short until another short one is, as it did where the window had room.
    pub(super) waits_for_short: bool,
    pub(super) shorts: u32,
    /// The last ACKs before its end, newest first, while it is undecided.
    pub(super) endings: Vec<Ending>,
}

/// An ACK that may have ended a pause, and the short segment that it acknowledges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) ack: PeerAck,
    pub(super) short: Option<ShortSegment>,
}

/// An ACK of the receiver that acknowledged something new.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerAck {
    /// So many came with it.
    pub(super) number: u64,
    pub(super) frame: u64,
    pub(super) time_ns: i64,
    pub(super) before: u64,
    pub(super) after: u64,
    /// Time of the newest data it covers.
    pub(super) covered_ns: i64,
    pub(super) outstanding_segments: u32,
    pub(super) outstanding_bytes: u64,
    /// Up to where the receiver had offered room before.
    pub(super) offered_until: u64,
    /// What it carried itself.
    pub(super) bytes: u32,
    /// How long it may have stood in the queue of the link that it came on.
    pub(super) stood_ns: i64,
    /// How much later it came than what it acknowledges let it, where ACKs have settled that.
    pub(super) late_ns: Option<i64>,
    /// It answers a SYN with data: what follows that waited for it. Who answers with data himself need not wait until
    /// that is acknowledged (RFC 1644, section 3.2; RFC 7413, section 4.2).
    pub(super) opens_connection: bool,
    /// It acknowledges a SYN, and maybe what came on that.
    pub(super) covers_syn: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ShortSegment {
    pub(super) frame: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) bytes: u32,
}

/// A pause whose message is not complete yet; offsets are still those of the stream.
#[derive(Debug)]
pub(super) struct OpenPause {
    pub(super) released_start: u64,
    pub(super) released_end: u64,
    pub(super) short_start: Option<u64>,
    pub(super) shorts: u32,
    /// Only the algorithm as RFC 896 has it would have held it: what was outstanding was full.
    pub(super) is_behind_full: bool,
    /// ... and it waited for the ACK of all, while the window had room.
    pub(super) waited_for_all: bool,
    /// It was short and came as the ACK of another short one let it go, where the window had room.
    pub(super) waited_for_short: bool,
    /// So many bytes made the ACK late by what the link to the receiver took for them, if that was not known yet.
    pub(super) bytes_there: i64,
    pub(super) row: PauseRow,
}

/// The segment that a message starts in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) message_start: u64,
    pub(super) end: u64,
    pub(super) frame: u64,
    pub(super) time_ns: i64,
    /// Of the direction, up to the segment before.
    pub(super) counted: Counted,
    /// The longest pause since, if nothing was sent again meanwhile.
    pub(super) lull: Option<Lull>,
}

impl Pause {
    /// The pause as one that an ACK may have ended: a short segment waited for the ACK of a short one, or
    /// whatever it was for one that may have been delayed. A delayed ACK covers less than two full segments
    /// (RFC 1122, section 4.2.3.2). The released segment takes `takes_ns` on the slowest link; where that is in
    /// doubt, for delayed ACKs have their rhythm as well, what comes without taking it was released, too.
    pub(super) fn ended_by(
        &self,
        endings: impl Iterator<Item = Ending> + Clone,
        takes_ns: i64,
    ) -> Option<OpenPause> {
        let takes_ns = if self.path.is_nearer_to_sender() {
            0
        } else {
            takes_ns
        };
        // The closest tells most, but what it let go may not have been Nagle's to hold, for all that is known.
        let by = |is_strict| self.ended_by_nearest(endings.clone(), takes_ns, is_strict);
        by(true).or_else(|| by(false))
    }

    fn ended_by_nearest(
        &self,
        endings: impl Iterator<Item = Ending> + Clone,
        takes_ns: i64,
        is_strict: bool,
    ) -> Option<OpenPause> {
        let on_link = self.nearest(endings.clone(), takes_ns, is_strict)?;
        let at_once = self.nearest(endings, 0, is_strict)?;
        let off = |ending: &Ending, takes_ns: i64| self.since(ending, takes_ns).saturating_abs();
        if off(&at_once, 0) < off(&on_link, takes_ns) {
            self.row(at_once, 0)
        } else {
            self.row(on_link, takes_ns)
        }
    }

    /// How much later than this ACK could have released it the data came, but for what it stood in a queue.
    pub(super) fn since(&self, ending: &Ending, takes_ns: i64) -> i64 {
        let late_ns = self.late_ns(ending, takes_ns);
        let behind_others_ns = self.queued_ns().max(self.behind_others_ns(ending));
        let queued_ns = behind_others_ns.saturating_add(self.lost_ns(takes_ns));
        late_ns.saturating_sub(late_ns.clamp(0, queued_ns))
    }

    /// Whether it may have stood in a queue since the ACK let it go that made room for it in the window: then that was
    /// all that it waited for, unless its sender is known to wait for all.
    fn came_with_room(&self, ending: &Ending, takes_ns: i64) -> bool {
        if self.waits_for_all || self.queued_ns() == 0 {
            return false;
        }
        self.may_have_made_room_ns.is_some_and(|time_ns| {
            let ack = PeerAck {
                time_ns,
                ..ending.ack
            };
            let since_ns = self.since(&Ending { ack, short: None }, takes_ns);
            since_ns.saturating_abs() <= CLOSE_NS
        })
    }

    /// How much later than this ACK could have released it the data came.
    fn late_ns(&self, ending: &Ending, takes_ns: i64) -> i64 {
        let released_ns = self
            .data
            .time_ns
            .saturating_sub(self.path.sender_rtt_ns.unwrap_or(0))
            .saturating_sub(takes_ns);
        // The ACK took its time on the link as well, if data carried it; that is as slow in both directions.
        let carrier_ns = takes_ns
            .saturating_mul(i64::from(ending.ack.bytes))
            .checked_div(i64::from(self.data.bytes))
            .unwrap_or(0);
        released_ns
            .saturating_sub(carrier_ns)
            .saturating_sub(ending.ack.time_ns)
    }

    /// The ACK whose distance is what the path takes; of equally near ones one of a short segment, unless what is
    /// short waits for all others, too.
    fn nearest(
        &self,
        endings: impl Iterator<Item = Ending> + Clone,
        takes_ns: i64,
        is_strict: bool,
    ) -> Option<Ending> {
        let distance = |ending: &Ending| self.since(ending, takes_ns).saturating_abs();
        let nearest = endings.clone().min_by_key(distance)?;
        let most = distance(&nearest).saturating_add(EQUALLY_NEAR_NS);
        let is_close = is_strict && distance(&nearest) <= CLOSE_NS / CLOSE_SHARE;
        // An ACK of all lets go what is short whichever way the sender has the algorithm.
        let is_of_all = self.is_short && nearest.ack.after >= self.previous.end;
        let beaten_ns = CLOSE_NS / if is_of_all { CLOSE_SHARE } else { 1 };
        let is_beaten = |ending: &Ending| is_close && distance(ending) > beaten_ns;
        endings
            .filter(|ending| ending.short.is_some() && !self.waits_for_all)
            .min_by_key(distance)
            .filter(|ending| distance(ending) <= most && !is_beaten(ending))
            .or(Some(nearest))
    }

    fn row(&self, ending: Ending, takes_ns: i64) -> Option<OpenPause> {
        let Ending { ack, short } = ending;
        let (previous, data, path) = (&self.previous, &self.data, &self.path);
        let since_ack = self.since(&ending, takes_ns);
        let queued_ns = self.late_ns(&ending, takes_ns).saturating_sub(since_ack);
        let path_rtt = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(takes_ns)
            .saturating_add(path.receiver_rtt_ns.unwrap_or(0));
        let follows = since_ack <= RELEASE_MAX_NS.max(path_rtt / RELEASE_RTT_SHARE)
            && !self.came_before_its_ack(since_ack, takes_ns);
        let newly_acked = ack.after.saturating_sub(ack.before);
        // What is missing ahead of the data may have left with a full segment before, and is not acknowledged then.
        let all_before = short.map_or(data.start, |_| previous.end);
        let ack_covers_all = ack.after >= previous.end.max(all_before);
        let ack_delay = self.ack_delay_ns(&ack, ack_covers_all);
        let may_be_delayed = self.may_be_delayed(&ack, ack_delay, ack_covers_all);
        let may_be_held = self.is_short && short.is_some() && !self.was_window_full(&ack);
        // The window had room before the ACK of all came: the algorithm as RFC 896 has it held the end.
        let in_flight = ack.outstanding_bytes.saturating_add(u64::from(data.bytes));
        let had_room = |made_ns: i64| made_ns.saturating_add(RELEASE_MAX_NS) < ack.time_ns;
        // It had less in flight itself: what others had in flight of the window that they share shows how large that is.
        let exceeds_own = in_flight > self.largest_flight_bytes;
        let shared_room_ns = path
            .had_room_ns
            .filter(|made_ns| exceeds_own && had_room(*made_ns));
        let largest_flight_bytes = match shared_room_ns {
            Some(_) => in_flight,
            None => self.largest_flight_bytes,
        };
        let waited_for_all = self.is_short
            && short.is_none()
            && ack_covers_all
            && in_flight <= largest_flight_bytes.min(path.receive_window)
            && (shared_room_ns.is_some() || !self.came_with_room(&ending, takes_ns));
        let is_behind_full = waited_for_all && !may_be_delayed;
        // A full segment that waits for the ACK of the only one in flight met a window of one segment.
        let is_alone = ack.outstanding_segments == 1;
        let is_candidate = may_be_held
            || is_behind_full
            || (may_be_delayed && (self.is_short || short.is_some() || is_alone));
        // What the receiver had no room for no algorithm of Nagle held.
        let had_room_there = data.end <= ack.offered_until;
        if !follows || !is_candidate || ack.opens_connection || !had_room_there {
            return None;
        }
        let spacing = self.would_come_after_ns(takes_ns, may_be_delayed);
        // Nagle's algorithm holds what the window has room for. Behind a short segment any sender holds, also one
        // whose first window is larger than it ever used (RFC 6928); behind full ones only one from before that.
        let had_room_ns = shared_room_ns.or(self.made_room_ns).filter(|made_ns| {
            // Which of two ACKs that come together had come when data left is not told so closely, but for a
            // window that whole segments had used up.
            let slack_ns = if self.was_used_up {
                DISPROOF_MARGIN_NS
            } else {
                RELEASE_MAX_NS
            };
            made_ns.saturating_add(slack_ns) < ack.time_ns && short.is_none()
        });
        // When it would have come that an ACK of then let go.
        let way_ns = path.sender_rtt_ns.unwrap_or(0).saturating_add(takes_ns);
        let behind = |made_ns: Option<i64>| {
            made_ns.map_or(previous.time_ns, |made_ns| made_ns.saturating_add(way_ns))
        };
        let row = PauseRow {
            previous_frame: previous.frame,
            previous_time: previous.time_ns,
            previous_bytes: previous.bytes,
            released_frame: data.frame,
            released_time: data.time_ns,
            released_bytes: data.bytes,
            released_has_fin: data.has_fin,
            ack_frame: ack.frame,
            ack_time: ack.time_ns,
            ack_delay,
            ack_to_release: since_ack,
            ack_covers_all,
            newly_acked_bytes: newly_acked,
            could_send_time: previous
                .time_ns
                .saturating_add(spacing)
                .saturating_add(queued_ns)
                .max(self.drained_ns)
                .max(behind(had_room_ns))
                .max(behind(path.made_buffer_room_ns))
                .max(path.written_ns.unwrap_or(previous.time_ns))
                .min(data.time_ns),
            segment_bytes: path.segment_bytes,
            short_frame: short.map(|short| short.frame),
            short_bytes: short.map(|short| short.bytes),
            outstanding_segments: ack.outstanding_segments,
            outstanding_bytes: ack.outstanding_bytes,
            receive_window: path.receive_window,
            sender_permits_sack: path.sender_permits_sack,
            largest_flight_bytes,
            server_path_rtt: path.sender_rtt_ns,
            client_path_rtt: path.receiver_rtt_ns,
            ..PauseRow::default()
        };
        Some(OpenPause {
            released_start: data.start,
            released_end: data.end,
            short_start: short.map(|short| short.start),
            shorts: self.shorts,
            is_behind_full,
            waited_for_all,
            waited_for_short: may_be_held
                && !self.is_beyond_shown(&ack)
                && since_ack.saturating_abs() <= CLOSE_NS,
            bytes_there: if path.there_ns > 0 {
                0
            } else {
                self.bytes_there(&ack)
            },
            row,
        })
    }
}

impl OpenPause {
    pub(super) fn into_row(
        self,
        opening: Opening,
        message: FinishedMessage,
        written_ns: Option<i64>,
    ) -> PauseRow {
        let start = opening.message_start;
        let relative = |offset: u64| i64::try_from(offset).ok()?.checked_sub_unsigned(start);
        let (could_send, released) = (self.row.could_send_time, self.row.released_time);
        // In the row of a pause the paths are still those to sender and receiver.
        let (server_path_rtt, client_path_rtt) = match message.direction {
            Direction::ServerToClient => (self.row.server_path_rtt, self.row.client_path_rtt),
            Direction::ClientToServer => (self.row.client_path_rtt, self.row.server_path_rtt),
        };
        PauseRow {
            flow: message.flow,
            transaction: message.transaction,
            released_offset: self.released_start.saturating_sub(start),
            ends_message: self.released_end >= message.end,
            opening_bytes: u32::try_from(opening.end.saturating_sub(start)).unwrap_or(u32::MAX),
            short_offset: self.short_start.and_then(relative),
            short_segments: self.shorts.saturating_sub(opening.counted.shorts),
            head_bytes: message.head_bytes,
            direction: message.direction,
            could_send_time: written_ns.map_or(could_send, |it| it.clamp(could_send, released)),
            server_path_rtt,
            client_path_rtt,
            ..self.row
        }
    }
}
