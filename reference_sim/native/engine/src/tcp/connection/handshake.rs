//! SYN and SYN-ACK: the negotiation of both ends (RFC 9293, section 3.5), and T/TCP's bypass of the third
//! segment (RFC 1644).

use crate::segment::{flags, Ecn, Options, Segment};
use crate::sharing::accelerated_open::Opening;
use crate::stack::Nanoseconds;
use crate::tcp::connection::receiving::behind_syn;
use crate::tcp::connection::sending::flags_of;
use crate::tcp::connection::{timestamp, Connection, State};
use crate::tcp::receiver::Due;
use crate::tcp::round_trip::deadline;
use crate::tcp::Event;
use crate::truth::SendReason;

/// Maximum shift of a window scale option (RFC 7323, section 2.3).
const MAX_SCALE: u8 = 14;

impl Connection {
    /// Open with T/TCP, before any other call. The connection has a count. If the peers know each other, data
    /// can be sent or accepted before the handshake ends. A client's application is notified at once that it
    /// can write (a socket's `sendto` without `connect`).
    pub fn open_with(&mut self, opening: Opening, now: Nanoseconds) {
        self.opening = Some(opening);
        if opening.is_accelerated && self.is_active {
            self.syn_waits_until = Some(now);
            self.tell_connected();
        }
    }

