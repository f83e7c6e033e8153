//! The state of one end: handshake, both halves, close (RFC 9293, section 3.10).

mod congestion_notification;
mod fast_open;
mod handshake;
mod receiving;
mod sending;
mod sharing;

use std::sync::Arc;

use crate::random::Random;
use crate::sharing::accelerated_open::Opening;
use crate::sharing::fast_open::{FastOpen, Kept};
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::connection::congestion_notification::Notification;
use crate::tcp::receiver::{Due, Receiver};
use crate::tcp::sender::Sender;
use crate::tcp::Event;
use crate::truth::{Limit, SendReason};

/// Unit of timestamps: one millisecond (RFC 7323, section 5.4, permits 1 ms to 1 s).
const TIMESTAMP_CLOCK_NS: Nanoseconds = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// The connection was reset or abandoned.
    Failed,
}

/// The options that the SYNs of both ends negotiated.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    timestamps: bool,
    sack: bool,
    /// True if every segment carries T/TCP's connection count (RFC 1644, section 3.1).
    counts: bool,
    /// Shift of the peer's advertised windows.
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
    /// Set if the SYN (or SYN-ACK) is to be sent or repeated, with the reason.
    syn: Option<SendReason>,
    syn_timer: Option<Nanoseconds>,
    syn_sent: Nanoseconds,
    syn_retries: u32,
    reset: bool,
    /// The peer's latest timestamp, which the next segment echoes.
    recent_timestamp: u32,
    events: Vec<Event>,
    told_readable: u64,
    told_closed: bool,
    limit: Limit,
    /// T/TCP: the connection's count, and a flag for a skipped handshake.
    opening: Option<Opening>,
    /// TCP Fast Open: the use of the cookie.
    fast_open: Option<FastOpen>,
    /// TCP Fast Open: the cookie that the peer gave.
    given: Option<Kept>,
    notification: Notification,
    told_connected: bool,
    /// Latest time to which the SYN waits for data that the application writes now.
    syn_waits_until: Option<Nanoseconds>,
    /// True if the SYN of a server without handshake travels on the next segment.
    syn_rides: bool,
    /// Offset of a peer's FIN that arrived before earlier data.
    early_fin: Option<u64>,
    /// True if the peer closed before it had all data (BayFullTcp's CLOSING), and data was sent after its
    /// FIN.
    is_crossed: bool,
    is_stuck: bool,
    /// Stream of the stack's random choices.
    random: Option<Random>,
}

impl Connection {
    /// Create the active end. [`Connection::transmit`] returns its SYN.
    #[must_use]
    pub fn connect(stack: &Arc<Stack>) -> Self {
        Connection {
            syn: Some(SendReason::New),
            ..Connection::new(stack, State::SynSent, true)
        }
    }

    /// Create the passive end, which waits for the SYN.
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
            fast_open: None,
            given: None,
            notification: Notification::default(),
            told_connected: false,
            syn_waits_until: None,
            syn_rides: false,
            early_fin: None,
            is_crossed: false,
            is_stuck: false,
            random: None,
        }
    }

    /// Draw the stack's random choices from this stream.
    #[must_use]
    pub fn drawing_from(mut self, random: Random) -> Self {
        self.random = Some(random);
        self
    }

    /// Return true if events are delivered before segments are sent. The application's response then carries
    /// the ACK.
    #[must_use]
    pub fn tells_before_sending(&self) -> bool {
        if self.is_active && self.sender.max == 1 {
            self.stack.data_on_handshake_ack
        } else {
            let is_fin_alone = self.receiver.has_ended() && !self.stack.fin_with_data;
            self.stack.upcall_before_ack && !is_fin_alone
        }
    }

    /// Handle the due timers. The call has no effect if no timer is due.
    pub fn timeout(&mut self, now: Nanoseconds) {
        self.sender.begin_run();
        self.receiver.timeout(now);
        self.syn_waits_until = None;
        // Data that the peer has not acknowledged is retransmitted unchanged, together with the SYN.
        let is_unanswered = self.sender.una == 0 && self.state == State::Established;
        self.syn_rides |= is_unanswered && (!self.is_fast() || self.sender.is_timed_out(now));
        if self.syn_timer.is_some_and(|time| time <= now) {
            self.on_syn_timeout();
        }
        if self.sender.selective_timers(now, &self.stack) {
            return;
        }
        if self.sender.is_timed_out(now) && self.sender.on_timeout(now, &self.stack) {
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

    /// Make one write call, and return the number of bytes taken. If some bytes were taken, call again at
    /// once with the rest. A stack can take a write in steps and send after each step. If none were taken,
    /// call again after [`Event::Writable`].
    pub fn write(&mut self, bytes: u64, _now: Nanoseconds) -> u64 {
        self.sender.begin_run();
        let step = self
            .stack
            .write_step_bytes
            .map_or(bytes, |step| bytes.min(u64::from(step)));
        self.sender.write(step, self.stack.send_buffer)
    }

    /// Close for writing. A FIN follows the data.
    pub fn close(&mut self, _now: Nanoseconds) {
        self.sender.begin_run();
        self.sender.close();
    }

    /// Set whether the application reads data on arrival (the default), or leaves it in the socket.
    pub fn set_reading(&mut self, is_reading: bool, _now: Nanoseconds) {
        self.receiver.set_reading(is_reading);
    }

    /// Record the sender's limit once no further segment is sent.
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

    /// Return true while the SYN is unanswered.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        self.state == State::SynSent
    }

    /// Return true if both directions are closed, or the connection failed.
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

    /// Abandon the connection after too many retransmissions. A peer that ever responded receives a reset
    /// (4.4BSD's tcp_drop).
    fn give_up(&mut self) {
        self.reset = matches!(self.state, State::SynReceived | State::Established);
        self.fail();
    }

    /// Abort the connection with a reset to the peer.
    pub fn abort(&mut self) {
        self.reset = self.state != State::Failed && self.state != State::Listen;
        self.state = State::Failed;
    }

    /// Return the sender's limit at the time it last stopped sending.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Return the sender, whose windows, round trip and flight go to the truth.
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

    /// Return the offset of the next written byte.
    #[must_use]
    pub fn write_offset(&self) -> u64 {
        self.sender.written
    }
}

fn timestamp(now: Nanoseconds) -> u32 {
    // Only the low 32 bits of the clock are sent.
    (now / TIMESTAMP_CLOCK_NS) as u32
}
