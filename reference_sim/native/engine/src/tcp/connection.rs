//! The state of one end: handshake, the two halves, close (RFC 9293, section 3.10).

mod handshake;
mod sharing;

use std::sync::Arc;

use crate::segment::{flags, Options, Segment, SACK_BLOCKS};
use crate::sharing::accelerated_open::Opening;
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::receiver::{Due, Receiver};
use crate::tcp::sack_blocks::is_duplicate_report;
use crate::tcp::selective::Ack;
use crate::tcp::sender::{Sender, Stretch};
use crate::tcp::Event;
use crate::truth::{Limit, SendReason};

/// Timestamps count milliseconds (RFC 7323, section 5.4 allows 1 ms to 1 s).
const TIMESTAMP_CLOCK_NS: Nanoseconds = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// Reset, or given up.
    Failed,
}

/// What the SYNs of both ends agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    timestamps: bool,
    sack: bool,
    /// T/TCP's connection counts: in every segment (RFC 1644, section 3.1).
    counts: bool,
    /// Shift of the windows that the peer offers.
    peer_scale: u8,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    stack: Arc<Stack>,
    state: State,
    is_active: bool,
    sender: Sender,
    receiver: Receiver,
    agreed: Agreed,
    mss: u32,
    /// The SYN (or SYN-ACK) has to go out (again), and why.
    syn: Option<SendReason>,
    syn_timer: Option<Nanoseconds>,
    syn_sent: Nanoseconds,
    syn_retries: u32,
    reset: bool,
    /// The peer's last timestamp, to be echoed.
    recent_timestamp: u32,
    events: Vec<Event>,
    told_readable: u64,
    told_closed: bool,
    limit: Limit,
    /// T/TCP: the connection's count, and whether the handshake is skipped.
    opening: Option<Opening>,
    told_connected: bool,
    /// The SYN waits for the data that is written now, not later than this.
    syn_waits_until: Option<Nanoseconds>,
    /// The SYN of a server that skips the handshake rides on what it sends next.
    syn_rides: bool,
    /// Where a FIN of the peer came before data that is still to come.
    early_fin: Option<u64>,
    /// The peer closed before it had all (BayFullTcp's CLOSING), and data was sent behind that.
    is_crossed: bool,
    is_stuck: bool,
}

impl Connection {
    /// The active end; [`Connection::transmit`] gives the SYN.
    #[must_use]
    pub fn connect(stack: &Arc<Stack>) -> Self {
        Connection {
            syn: Some(SendReason::New),
            ..Connection::new(stack, State::SynSent, true)
        }
    }

    /// The passive end, waiting for the SYN.
    #[must_use]
    pub fn accept(stack: &Arc<Stack>) -> Self {
        Connection::new(stack, State::Listen, false)
    }

    fn new(stack: &Arc<Stack>, state: State, is_active: bool) -> Self {
        Connection {
            stack: Arc::clone(stack),
            state,
            is_active,
            sender: Sender::new(stack),
            receiver: Receiver::new(stack),
            agreed: Agreed::default(),
            mss: stack.mss,
            syn: None,
            syn_timer: None,
            syn_sent: 0,
            syn_retries: 0,
            reset: false,
            recent_timestamp: 0,
            events: Vec::new(),
            told_readable: 1,
            told_closed: false,
            limit: Limit::Handshake,
            opening: None,
            told_connected: false,
            syn_waits_until: None,
            syn_rides: false,
            early_fin: None,
            is_crossed: false,
            is_stuck: false,
        }
    }

    /// Whether the application is to be told what has come before anything is sent: its answer
    /// then carries the ACK.
    #[must_use]
    pub fn tells_before_sending(&self) -> bool {
        if self.is_active && self.sender.max == 1 {
            self.stack.data_on_handshake_ack
        } else {
            let is_fin_alone = self.receiver.has_ended() && !self.stack.fin_with_data;
            self.stack.upcall_before_ack && !is_fin_alone
        }
    }

    pub fn receive(&mut self, segment: &Segment, now: Nanoseconds) {
        if segment.has(flags::RST) {
            self.fail();
            return;
        }
        if let Some((value, _)) = segment.options.timestamps {
            // The first one that the next ACK will cover (RFC 7323, section 4.3).
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
            // There is no such connection any more (RFC 9293, section 3.10.7.1).
            State::Failed => self.reset = true,
            State::Listen | State::SynSent => {}
        }
        self.sender.begin_run();
    }

