//! The sent segments of a connection.

use super::{timestamp, Connection, State};
use crate::segment::{flags, Ecn, Options, Segment};
use crate::stack::Nanoseconds;
use crate::tcp::receiver::Due;
use crate::tcp::sender::Stretch;
use crate::truth::SendReason;

impl Connection {
    /// Return the next segment to send, with the reason for its time.
    pub fn transmit(&mut self, now: Nanoseconds) -> Option<(Segment, SendReason)> {
        if self.reset {
            self.reset = false;
            return Some((
                self.segment(self.sender.max, 0, flags::RST | flags::ACK, now),
                SendReason::Reset,
            ));
        }
        match self.state {
            State::Failed | State::Listen => return None,
            State::SynSent | State::SynReceived => return self.transmit_syn(now),
            State::Established => {}
        }
        if self.is_fast() && std::mem::take(&mut self.syn_rides) {
            let reason = self.reason_of_answer();
            return Some((self.syn_ack(0, flags::ACK, now), reason));
        }
        let stretch = self
            .sender
            .poll(now, &self.stack)
            .or_else(|| self.sender.probe(now, &self.stack));
        if let Some(stretch) = stretch {
            let reason = stretch.reason;
            return Some((self.data_segment(stretch, now), reason));
        }
        self.note_limit();
        match self.receiver.due {
            Due::Now(reason) => Some((self.bare_ack(now), reason)),
            _ => None,
        }
    }

    pub(super) fn bare_ack(&mut self, now: Nanoseconds) -> Segment {
        let has_early_fin = self.stack.fin_on_bare_acks && !self.receiver.has_ended();
        match self.sender.early_fin().filter(|_| has_early_fin) {
            Some(fin) => Segment {
                has_early_fin,
                ..self.segment(fin, 0, flags::ACK | flags::FIN, now)
            },
            None => self.segment(self.sender.max, 0, flags::ACK, now),
        }
    }

    pub(super) fn data_segment(&mut self, stretch: Stretch, now: Nanoseconds) -> Segment {
        self.is_stuck |= self.stack.fin_on_bare_acks && self.is_crossed && stretch.has_fin;
        // A loss signalled by other connections can also concern the SYN.
        self.syn_rides |= self.sender.una == 0 && stretch.reason != SendReason::New;
        let payload = u32::try_from(stretch.payload).unwrap_or(u32::MAX);
        let flags = flags::ACK | flags_of(stretch);
        let mut segment = self.segment(stretch.start, payload, flags, now);
        self.mark_as_capable(&mut segment, stretch);
        segment
    }

    pub(super) fn segment(
        &mut self,
        seq: u64,
        payload: u32,
        flags: u16,
        now: Nanoseconds,
    ) -> Segment {
        if seq == 1 && std::mem::take(&mut self.syn_rides) {
            return self.syn_ack(payload, flags, now);
        }
        let window = self.receiver.acknowledge(payload > 0, now);
        let mut options = Options::default();
        if self.agreed.timestamps {
            options.timestamps = Some((timestamp(now), self.recent_timestamp));
        }
        if self.agreed.sack {
            options.sack = self.receiver.sack_blocks();
        }
        if self.agreed.counts {
            options.connection_count = self.opening.map(|opening| opening.count);
        }
        options.drop_blocks_without_room();
        Segment {
            seq,
            ack: self.receiver.next,
            payload,
            flags: flags | self.echo(),
            window,
            options,
            sent: now,
            has_early_fin: false,
            ecn: Ecn::NotCapable,
        }
    }

    /// Return the SYN of a server that skips the handshake, with its payload and flags.
    fn syn_ack(&mut self, payload: u32, flags: u16, now: Nanoseconds) -> Segment {
        Segment {
            seq: 0,
            ack: self.receiver.next,
            payload,
            flags: flags | flags::SYN | self.offer_of_marks(),
            window: self.receiver.acknowledge_unscaled(),
            options: self.syn_options(true, now),
            sent: now,
            has_early_fin: false,
            ecn: Ecn::NotCapable,
        }
    }
}

pub(super) fn flags_of(stretch: Stretch) -> u16 {
    let push = if stretch.has_push { flags::PSH } else { 0 };
    let fin = if stretch.has_fin { flags::FIN } else { 0 };
    push | fin
}
