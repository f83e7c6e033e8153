//! A connection of two hosts, as far as others have to do with it.

use std::collections::VecDeque;

use tcptrace_tcp::SenderClock;
use trace_model::{flags, Segment, SeqNumber};

use super::bare::Question;
use super::begun_piece::BegunPiece;
use super::departures::Left;
use super::fast_recovery::FastRecovery;
use super::inherited::Beginning;
use super::largest::Mark;
use super::part::Part;
use super::uplink::Standing;
use crate::used_window::UsedWindow;

/// No timer sends a SYN-ACK again sooner (RFC 6298, section 2.1).
const OPENING_TIMEOUT_NS: i64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client_port: u16,
    pub(super) server_port: u16,
    pub(super) syn_ns: i64,
    pub(super) syn_ack_ns: Option<i64>,
    /// A SYN of either side was sent again: nobody knows which of them is answered (Karn and Partridge 1987).
    pub(super) is_opened_again: bool,
    pub(super) acked: Option<SeqNumber>,
    /// What the server has acknowledged.
    pub(super) answered: SeqNumber,
    /// Its first number.
    pub(super) first: Option<SeqNumber>,
    /// Up to where it was sent when the window that all use was halved last.
    pub(super) halved: Option<SeqNumber>,
    /// When the client acknowledged something new last.
    pub(super) acked_ns: i64,
    pub(super) next: Option<SeqNumber>,
    /// Up to where its data has come: a packet without payload may tell of more, which was lost.
    pub(super) came_until: Option<SeqNumber>,
    /// The client has sent data since the server has.
    pub(super) is_asked: bool,
    /// Its SYN had data, of which no answer has come.
    pub(super) was_asked_by_syn: bool,
    pub(super) question: Question,
    /// The server's newest data was pushed: it had no more to send then (RFC 9293, section 3.9.1).
    was_pushed: bool,
    /// When that came, or the connection was opened; the former is told by numbers.
    pub(super) data_ns: i64,
    /// ... and of that when the one came which was beyond all before; before any has, when one may come that answers
    /// the first question.
    pub(super) newest_ns: i64,
    /// When the client sent a FIN first.
    pub(super) fin_ns: Option<i64>,
    /// ... right behind so much.
    pub(super) ahead_of_fin: Standing,
    /// ... if it sent that again, as no ACK of it came.
    pub(super) unheard_fin_ns: Option<i64>,
    /// Where the newest data ended that was sent again.
    pub(super) again: Option<SeqNumber>,
    /// When what was missing of it was noticed that a timer has sent again, if nothing has come since.
    pub(super) goes_back_ns: Option<i64>,
    /// When data came first behind what is missing of it.
    pub(super) hole_ns: Option<i64>,
    /// ... and when that may have left.
    pub(super) hole_left: Option<Left>,
    pub(super) sent_ns: i64,
    /// Data was lost on one of the connections before that came, or before it was asked for.
    pub(super) had_loss: bool,
    /// The client's SYN or FIN went by that is not answered.
    pub(super) mark: Option<Mark>,
    pub(super) beginning: Beginning,
    pub(super) part: Part,
    /// Where its slow start ends, by what it has lost itself.
    pub(super) own_threshold: Option<i64>,
    /// What acknowledges the server's FIN.
    pub(super) ended: Option<SeqNumber>,
    /// When it was over: the client had sent a FIN as well, and had that one.
    pub(super) over_ns: Option<i64>,
    pub(super) fast_recovery: FastRecovery,
    /// What it has sent, and what shows of the window that it uses.
    pub(super) sent_bytes: i64,
    pub(super) used: UsedWindow,
    /// What was acknowledged when a clock let data of it go.
    pub(super) paced_behind: Option<i64>,
    /// The client has closed its window, and where what was sent into that begins.
    is_closed: bool,
    probe: Option<SeqNumber>,
    /// The newest pieces of the answer that comes of which is known when its application wrote them.
    pub(super) written: VecDeque<BegunPiece>,
    /// The server's, and how late the first packet was that it stamped.
    pub(super) clock: SenderClock,
    pub(super) opened_late_ns: i64,
}

/// What a segment of the server is to its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// It ends beyond all before; that goes on by so many numbers.
    pub(super) is_new: bool,
    pub(super) newly: i64,
    /// Some of it was sent before: what is sent again may carry new data as well.
    pub(super) is_again: bool,
    /// Something before it was missed.
    pub(super) is_hole: bool,
    /// It was lost since the window was halved last.
    pub(super) is_lost_anew: bool,
    /// The first data behind a question.
    pub(super) begins: bool,
    /// The first data behind a SYN that had some.
    pub(super) answers_syn: bool,
    /// The data before it came with the SYN-ACK.
    pub(super) is_behind_syn_ack: bool,
    /// The server had more to send before it.
    pub(super) had_more: bool,
    /// When the data before came.
    pub(super) sent_ns: i64,
    /// Data had been lost when that came, or when it was asked for.
    pub(super) had_loss: bool,
    /// It is the first answer to the SYN.
    pub(super) opened: Option<Opened>,
}

