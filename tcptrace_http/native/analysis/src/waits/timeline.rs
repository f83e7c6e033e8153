//! One direction's data as its receiver has it: when each byte came, and what it had waited for.
//!
//! A capture at the sender shows when data left, one at the receiver when it came. What both agree on
//! is when the receiver had it in order. Near the receiver that is when the data goes by and no hole is
//! open before it; near the sender it is when the ACK comes back (an ACK that was delayed is taken for
//! what it would have been). So a timeline settles data by the one or by the other, and gives the time
//! between two settled segments to one cause: the pace of the path, or what let the later one go.

mod ack_delay;
mod acked_inside;
mod as_heard;
mod before_clock;
mod before_full;
mod behind_recovery;
mod brought_besides;
mod buffer_as_offered;
mod by_ack;
mod by_clock;
mod by_room_alone;
mod causes;
mod copies;
mod data;
mod deferral;
mod earlier_copies;
mod extents;
mod filled_by_next;
mod full_buffer;
mod gone_back;
mod heard_before;
mod held_before_loss;
mod held_ends;
mod held_openings;
mod if_on_link;
mod in_buffer;
mod in_burst;
mod known_buffer;
mod lateness;
mod leaving;
mod left_slow_start;
mod let_go;
mod limits;
mod link_time;
mod lost_behind;
mod may_have_stood;
mod opening;
mod own_time;
mod paced_until;
mod packets;
mod pending;
mod phases;
mod piece;
mod refilled;
mod repairs;
mod restarts;
mod room;
mod room_before_loss;
mod settling;
mod shared;
mod stamped;
mod stood;
mod told_by_host;
mod unlowered;
mod waiting_acks;
mod was_paced;
mod woken_writer;
mod words;
mod written;

use std::collections::VecDeque;

use trace_model::rows::Cause;

pub(super) use self::data::{Data, Resent, Route};
use self::earlier_copies::Copies;
use self::extents::{Extent, Filled};
use self::filled_by_next::FoundInBuffer;
use self::full_buffer::Pushes;
use self::held_openings::{HeldOpening, LetGo};
use self::if_on_link::IfOnLink;
use self::lateness::Lateness;
pub(super) use self::lateness::Question;
use self::leaving::Leaving;
use self::opening::Opening;
use self::pending::{DelayedAck, Missed, Pending, Stall};
pub(super) use self::piece::Piece;
use self::piece::Waited;
use self::refilled::Refills;
use self::settling::service_ns;
use self::shared::shared_window;
use self::woken_writer::Fill;
pub(super) use self::words::Words;
use super::acks::Acks;
use super::link::Link;
use super::link_burst::LinkBurst;
use super::pace::Pace;
use super::partition::Moment;
use crate::arrivals::Arrivals;
use crate::used_window::UsedWindow;

/// Data that waits to be settled: an ordinary window, or what a hole holds up.
const PENDING_MAX: usize = 1 << 14;
/// Options of TCP take no more of a segment.
const OPTIONS_BYTES: u32 = 40;

#[derive(Debug)]
pub(super) struct Timeline {
    words: Words,
    /// When the receiver had the data before.
    came: Option<Moment>,
    sent: Option<(Moment, bool)>,
    /// Its payload.
    sent_bytes: u32,
    /// How long after the one before it went by; none if it began an answer.
    sent_gap_ns: Option<i64>,
    leaving: Option<Leaving>,
    /// The offset of its first byte.
    sent_start: i64,
    /// Offset after the last byte that was sent.
    sent_until: i64,
    /// The segment before was not pushed: its sender had more in its buffer (RFC 9293, section 3.9.1).
    has_more: bool,
    newest: FoundInBuffer,
    pushes: Pushes,
    fill: Fill,
    refills: Refills,
    /// When an ACK made room for the newest data in its sender's buffer, if that had been full.
    made_buffer_room_ns: Option<i64>,
    /// It has sent what Nagle's algorithm would have held.
    nagle_is_off: bool,
    pending: VecDeque<Pending>,
    has_hole: bool,
    /// No other connection of the sender has had data in flight.
    is_alone: bool,
    settles_by_ack: bool,
    pace: Pace,
    /// Near the receiver; and what was known of it before a segment with these offsets.
    arrivals: Arrivals,
    arrivals_before: Option<(i64, i64, Arrivals)>,
    lateness: Lateness,
    /// What all connections between the two hosts tell, near the receiver.
    shared_arrivals: Arrivals,
    /// At the sender, where packets leave in another pace than that in which they come.
    link: Link,
    copies: Copies,
    lost_behind: lost_behind::AllLostBehind,
    /// The least way to the receiver and back of all connections between the two hosts.
    shared_way_ns: Option<i64>,
    /// The way that handshakes have measured, and by how much their packets are longer than others.
    syn_way: (Option<i64>, u32),
    burst: LinkBurst,
    /// All that was sent since nothing was on its way: where a link is never idle, what let each go tells no more.
    flight: LinkBurst,
    learnt_until: i64,
    /// ACKs that wait for what later ones tell.
    waiting_acks: VecDeque<waiting_acks::WaitingAck>,
    window: UsedWindow,
    pieces: VecDeque<Piece>,
    /// ... of the newest segment: how much later they are told than they were.
    later_ns: i64,
    /// Pieces that were too many, as a time before which nothing is known.
    forgotten_until_ns: Option<i64>,
    extents: VecDeque<Extent>,
    /// The newest, near the receiver.
    filled: Option<Filled>,
    probed_ns: Option<i64>,
    delayed_ack: Option<DelayedAck>,
    full_bytes: u32,
    /// What the receiver has acknowledged.
    acked: i64,
    /// The other direction has spoken since the last segment.
    is_answer: bool,
    openings: VecDeque<Opening>,
    let_go: Option<LetGo>,
    held_openings: VecDeque<HeldOpening>,
    held_ends: held_ends::HeldEnds,
    /// What the present segment waited for if connections share a window, which may show later.
    if_shared: Option<Cause>,
    /// ... and if the slowest link is as slow as that makes it.
    if_on_link: Option<IfOnLink>,
    /// When the window that connections share was in slow start after a loss.
    phases: phases::Known,
    packets: packets::Packets,
    /// The window may have left slow start, whatever was lost.
    has_left_slow_start: bool,
    gone_back: gone_back::GoneBack,
    as_heard: as_heard::AsHeard,
    own_time: own_time::OwnTime,
    written: written::Written,
    stamped: stamped::Stamped,
}