    fn receive_established(&mut self, segment: &Segment, now: Nanoseconds) {
        if segment.has(flags::SYN) {
            // Our ACK of the SYN-ACK was lost, or the answer to an accelerated SYN.
            self.receiver.due = Due::Now(SendReason::Ack);
            self.syn_rides = self.sender.una == 0;
            if self.is_accelerated() && self.is_active {
                self.take(&behind_syn(segment), now);
            }
            return;
        }
        self.take(segment, now);
    }

    fn take(&mut self, segment: &Segment, now: Nanoseconds) {
        self.receive_ack(segment, now);
        self.receive_data(segment, now);
        self.tell_of_close();
    }

    fn receive_ack(&mut self, segment: &Segment, now: Nanoseconds) {
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
        let has_new_window = self.sender.offer(segment.ack, segment.window);
        if self.sender.selective.is_some() {
            let ack = selective_ack(segment, is_repeated && !has_new_window);
            self.sender.receive_selective(ack, now, &self.stack);
        } else if !is_repeated {
            self.sender
                .acknowledged(segment.ack, segment.sent, now, &self.stack);
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

    fn receive_data(&mut self, segment: &Segment, now: Nanoseconds) {
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
            self.receiver
                .take(segment.seq, end, segment.has(flags::PSH), now);
        } else if segment.has(flags::FIN) && end != self.receiver.next {
            self.receiver.due = Due::Now(SendReason::Ack);
        } else if segment.seq < self.receiver.next && !segment.has(flags::FIN) {
            // A keep-alive, or a probe of the past (RFC 9293, section 3.10.7.4).
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

    fn is_past_fin(&self, offset: u64) -> bool {
        self.receiver.fin.is_some_and(|fin| offset > fin)
    }

    /// The latest deadline that is due; harmless if none is.
    pub fn timeout(&mut self, now: Nanoseconds) {
        self.sender.begin_run();
        self.receiver.timeout(now);
        self.syn_waits_until = None;
        // What the peer has not acknowledged goes out again as it was, with the SYN.
        self.syn_rides |= self.sender.una == 0 && self.state == State::Established;
        if self.syn_timer.is_some_and(|time| time <= now) {
            self.syn_timed_out();
        }
        if self.sender.selective_timers(now, &self.stack) {
            return;
        }
        if self
            .sender
            .retransmission_timer
            .is_some_and(|time| time <= now)
            && self.sender.timed_out(now, &self.stack)
        {
            self.give_up();
        }
    }

    #[must_use]
    pub fn deadline(&self) -> Option<Nanoseconds> {
        if self.state == State::Failed {
            return None;
        }
        let ack = match self.receiver.due {
            Due::At(time) => Some(time),
            _ => None,
        };
        [
            self.syn_timer,
            self.syn_waits_until,
            ack,
            self.sender.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// One write call; how many of the bytes were taken. Call again with the rest: at once if
    /// some were taken (a stack may take a write in steps, and may send after each), else when
    /// told [`Event::Writable`].
    pub fn write(&mut self, bytes: u64, _now: Nanoseconds) -> u64 {
        self.sender.begin_run();
        let step = self
            .stack
            .write_step_bytes
            .map_or(bytes, |step| bytes.min(u64::from(step)));
        self.sender.write(step, self.stack.send_buffer)
    }

    /// Nothing more will be written; a FIN follows the data.
    pub fn close(&mut self, _now: Nanoseconds) {
        self.sender.begin_run();
        self.sender.close();
    }

    /// The application takes data as it comes (which it does at first), or leaves it in the socket.
    pub fn set_reading(&mut self, is_reading: bool, _now: Nanoseconds) {
        self.receiver.set_reading(is_reading);
    }

    /// The next segment to send, and why it goes out now.
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

    /// What holds the sender back now that nothing (more) goes.
    pub fn note_limit(&mut self) {
        if self.state == State::Established {
            self.limit = self.sender.limit(&self.stack);
        }
    }

    fn bare_ack(&mut self, now: Nanoseconds) -> Segment {
        let has_early_fin = self.stack.fin_on_bare_acks && !self.receiver.has_ended();
        match self.sender.early_fin().filter(|_| has_early_fin) {
            Some(fin) => Segment {
                has_early_fin,
                ..self.segment(fin, 0, flags::ACK | flags::FIN, now)
            },
            None => self.segment(self.sender.max, 0, flags::ACK, now),
        }
    }

    fn data_segment(&mut self, stretch: Stretch, now: Nanoseconds) -> Segment {
        self.is_stuck |= self.stack.fin_on_bare_acks && self.is_crossed && stretch.has_fin;
        // A loss that other connections tell of may be that of the SYN, too.
        self.syn_rides |= self.sender.una == 0 && stretch.reason != SendReason::New;
        let payload = u32::try_from(stretch.payload).unwrap_or(u32::MAX);
        self.segment(stretch.start, payload, flags::ACK | flags_of(stretch), now)
    }

    fn segment(&mut self, seq: u64, payload: u32, flags: u16, now: Nanoseconds) -> Segment {
        if seq == 1 && std::mem::take(&mut self.syn_rides) {
            return Segment {
                seq: 0,
                ack: self.receiver.next,
                payload,
                flags: flags | flags::SYN,
                window: self.receiver.acknowledge_unscaled(),
                options: self.syn_options(true, now),
                sent: now,
                has_early_fin: false,
            };
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
            flags,
            window,
            options,
            sent: now,
            has_early_fin: false,
        }
    }

    #[must_use]
    pub fn event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            None
        } else {
            Some(self.events.remove(0))
        }
    }

    /// Its SYN has not been answered.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        self.state == State::SynSent
    }

    /// Both directions are closed, or the connection failed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Failed || self.told_closed
    }

    fn tell_of_close(&mut self) {
        let peer_is_done = self.receiver.has_ended();
        if peer_is_done && self.sender.is_done() && !self.told_closed && !self.is_stuck {
            self.told_closed = true;
            self.events.push(Event::Closed);
        }
    }

    fn fail(&mut self) {
        if self.state != State::Failed {
            self.state = State::Failed;
            self.events.push(Event::Failed);
        }
    }

    /// Too many retransmissions: a peer that was ever heard is told by a reset (4.4BSD's tcp_drop).
    fn give_up(&mut self) {
        self.reset = matches!(self.state, State::SynReceived | State::Established);
        self.fail();
    }

    /// Gives the connection up: the peer is told by a reset.
    pub fn abort(&mut self) {
        self.reset = self.state != State::Failed && self.state != State::Listen;
        self.state = State::Failed;
    }

    /// What held the sender back when it last had nothing (more) to send.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// The sender's windows, round trip and flight, for the truth.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    #[must_use]
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    #[must_use]
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Offset of the next byte to be written.
    #[must_use]
    pub fn write_offset(&self) -> u64 {
        self.sender.written
    }
}

/// An ACK as recovery by SACK sees it.
fn selective_ack(segment: &Segment, is_stale: bool) -> Ack {
    let blocks = segment.options.sack;
    let echo = segment.options.timestamps.map(|(_, echo)| u64::from(echo));
    Ack {
        ack: segment.ack,
        blocks,
        has_dsack: is_duplicate_report(segment.ack, &blocks),
        is_duplicate: is_stale && segment.payload == 0 && blocks == [(0, 0); SACK_BLOCKS],
        echo: echo.map(|echo| echo * TIMESTAMP_CLOCK_NS),
    }
}

/// A segment, without its SYN if it has one: what that carries is a segment of its own.
fn behind_syn(segment: &Segment) -> Segment {
    Segment {
        seq: segment.seq + u64::from(segment.has(flags::SYN)),
        flags: segment.flags & !flags::SYN,
        ..*segment
    }
}

fn flags_of(stretch: Stretch) -> u16 {
    let push = if stretch.has_push { flags::PSH } else { 0 };
    let fin = if stretch.has_fin { flags::FIN } else { 0 };
    push | fin
}

fn timestamp(now: Nanoseconds) -> u32 {
    // Of the running clock only the last 32 bits are sent.
    (now / TIMESTAMP_CLOCK_NS) as u32
}