/// How long after the newest SYN the first answer came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) elapsed_ns: i64,
    /// It may have answered an earlier one.
    pub(super) is_again: bool,
    /// It had no payload, which takes its time on the link.
    pub(super) is_bare: bool,
}

impl Connection {
    /// The client's SYN was seen; `had_loss`: data of another connection had been lost.
    pub(super) fn new(
        time_ns: i64,
        (client_port, server_port): (u16, u16),
        answered: SeqNumber,
        had_loss: bool,
    ) -> Self {
        Connection {
            client_port,
            server_port,
            syn_ns: time_ns,
            syn_ack_ns: None,
            is_opened_again: false,
            acked: None,
            answered,
            first: None,
            halved: None,
            acked_ns: time_ns,
            next: None,
            came_until: None,
            is_asked: false,
            was_asked_by_syn: false,
            question: Question::default(),
            was_pushed: false,
            data_ns: time_ns,
            newest_ns: time_ns,
            fin_ns: None,
            ahead_of_fin: Standing::default(),
            unheard_fin_ns: None,
            again: None,
            goes_back_ns: None,
            hole_ns: None,
            hole_left: None,
            sent_ns: time_ns,
            had_loss,
            mark: None,
            beginning: Beginning::default(),
            part: Part::default(),
            own_threshold: None,
            ended: None,
            over_ns: None,
            fast_recovery: FastRecovery::default(),
            sent_bytes: 0,
            used: UsedWindow::default(),
            paced_behind: None,
            is_closed: false,
            probe: None,
            written: VecDeque::new(),
            clock: SenderClock::default(),
            opened_late_ns: 0,
        }
    }

    /// The server sends a segment; `had_loss` as for a new connection.
    pub(super) fn sends(&mut self, time_ns: i64, segment: &Segment<'_>, had_loss: bool) -> Step {
        let end = segment.seq.plus(segment.sequence_length());
        let is_new = self.next.is_none_or(|next| end.is_after(next));
        let is_first = self.next.is_none();
        let before = self.next.unwrap_or(segment.seq);
        let earlier = self.begins_with(segment);
        if is_new {
            self.next = Some(end);
        }
        let is_lost_anew = !is_new && self.is_of_new_flight(segment);
        let mut opened = None;
        if segment.has(flags::SYN) {
            let had_one = self.syn_ack_ns.replace(time_ns).is_some();
            opened = (!had_one).then(|| Opened {
                elapsed_ns: time_ns.saturating_sub(self.syn_ns),
                is_again: self.is_opened_again,
                is_bare: segment.payload_bytes == 0,
            });
            self.is_opened_again |= had_one;
        }
        let has_payload = segment.payload_bytes > 0;
        if has_payload && is_new && self.is_closed {
            self.probe.get_or_insert(before);
        }
        let is_pushed = segment.has(flags::PSH);
        let step = Step {
            is_new,
            newly: i64::from(end.distance_from(before))
                .saturating_sub(i64::from(is_new && segment.has(flags::SYN)))
                .max(earlier),
            is_again: before.is_after(segment.payload_seq()),
            is_hole: segment.seq.is_after(before),
            is_lost_anew,
            begins: (has_payload && std::mem::take(&mut self.is_asked)) || is_first,
            answers_syn: has_payload && std::mem::take(&mut self.was_asked_by_syn),
            is_behind_syn_ack: has_payload && self.syn_ack_ns == Some(self.sent_ns),
            had_more: has_payload && !std::mem::replace(&mut self.was_pushed, is_pushed),
            sent_ns: self.sent_ns,
            had_loss: self.had_loss,
            opened,
        };
        if segment.has(flags::FIN) {
            self.ended = Some(end);
        }
        self.sent_bytes = self.sent_bytes.saturating_add(step.newly);
        if has_payload {
            if self.came_until.is_none_or(|until| end.is_after(until)) {
                self.came_until = Some(end);
            }
            self.sent_ns = time_ns;
            self.had_loss = had_loss || !is_new;
        }
        step
    }