impl Timeline {
    /// Of which `begun`, if any, is the last segment before.
    pub(super) fn new(words: Words, begun: Option<Moment>) -> Self {
        Timeline {
            words,
            came: begun,
            sent: begun.map(|begun| (begun, true)),
            sent_bytes: u32::MAX,
            sent_gap_ns: None,
            leaving: None,
            sent_start: 0,
            sent_until: 0,
            has_more: false,
            newest: FoundInBuffer::default(),
            pushes: Pushes::default(),
            fill: Fill::default(),
            refills: Refills::default(),
            made_buffer_room_ns: None,
            nagle_is_off: false,
            pending: VecDeque::new(),
            has_hole: false,
            is_alone: true,
            settles_by_ack: false,
            pace: Pace::default(),
            arrivals: Arrivals::default(),
            arrivals_before: None,
            lateness: Lateness::default(),
            shared_arrivals: Arrivals::default(),
            link: Link::default(),
            copies: Copies::default(),
            lost_behind: lost_behind::AllLostBehind::default(),
            shared_way_ns: None,
            syn_way: (None, 0),
            burst: LinkBurst::default(),
            flight: LinkBurst::default(),
            learnt_until: 0,
            waiting_acks: VecDeque::new(),
            window: UsedWindow::default(),
            pieces: VecDeque::new(),
            later_ns: 0,
            forgotten_until_ns: None,
            extents: VecDeque::new(),
            filled: None,
            probed_ns: None,
            delayed_ack: None,
            full_bytes: 0,
            acked: 0,
            is_answer: true,
            openings: VecDeque::new(),
            let_go: None,
            held_openings: VecDeque::new(),
            held_ends: held_ends::HeldEnds::default(),
            if_shared: None,
            if_on_link: None,
            phases: phases::Known::default(),
            packets: packets::Packets::default(),
            has_left_slow_start: false,
            gone_back: gone_back::GoneBack::default(),
            as_heard: as_heard::AsHeard::default(),
            own_time: own_time::OwnTime::default(),
            written: written::Written::default(),
            stamped: stamped::Stamped::default(),
        }
    }

    /// The sender of the first segment had more in its buffer.
    pub(super) fn goes_on(&mut self) {
        self.has_more = true;
    }

