//! The queue before the slowest link to the client, as the server's end of it knows that.
//!
//! Theory of operation. All that a server sends to a host stands in one queue, whatever its connection. So what was
//! sent since some moment and is acknowledged took the path's least round trip and, byte by byte, its time on the
//! slowest link: each ACK bounds from above what a byte takes. Where data waits before that link, ACKs come in its
//! pace, be each of them delayed: if time and again they are as far apart as what they acknowledge is long, and that
//! had been sent long before, the pace is known. Once it is, so is when each segment comes: behind all before it.

mod as_due;
mod behind_loss;
mod distances;
mod in_time;
mod passed_over;
mod sent_again;

use std::collections::VecDeque;

use tcptrace_tcp::{DELAYED_ACK_SEGMENTS, FULL_SEGMENT_BYTES};
use trace_model::SeqNumber;

use self::passed_over::PassedOver;
use super::asked::Closest;
use super::link_times::LinkTime;
use super::receiver::Receiver;
use super::sent_link::{Bound, SentLink};
use super::way::Way;
use crate::byte_time::{per_byte, ByteTime, HEADER_BYTES};

/// Connections of a pair that are followed: as many as browsers open to one host, and those they have just left.
const CONNECTIONS_MAX: usize = 16;
/// Segments of a connection whose ACKs are waited for.
const SENT_MAX: usize = 64;
/// A segment that is on its way: up to where it reaches, when it left and when its ACK is due.
#[derive(Clone, Copy, Debug)]
struct OnItsWay {
    end: SeqNumber,
    left_ns: i64,
    due_ns: Option<i64>,
    /// So many had left before, of whichever connection.
    order: u64,
    first_order: u64,
    was_sent_again: bool,
    /// ... when, for the last time, and when the ACK of that is due.
    left_again_ns: i64,
    due_again_ns: Option<i64>,
}

#[derive(Debug)]
struct Side {
    ports: (u16, u16),
    first: SeqNumber,
    /// Its first data came with the SYN's answer.
    is_with_syn: bool,
    next: SeqNumber,
    acked: SeqNumber,
    on_its_way: VecDeque<OnItsWay>,
    /// Where it stood when it sent first since the stretch had begun that has this number.
    stretch: (u32, SeqNumber),
    passed_over: PassedOver,
    /// When the ACK of its FIN is due, which brings no data.
    fin_due_ns: Option<i64>,
    fin: Option<behind_loss::Fin>,
    /// What is missing: an ACK of all before it came when that of something behind was due.
    missing: Option<SeqNumber>,
    /// The newest ACK, if it was of one segment.
    alone: Option<behind_loss::Alone>,
}

/// What an ACK told of its connection.
#[derive(Clone, Copy, Debug)]
struct Heard {
    newly: i64,
    segments: i64,
    of_stretch: Acknowledged,
    newest: Option<OnItsWay>,
    /// Of what it covers, that which left last; and that itself.
    order: Option<u64>,
    latest: Option<OnItsWay>,
    /// Nothing of its connection had been acknowledged.
    is_first: bool,
    /// Something of it had been sent again.
    was_sent_again: bool,
}

/// Bytes and segments that were acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Acknowledged {
    bytes: i64,
    segments: i64,
}

/// What was sent since a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    number: u32,
    begun_ns: i64,
    /// It begins with what comes with a SYN's answer.
    is_with_syn: bool,
    /// Of it is acknowledged so much, with headers; and in so many segments.
    acked: i64,
    segments: i64,
}

#[derive(Debug, Default)]
pub(super) struct SentQueue {
    sides: VecDeque<Side>,
    in_flight: i64,
    stretch: Stretch,
    link: SentLink,
    /// What left while that was not known, and when.
    untimed: VecDeque<(i64, u32)>,
    acked_ns: i64,
    again: distances::Again,
    receiver: Receiver,
    /// When the ACK of the newest segment is due.
    due_ns: i64,
    /// By how much the newest ACK was later.
    late_ns: i64,
    /// What was sent again takes so long on the link: if all of it had been lost, so much less stands in the queue.
    copies_ns: i64,
    /// So many segments have left.
    left: u64,
    /// Of what the newest ACK covered, that which had left last.
    acked_order: Option<u64>,
}

impl SentQueue {
    /// Picoseconds that a byte takes, if several ACKs have agreed on that.
    pub(super) fn byte_ps(&self) -> Option<i64> {
        self.link.byte_ps()
    }

    /// ... and with which headers.
    pub(super) fn byte_time(&self) -> Option<ByteTime> {
        self.link.byte_time()
    }

    /// When the host acknowledges what it has.
    pub(super) fn receiver(&self) -> Receiver {
        self.receiver
    }