    /// Return true if the peer has sent its own count.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        self.agreed.counts
    }

    pub(super) fn is_accelerated(&self) -> bool {
        self.opening.is_some_and(|opening| opening.is_accelerated) || self.is_fast()
    }

    pub(super) fn tell_connected(&mut self) {
        if !std::mem::replace(&mut self.told_connected, true) {
            self.events.push(Event::Connected);
        }
    }

    pub(super) fn receive_syn(&mut self, segment: &Segment, now: Nanoseconds) {
        self.agree(&segment.options);
        self.agree_on_marks(segment);
        self.receiver.next = 1;
        self.sender.offer(0, segment.window);
        if self.is_accelerated() {
            return self.receive_valid_syn(segment, now);
        }
        self.state = State::SynReceived;
        self.syn = Some(SendReason::New);
    }

    /// Accept a SYN that passed T/TCP's test: its data is taken. The SYN-ACK can wait for the application's
    /// response (RFC 1644, section 3.4; 4.4BSD's TF_DELACK | TF_SENDSYN).
    pub(super) fn receive_valid_syn(&mut self, segment: &Segment, now: Nanoseconds) {
        self.begin_exchange(now);
        // Until the SYN is acknowledged, the first sent segment carries its options.
        if !self.is_fast() {
            let options = self.syn_options(true, now).bytes();
            self.sender.mss = u64::from(self.stack.mss.min(self.mss + options) - options);
        }
        self.tell_connected();
        self.syn_rides = true;
        // The client did not wait for an advertised window, so the initial window applies.
        self.receiver.acknowledge_unscaled();
        self.receive_data(&behind_syn(segment), now);
        if segment.payload == 0 || self.is_fast() {
            self.receiver.due = Due::Now(SendReason::New);
        }
    }

    pub(super) fn receive_syn_ack(&mut self, segment: &Segment, now: Nanoseconds) {
        self.agree(&segment.options);
        self.take_cookie(&segment.options);
        self.agree_on_marks(segment);
        self.receiver.next = 1;
        self.receiver.due = Due::Now(SendReason::New);
        self.establish(segment, now);
        if self.is_accelerated() {
            let segment = behind_syn(segment);
            if segment.ack == 1 && self.is_fast() {
                self.sender.forget_sent();
            } else if segment.ack == 1 {
                self.sender.send_first_again();
            } else {
                self.receive_ack(&segment, now);
            }
            self.receive_data(&segment, now);
            self.tell_of_close();
        }
    }

    pub(super) fn receive_handshake_ack(&mut self, segment: &Segment, now: Nanoseconds) {
        if segment.has(flags::SYN) {
            self.syn = Some(SendReason::Ack);
        } else if segment.has(flags::ACK) && segment.ack >= 1 {
            self.establish(segment, now);
            self.receive_established(segment, now);
        }
    }

    pub(super) fn establish(&mut self, segment: &Segment, now: Nanoseconds) {
        self.begin_exchange(now);
        let rules = &self.stack.retransmission;
        if self.syn_retries == 0 {
            let start = if rules.times_acks {
                segment.sent
            } else {
                self.syn_sent
            };
            self.sender.round_trip.sample(start, now, rules);
        } else if rules.times_acks {
            self.sender.round_trip.measure(segment.sent, now, rules);
        }
        self.sender.begin_model(self.random.take(), now);
        self.sender.una = 1;
        self.sender.offer(segment.ack, segment.window);
        self.tell_connected();
    }

    pub(super) fn begin_exchange(&mut self, now: Nanoseconds) {
        self.state = State::Established;
        self.syn_timer = None;
        self.sender
            .established(&self.stack, self.mss, !self.is_active, self.agreed.sack);
        self.receiver.established(self.mss, now);
    }

    /// Agree on the options that both SYNs offer (RFC 7323, sections 2.2 and 3.2; RFC 2018, section 2).
    pub(super) fn agree(&mut self, options: &Options) {
        let stack = &self.stack;
        let peer_mss = options.mss.map_or(stack.mss, u32::from);
        self.agreed.timestamps = stack.timestamps && options.timestamps.is_some();
        self.agreed.sack = stack.sack && options.sack_permitted;
        if let (Some(own), Some(peer)) = (stack.window_scale, options.window_scale) {
            self.receiver.scale = own.min(MAX_SCALE);
            self.agreed.peer_scale = peer.min(MAX_SCALE);
        }
        self.agreed.counts = self.opening.is_some() && options.connection_count.is_some();
        // Options on every segment reduce its payload (RFC 6691, section 2).
        let every = Options {
            timestamps: self.agreed.timestamps.then_some((0, 0)),
            connection_count: self.agreed.counts.then_some(0),
            ..Options::default()
        };
        self.mss = peer_mss.min(stack.mss).saturating_sub(every.bytes()).max(1);
    }

    pub(super) fn on_syn_timeout(&mut self) {
        self.syn_timer = None;
        self.syn_retries += 1;
        self.sender.round_trip.on_timeout();
        if self.syn_retries > self.stack.retransmission.max_retries {
            self.give_up();
        } else {
            self.syn = Some(SendReason::RetransmissionTimeout);
        }
    }

    pub(super) fn transmit_syn(&mut self, now: Nanoseconds) -> Option<(Segment, SendReason)> {
        if self.syn_waits_until.is_some() && !self.sender.has_unsent() {
            return None;
        }
        self.syn_waits_until = None;
        let reason = self.syn.take()?;
        let timeout = self
            .sender
            .round_trip
            .syn_timeout(&self.stack.retransmission);
        self.syn_timer = Some(deadline(now, timeout, &self.stack.retransmission));
        self.syn_sent = now;
        let is_answer = self.state == State::SynReceived;
        let window = self.receiver.acknowledge_unscaled();
        let options = self.syn_options(is_answer, now);
        let flags = flags::SYN | self.offer_of_marks() | if is_answer { flags::ACK } else { 0 };
        let ack = if is_answer { 1 } else { 0 };
        let bare = Segment {
            seq: 0,
            ack,
            payload: 0,
            flags,
            window,
            options,
            sent: now,
            has_early_fin: false,
            ecn: Ecn::NotCapable,
        };
        Some((self.with_first_data(bare, now), reason))
    }

    /// Return a client's SYN, with its first data if the open is accelerated.
    pub(super) fn with_first_data(&mut self, syn: Segment, now: Nanoseconds) -> Segment {
        if !self.is_accelerated() || !self.is_active || self.gave_up_fast_open() {
            return syn;
        }
        let mss = self.fast_open_mss();
        let mss = mss.unwrap_or_else(|| self.stack.mss.saturating_sub(syn.options.bytes()).max(1));
        match self.sender.on_syn(mss, now, &self.stack) {
            None => syn,
            Some(stretch) => Segment {
                payload: u32::try_from(stretch.payload).unwrap_or(u32::MAX),
                flags: syn.flags | flags_of(stretch),
                ..syn
            },
        }
    }

    pub(super) fn syn_options(&self, is_answer: bool, now: Nanoseconds) -> Options {
        let stack = &self.stack;
        let offers = |offered: bool, agreed: bool| offered && (!is_answer || agreed);
        let scale = stack
            .window_scale
            .filter(|_| !is_answer || self.agreed.peer_scale > 0 || self.receiver.scale > 0);
        Options {
            mss: stack
                .mss_option
                .then(|| u16::try_from(stack.mss).unwrap_or(u16::MAX)),
            window_scale: scale.map(|scale| scale.min(MAX_SCALE)),
            sack_permitted: offers(stack.sack, self.agreed.sack),
            timestamps: offers(stack.timestamps, self.agreed.timestamps).then(|| {
                (
                    timestamp(now),
                    if is_answer { self.recent_timestamp } else { 0 },
                )
            }),
            connection_count: self
                .opening
                .filter(|_| !is_answer || self.agreed.counts)
                .map(|opening| opening.count),
            fast_open: self.cookie_option(),
            ..Options::default()
        }
    }
}