    /// The client sends a segment: so many bytes had been sent into its closed window that it does not take. They come
    /// again when it opens that (RFC 9293, section 3.8.6.1), and were not lost.
    pub(super) fn refuses(&mut self, segment: &Segment<'_>) -> i64 {
        self.is_closed = segment.window == 0;
        let Some(probe) = self.probe.take().filter(|it| !segment.ack.is_after(*it)) else {
            return 0;
        };
        let sent = self.next.replace(probe);
        let refused = sent.map_or(0, |next| i64::from(next.distance_from(probe)));
        self.sent_bytes = self.sent_bytes.saturating_sub(refused);
        refused
    }

    /// A segment is the first, or lies before all that came: the SYN and its data (RFC 1644, section 3.2) that were
    /// lost, and come behind what was sent after them. So many bytes were sent that nobody had seen.
    fn begins_with(&mut self, segment: &Segment<'_>) -> i64 {
        let first = *self.first.get_or_insert(segment.seq);
        if !first.is_after(segment.seq) {
            return 0;
        }
        self.first = Some(segment.seq);
        let with_syn = i64::from(first.distance_from(segment.seq));
        with_syn.saturating_sub(i64::from(segment.has(flags::SYN)))
    }

    /// When all before this number was acknowledged, if nothing has come since and some of it was data.
    pub(super) fn has_all_acked_ns(&self, start: SeqNumber) -> Option<i64> {
        let has_sent = self.sent_ns > self.syn_ns;
        let is_all = self.acked == Some(start) && self.next == Some(start);
        Some(self.acked_ns).filter(|_| has_sent && is_all)
    }

    /// The server had more to send than has come, and nothing was asked for since.
    pub(super) fn had_more(&self) -> bool {
        self.sent_ns > self.syn_ns && !self.is_asked && !self.was_pushed
    }

    /// Data follows all that has come, of which its sender had no more to send then, though a packet without payload has
    /// told of it: what was sent first was lost.
    pub(super) fn is_told_of(&self, start: SeqNumber) -> bool {
        let was_told_of = self.next.is_some_and(|next| next.is_after(start));
        self.came_until == Some(start) && self.was_pushed && was_told_of
    }

    /// The client asks for something that is answered at `time_ns` at the soonest. Before its first question is, no data
    /// of the connection can be missing.
    pub(super) fn may_answer_from(&mut self, time_ns: i64) {
        let is_first = self.sent_ns == self.syn_ns && !self.is_asked && !self.was_asked_by_syn;
        if is_first {
            self.newest_ns = time_ns;
        }
    }

    /// A segment without payload comes. The first SYN-ACK says that its server had no data when it left: that would have
    /// been on it, or behind it (RFC 1644, section 3.2). It is the first if no timer had the time to send it again.
    pub(super) fn has_sent_no_data(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let is_first = time_ns.saturating_sub(self.syn_ns) < OPENING_TIMEOUT_NS;
        if segment.has(flags::SYN) && self.next.is_none() && is_first && !self.is_opened_again {
            self.newest_ns = time_ns;
        }
    }

    /// Whether a segment that is sent again was sent after the window was halved last.
    pub(super) fn is_of_new_flight(&self, segment: &Segment<'_>) -> bool {
        self.halved
            .is_none_or(|halved| !halved.is_after(segment.seq))
    }

    /// Whether all has come that it had sent when the window was halved last.
    pub(super) fn is_repaired(&self) -> bool {
        let acked = self.acked.or(self.first);
        let both = self.halved.zip(acked);
        both.is_none_or(|(halved, acked)| !halved.is_after(acked))
    }

    /// Whether an ACK is the first that reaches beyond all that was sent again.
    pub(super) fn repairs(&self, ack: SeqNumber) -> bool {
        self.again.is_some_and(|again| {
            let had_come = self.acked.is_some_and(|acked| !again.is_after(acked));
            !had_come && !again.is_after(ack)
        })
    }

    /// The client has sent something: with that it is over, if both have the other's FIN.
    pub(super) fn may_be_over(&mut self, time_ns: i64) {
        let both = self.ended.zip(self.acked);
        let has_all = both.is_some_and(|(ended, acked)| !ended.is_after(acked));
        if has_all && self.fin_ns.is_some() {
            self.over_ns.get_or_insert(time_ns);
        }
    }

    /// Where its slow start ends, by what it has lost or by what those before it had.
    pub(super) fn learnt(&self) -> Option<i64> {
        self.own_threshold.or(self.beginning.threshold)
    }

    /// What it has sent that is not acknowledged.
    pub(super) fn in_flight(&self) -> i64 {
        let acked = self.acked.or(self.first);
        let both = self.next.zip(acked);
        both.map_or(0, |(next, acked)| i64::from(next.distance_from(acked)))
    }
}

#[cfg(test)]
mod tests;