    /// New data was seen.
    pub(super) fn new_data(
        &mut self,
        data: Data,
        question: Option<Question>,
        route: Route,
        acks: &Acks,
    ) {
        self.note_shared_path(data.sharing, route);
        self.note_others(data.sharing);
        let route = self.bare_route(route);
        if self.settles_by_ack && !route.is_at_sender {
            self.turns_out_to_be_at_receiver(route);
        }
        self.link.is_told(route.byte_time);
        let is_answer = std::mem::take(&mut self.is_answer);
        let missed = Missed::of(data, route);
        if is_answer {
            self.begins_answer(data, missed.is_some());
        }
        self.window_was_largest(data.sharing.phases, route);
        if data.sharing.is_shared {
            self.note_phases(data.sharing.phases);
            self.windows_are_shared();
        }
        let question = question.filter(|_| is_answer);
        if is_answer == question.is_some() {
            self.learn_lateness(data, question, route, acks);
        }
        if !is_answer && shared_window(data.sharing).is_none() {
            self.learn_arrivals(data, route, acks);
        }
        self.has_gone_back(data, route);
        self.made_buffer_room_ns = self.buffer_room_made_ns((data, is_answer), route, acks);
        self.refills.waited_ns = self.refill_waited_ns((data, is_answer), route, acks);
        self.note_fill(data, route, acks);
        let held_by_window = self.room_before_loss(data, route, acks);
        let waited_for = self.wait_before((data, is_answer), route, acks);
        let waited_for = self.of_full_buffer(waited_for, data, route, acks);
        let cause = self.of_rhythm(waited_for, data.sharing);
        let is_of_buffer = cause.is_some_and(|(cause, _)| cause == Cause::SendLimitedSendBuffer)
            && self.refills.waited_ns.is_none();
        if is_of_buffer && !is_answer {
            self.is_of_buffer();
        }
        // What is missing before it was outstanding as well.
        if is_of_buffer && !data.sharing.is_shared && !data.opens_hole {
            self.window.is_told_full();
        }
        self.note_packet(data, route, acks);
        self.shows_window_kept(data, route, acks);
        let start = data.start();
        if data.was_sent_before() {
            self.window
                .had_lost_unseen(start, data.end, data.full_bytes);
        }
        let told = cause.map(|(cause, _)| cause);
        self.note_own_time((data, is_answer), told);
        self.note_written((data, is_answer), told, route, acks);
        let stood_until_ns = self.stood_before((data, is_answer), told, route, acks);
        self.note_stamp(data);
        let held = self.held_before_loss(data, route, acks);
        let before = self.sent.map_or(data.at, |(sent, _)| sent);
        let ack_delay = self.ack_delay(data, route, acks);
        self.note_let_go(data, before, route, acks);
        self.note_end((data, is_answer), told, route, acks);
        self.let_go = self.let_go.or(held);
        self.note_let_go_by_window((data, cause), route, acks);
        if self.pending.is_empty() {
            self.settles_by_ack = route.is_at_sender;
        }
        // The SYN-ACK need not have been acknowledged (RFC 1644, RFC 7413).
        let begins_flight = start <= self.acked.max(1);
        // What a clock of its sender let go may follow all that the link still has before it.
        let was_held = told.is_some_and(|it| it != self.words.burst || data.sharing.by_other);
        self.sent = Some((data.at, data.is_full()));
        let follows_copy = std::mem::replace(&mut self.sent_bytes, data.bytes) == u32::MAX;
        let gap_ns = data.at.time_ns.saturating_sub(before.time_ns);
        self.newest = self.found_in_buffer(gap_ns, data, route, acks);
        self.sent_gap_ns = Some(gap_ns).filter(|_| !is_answer);
        self.sent_start = start;
        self.leaves_more(data, route, acks);
        if data.is_pushed {
            self.pushes.note(data.end);
        }
        self.note_refill(data, route, acks);
        let had_nothing = !std::mem::replace(&mut self.has_more, !data.is_pushed);
        self.full_bytes = data.full_bytes;
        self.nagle_is_off = data.nagle_is_off;
        self.sent_until = self.sent_until.max(data.end);
        self.has_hole |= data.opens_hole && !self.settles_by_ack;
        let waited_first = self.waited_first(cause, had_nothing, gap_ns, (data, route), acks);
        let stood = stood_until_ns.map(|until_ns| (self.words.burst, until_ns));
        let sent = Pending {
            at: data.at,
            end: data.end,
            bytes: data.bytes,
            segments: data.segments,
            cause,
            if_shared: self.if_shared.take(),
            if_on_link: self.if_on_link.take(),
            stopped_with: self.stopped_with(cause, data),
            is_told_by_host: data.is_told_by_host,
            begins_burst: begins_flight || was_held,
            begins_flight,
            is_shared: data.sharing.is_shared,
            service_ns: service_ns(data),
            gap_ns,
            follows_copy,
            ack_delay,
            is_let_go_by_other: data.sharing.by_other,
            waited_first: stood
                .filter(|_| self.stamped.tells)
                .or(waited_first)
                .or(held.map(LetGo::would_come))
                .or(held_by_window)
                .or(stood),
            persists_from_ns: self.persist(data, route, acks),
            missed,
            hole_ns: data.sharing.hole_ns.filter(|_| is_answer),
            stall: None,
            may_have_been_lost: false,
            due_ns: self
                .behind_copies_ns(data.at.time_ns, data.bytes, data.segments, route)
                .max(data.sharing.due_ns.unwrap_or(i64::MIN)),
        };
        self.probed_ns = None;
        if self.pending.is_empty() && !self.settles_by_ack && !self.has_hole {
            // Settled at once, as most data is: nothing need be put by and read back.
            self.append(sent, data.at.time_ns, route);
            return;
        }
        self.pending.push_back(sent);
        if (!self.settles_by_ack && !self.has_hole) || self.pending.len() > PENDING_MAX {
            self.settle(data.end, data.at, route);
        }
    }
}
