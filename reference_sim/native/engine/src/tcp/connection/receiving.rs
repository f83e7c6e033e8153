//! The processing of an incoming segment (RFC 9293, section 3.10.7).

use super::{timestamp, Connection, State, TIMESTAMP_CLOCK_NS};
use crate::segment::{flags, Segment, SACK_BLOCKS};
use crate::stack::Nanoseconds;
use crate::tcp::receiver::Due;
use crate::tcp::sack_blocks::is_duplicate_report;
use crate::tcp::selective::Ack;
use crate::tcp::Event;
use crate::truth::SendReason;

impl Connection {
    pub fn receive(&mut self, segment: &Segment, now: Nanoseconds) {
        if segment.has(flags::RST) {
            self.fail();
            return;
        }
        if let Some((value, _)) = segment.options.timestamps {
            // The echoed timestamp is that of the first segment which the next ACK covers (RFC 7323, section
            // 4.3).
            if segment.seq <= self.receiver.acknowledged {
                self.recent_timestamp = value;
            }
        }
        match self.state {
            State::Listen if segment.has(flags::SYN) => self.receive_syn(segment, now),
            State::SynSent if segment.has(flags::SYN | flags::ACK) => {
                self.receive_syn_ack(segment, now);
            }
            State::SynReceived => self.receive_handshake_ack(segment, now),
            State::Established => self.receive_established(segment, now),
            // The connection no longer exists (RFC 9293, section 3.10.7.1).
            State::Failed => self.reset = true,
            State::Listen | State::SynSent => {}
        }
        self.sender.begin_run();
    }

    pub(super) fn receive_established(&mut self, segment: &Segment, now: Nanoseconds) {
        if segment.has(flags::SYN) {
            // The ACK of the SYN-ACK was lost, or the answer to an accelerated SYN.
            self.receiver.due = Due::Now(SendReason::Ack);
            self.syn_rides = self.sender.una == 0;
            if self.is_accelerated() && self.is_active {
                self.take(&behind_syn(segment), now);
            }
            return;
        }
        self.take(segment, now);
    }

    pub(super) fn take(&mut self, segment: &Segment, now: Nanoseconds) {
        self.receive_ack(segment, now);
        self.receive_data(segment, now);
        self.tell_of_close();
    }

    pub(super) fn receive_ack(&mut self, segment: &Segment, now: Nanoseconds) {
        if !self.sender.has_sent(segment.ack) {
            self.receiver.due = Due::Now(SendReason::Ack);
            return;
        }
        if segment.ack < self.sender.una {
            return;
        }
        if self.sender.una == 0 {
            self.sender.mss = u64::from(self.mss);
        }
        let is_repeated = segment.ack == self.sender.una;
        let has_echo = self.has_echo(segment);
        let has_new_window = self.sender.offer(segment.ack, segment.window);
        if has_echo && self.sender.selective.is_none() {
            self.sender.reduce_for_mark(&self.stack);
        }
        if self.sender.selective.is_some() {
            let ack = Ack {
                has_echo,
                ..selective_ack(segment, is_repeated && !has_new_window)
            };
            self.sender.receive_selective(ack, now, &self.stack);
        } else if !is_repeated {
            self.sender
                .on_ack(segment.ack, segment.sent, now, &self.stack);
        } else if segment.payload == 0
            && !segment.has(flags::FIN)
            && !has_new_window
            && self.sender.una < self.sender.max
        {
            self.sender.duplicate(now, &self.stack);
        }
        if self.sender.is_refusing && self.sender.has_room(&self.stack) {
            self.sender.is_refusing = false;
            self.events.push(Event::Writable);
        }
    }

    pub(super) fn receive_data(&mut self, segment: &Segment, now: Nanoseconds) {
        if segment.has_early_fin {
            self.early_fin.get_or_insert(segment.seq);
            self.receiver.due = Due::Now(SendReason::Ack);
        } else {
            self.receive_stretch(segment, now);
        }
        if self.early_fin.is_some_and(|fin| self.receiver.next >= fin) {
            self.sender.close();
        }
    }

    fn receive_stretch(&mut self, segment: &Segment, now: Nanoseconds) {
        let end = segment.seq + u64::from(segment.payload);
        if segment.has(flags::FIN) && self.receiver.fin.is_none() {
            self.receiver.fin = Some(end);
        }
        if segment.payload > 0 {
            self.receiver.pause_ns = self.sender.round_trip.timeout(&self.stack.retransmission);
            self.measure_at_receiver(segment, now);
            let is_told_at_once = self.note_marks(segment);
            self.receiver
                .take(segment.seq, end, segment.has(flags::PSH), now);
            if is_told_at_once {
                self.acknowledge_marks();
            }
        } else if segment.has(flags::FIN) && end != self.receiver.next {
            self.receiver.due = Due::Now(SendReason::Ack);
        } else if segment.seq < self.receiver.next && !segment.has(flags::FIN) {
            // A keep-alive, or a probe with old data (RFC 9293, section 3.10.7.4).
            self.receiver.due = Due::Now(SendReason::Ack);
        }
        let data_end = self.receiver.next;
        let has_ended = self.receiver.take_fin(now);
        if data_end > self.told_readable && !self.is_past_fin(data_end) {
            self.told_readable = data_end;
            self.events.push(Event::Readable(data_end));
        }
        if has_ended {
            self.is_crossed = self.sender.una < self.sender.written;
            self.events.push(Event::PeerClosed);
        }
    }

    /// Measure the round trip at the receiver. The echoed timestamp is the sending time of the segment that
    /// this one answers (Linux, `tcp_rcv_rtt_measure_ts`).
    fn measure_at_receiver(&mut self, segment: &Segment, now: Nanoseconds) {
        let echo = segment.options.timestamps.map(|(_, echo)| echo);
        if let Some(echo) = echo.filter(|_| self.agreed.timestamps) {
            let ticks = timestamp(now).wrapping_sub(echo).max(1);
            let rtt = u64::from(ticks) * TIMESTAMP_CLOCK_NS;
            self.receiver.answered(echo, segment.payload, rtt);
        }
    }

    fn is_past_fin(&self, offset: u64) -> bool {
        self.receiver.fin.is_some_and(|fin| offset > fin)
    }
}

/// Return the fields of an ACK that recovery by SACK uses.
fn selective_ack(segment: &Segment, is_stale: bool) -> Ack {
    let blocks = segment.options.sack;
    let echo = segment.options.timestamps.map(|(_, echo)| u64::from(echo));
    Ack {
        ack: segment.ack,
        blocks,
        has_dsack: is_duplicate_report(segment.ack, &blocks),
        is_duplicate: is_stale && segment.payload == 0 && blocks == [(0, 0); SACK_BLOCKS],
        has_echo: false,
        echo: echo.map(|echo| echo * TIMESTAMP_CLOCK_NS),
    }
}

/// Return a segment without its SYN, as a segment of its own.
pub(super) fn behind_syn(segment: &Segment) -> Segment {
    Segment {
        seq: segment.seq + u64::from(segment.has(flags::SYN)),
        flags: segment.flags & !flags::SYN,
        ..*segment
    }
}