    fn side(&mut self, ports: (u16, u16)) -> Option<&mut Side> {
        self.sides.iter_mut().rev().find(|it| it.ports == ports)
    }

    pub(super) fn opens(&mut self, ports: (u16, u16), first: SeqNumber) {
        self.sides.retain(|it| it.ports != ports);
        if self.sides.len() >= CONNECTIONS_MAX {
            self.sides.pop_front();
        }
        self.in_flight = self.sides.iter().map(Side::in_flight).sum();
        self.sides.push_back(Side {
            ports,
            first,
            is_with_syn: false,
            next: first,
            acked: first,
            on_its_way: VecDeque::new(),
            stretch: (0, first),
            passed_over: PassedOver::default(),
            fin_due_ns: None,
            fin: None,
            missing: None,
            alone: None,
        });
    }

    /// A segment leaves on a path whose least round trip is `way`: when its ACK is due, if the link is known.
    pub(super) fn sends(
        &mut self,
        time_ns: i64,
        ports: (u16, u16),
        (start, bytes): (SeqNumber, u32),
        way: Way,
    ) -> Option<i64> {
        let byte_time = self.link.byte_time();
        let way_ns = way.bare_ns(self.link.byte_ps());
        let due_ns = byte_time.map(|it| self.due_of((time_ns, bytes), way_ns, it));
        if due_ns.is_none() {
            if self.untimed.len() >= SENT_MAX {
                self.untimed.pop_front();
            }
            self.untimed.push_back((time_ns, bytes));
        }
        self.link.carries(bytes);
        let is_due = self.due_ns > time_ns.saturating_add(way_ns);
        let was_idle = due_ns.is_some() && !is_due;
        let may_begin = self.in_flight <= 0 || (self.stretch.acked > 0 && was_idle);
        if may_begin {
            self.stretch = Stretch {
                number: self.stretch.number.wrapping_add(1),
                begun_ns: time_ns,
                is_with_syn: self.is_with_syn(ports, start),
                ..Stretch::default()
            };
        }
        self.due_ns = due_ns.unwrap_or(self.due_ns);
        let takes_ns = byte_time.map_or(0, |it| it.takes_ns(bytes.into(), 1));
        let number = self.stretch.number;
        let order = self.left;
        self.left = order.saturating_add(1);
        let side = self.side(ports)?;
        let end = start.plus(bytes);
        if !end.is_after(side.next) {
            side.leaves_again((time_ns, due_ns), (start, end), order);
            self.copies_ns = self.copies_ns.saturating_add(takes_ns);
            return due_ns;
        }
        if side.stretch.0 != number {
            side.stretch = (number, side.next);
        }
        if side.on_its_way.len() >= SENT_MAX {
            side.on_its_way.pop_front();
        }
        side.on_its_way.push_back(OnItsWay {
            end,
            left_ns: time_ns,
            due_ns,
            order,
            first_order: order,
            was_sent_again: false,
            left_again_ns: i64::MIN,
            due_again_ns: None,
        });
        let newly = i64::from(end.distance_from(side.next));
        side.next = end;
        self.in_flight = self.in_flight.saturating_add(newly);
        due_ns
    }

    /// An ACK came, with so much data of its sender's own: how late it was, if something may be told by that.
    pub(super) fn hears(
        &mut self,
        time_ns: i64,
        ports: (u16, u16),
        (ack, bytes): (SeqNumber, u32),
        way: Way,
        asked: Option<Closest>,
    ) -> Option<LinkTime> {
        let number = self.stretch.number;
        let Some(heard) = self.side(ports).and_then(|side| side.hears(ack, number)) else {
            self.hears_again(time_ns, ports, (ack, bytes));
            return None;
        };
        self.passes_over(time_ns, ports, heard.order);
        self.in_flight = self.in_flight.saturating_sub(heard.newly).max(0);
        let before_ns = std::mem::replace(&mut self.acked_ns, time_ns);
        let order_before = std::mem::replace(&mut self.acked_order, heard.order);
        let newest = heard.newest.filter(|it| it.end == ack)?;
        self.may_tell_of_behind(time_ns, ports, newest);
        self.tells_alone((time_ns, before_ns), ports, (newest, heard), order_before);
        if heard.of_stretch.segments > 0 {
            self.stretch.acknowledges(heard.of_stretch);
            self.learn_bound(time_ns, (newest.left_ns, heard.newly), way);
        }
        if bytes == 0 && !heard.was_sent_again {
            self.tells_receiver((time_ns, before_ns), newest, heard, way);
        }
        self.was_due(time_ns, newest);
        self.copy_was_due(time_ns, heard);
        self.learn_pace((time_ns, before_ns), ports, (newest, heard), way, asked);
        self.link.agrees(asked);
        self.carries_untimed(way);
        let is_of_stretch = heard.of_stretch.segments > 0 && !heard.was_sent_again;
        is_of_stretch.then(|| self.stretch.was_late((time_ns, bytes), way))
    }

