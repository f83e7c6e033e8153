//! The state of one end: handshake, the two halves, close (RFC 9293, section 3.10).

mod handshake;
mod receiving;
mod sending;
mod sharing;

use std::sync::Arc;

use crate::sharing::accelerated_open::Opening;
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::receiver::{Due, Receiver};
use crate::tcp::sender::Sender;
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

    /// What holds the sender back now that nothing (more) goes.
    pub fn note_limit(&mut self) {
        if self.state == State::Established {
            self.limit = self.sender.limit(&self.stack);
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

fn timestamp(now: Nanoseconds) -> u32 {
    // Of the running clock only the last 32 bits are sent.
    (now / TIMESTAMP_CLOCK_NS) as u32
}