    /// All that was acknowledged of a stretch took no longer than that.
    fn learn_bound(&mut self, time_ns: i64, (left_ns, newly): (i64, i64), way: Way) {
        let Stretch {
            begun_ns,
            acked,
            segments,
            ..
        } = self.stretch;
        if segments <= 1 {
            return;
        }
        let elapsed_ns = time_ns
            .saturating_sub(begun_ns)
            .saturating_sub(way.elapsed_ns);
        // The path's least round trip has the headers of one of them, and maybe a request.
        let headers = segments.saturating_sub(1).saturating_mul(HEADER_BYTES);
        let asked = i64::from(way.bytes);
        let size = acked.saturating_add(headers).saturating_sub(asked);
        if size > 0 {
            self.link.is_bound(Bound {
                elapsed_ns,
                size,
                newly,
                most_ps: per_byte(way.elapsed_ns, HEADER_BYTES.saturating_add(asked)),
                newest_after_ns: left_ns.saturating_sub(begun_ns),
                payload: acked,
            });
        }
    }

    /// The link turns out to be known: what left before stands in its queue as well.
    fn carries_untimed(&mut self, way: Way) {
        let Some(byte_time) = self.link.byte_time() else {
            return;
        };
        let way_ns = way.bare_ns(Some(byte_time.byte_ps));
        for (time_ns, bytes) in std::mem::take(&mut self.untimed) {
            self.due_ns = self.due_of((time_ns, bytes), way_ns, byte_time);
        }
    }

    /// When the ACK is due of a segment that leaves, behind all before it.
    fn due_of(&self, (time_ns, bytes): (i64, u32), way_ns: i64, byte_time: ByteTime) -> i64 {
        let alone_ns = byte_time.takes_ns(bytes.into(), 0);
        let segments = i64::from(bytes.div_ceil(FULL_SEGMENT_BYTES));
        let all_ns = byte_time.takes_ns(bytes.into(), segments);
        let alone_ns = time_ns.saturating_add(way_ns).saturating_add(alone_ns);
        alone_ns.max(self.due_ns.saturating_add(all_ns))
    }
}

impl Heard {
    /// So many full segments, as far as their receiver tells by its ACK how many it waits for: one that is the first is
    /// acknowledged at once, as what comes with a SYN; and a short one behind two makes a third.
    fn full_segments(self, full_bytes: i64) -> i64 {
        let full = self.newly.checked_div(full_bytes).unwrap_or(0);
        let has_rest = full.saturating_mul(full_bytes) != self.newly;
        let tells_nothing = self.is_first && full == 1;
        let may_be_one_more = has_rest && full <= i64::from(DELAYED_ACK_SEGMENTS);
        if tells_nothing || may_be_one_more {
            0
        } else {
            full
        }
    }
}

impl Stretch {
    fn acknowledges(&mut self, more: Acknowledged) {
        self.acked = self.acked.saturating_add(more.bytes);
        self.segments = self.segments.saturating_add(more.segments);
    }
}

impl Side {
    /// What an ACK tells, if it is of something new; of it is told apart what was sent since the stretch had begun that
    /// has this number.
    fn hears(&mut self, ack: SeqNumber, stretch: u32) -> Option<Heard> {
        if !ack.is_after(self.acked) {
            return None;
        }
        let before = std::mem::replace(&mut self.acked, ack);
        let begun = if self.stretch.0 == stretch {
            self.stretch.1
        } else {
            self.next
        };
        let (mut segments, mut of_stretch, mut newest) = (0_i64, 0_i64, None);
        let (mut order, mut latest, mut was_sent_again) = (None, None, false);
        while let Some(sent) = self.on_its_way.front().filter(|it| !it.end.is_after(ack)) {
            segments = segments.saturating_add(1);
            of_stretch = of_stretch.saturating_add(i64::from(sent.end.is_after(begun)));
            newest = Some(*sent);
            if order.is_none_or(|order| order < sent.order) {
                (order, latest) = (Some(sent.order), Some(*sent));
            }
            was_sent_again |= sent.was_sent_again;
            self.on_its_way.pop_front();
        }
        let since = if begun.is_after(before) {
            begun
        } else {
            before
        };
        Some(Heard {
            newly: i64::from(ack.distance_from(before)),
            segments,
            of_stretch: Acknowledged {
                bytes: i64::from(ack.distance_from(since)).max(0),
                segments: of_stretch,
            },
            newest,
            order,
            latest,
            is_first: before == self.first,
            was_sent_again,
        })
    }

    fn in_flight(&self) -> i64 {
        i64::from(self.next.distance_from(self.acked))
    }
}

#[cfg(test)]
mod tests;
