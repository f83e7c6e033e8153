//! The receiving half: reassembly, the advertised window, and acknowledgment.

use crate::segment::SACK_BLOCKS;
use crate::stack::{AckDelay, AckPolicy, Nanoseconds, Stack};
use crate::tcp::quick_acks::LinuxAcks;
use crate::tcp::receive_autotuning::Autotuning;
use crate::tcp::sack_blocks::SackBlocks;
use crate::truth::SendReason;

/// A due ACK, to be sent alone or with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    /// Expiry time of the ACK's timer.
    At(Nanoseconds),
    Now(SendReason),
}

/// Received data, reported data, and acceptable data.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: AckPolicy,
    buffer: u64,
    mss: u64,
    /// Next offset in order.
    pub next: u64,
    /// Offset up to which the application has read.
    read: u64,
    /// True if the application reads on arrival.
    is_reading: bool,
    /// Offset of the peer's FIN.
    pub fin: Option<u64>,
    /// Ranges beyond a hole, and duplicates.
    beyond: SackBlocks,
    reports_duplicates: bool,
    /// Advertised right edge, which never moves back (RFC 9293, section 3.8.6).
    edge: u64,
    /// Unit of the window field.
    pub scale: u8,
    /// Offset of the last sent ACK.
    pub acknowledged: u64,
    segments: u32,
    /// Offset up to which data is acknowledged at once.
    at_once_end: u64,
    pub due: Due,
    linux: Option<LinuxAcks>,
    autotuning: Option<Autotuning>,
    /// Pause after which the peer is in slow start (Linux).
    pub pause_ns: Nanoseconds,
}

impl Receiver {
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Receiver {
            policy: stack.acks,
            buffer: stack.receive_buffer,
            mss: u64::from(stack.mss),
            next: 0,
            read: 1,
            is_reading: true,
            fin: None,
            beyond: SackBlocks::default(),
            reports_duplicates: stack.tail_loss_probe,
            edge: 0,
            scale: 0,
            acknowledged: 0,
            segments: 0,
            at_once_end: stack.acks.at_once_bytes,
            due: Due::Nothing,
            linux: stack.acks.quick_acks.map(LinuxAcks::new),
            autotuning: stack
                .receive_autotuning
                .then(|| Autotuning::new(stack.receive_buffer)),
            pause_ns: stack.retransmission.initial_ns,
        }
    }

    /// Handle the completed handshake.
    pub fn established(&mut self, mss: u32, now: Nanoseconds) {
        self.mss = u64::from(mss);
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.begin(self.mss, now);
        }
    }

    /// Handle `payload` bytes that arrived `rtt` after the segment with this timestamp, which they answer.
    pub fn answered(&mut self, echo: u32, payload: u32, rtt: Nanoseconds) {
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.answered(echo, rtt, u64::from(payload) >= self.mss);
        }
    }

    /// Take a range of the stream. Return true if it, or data after it, is now in order.
    pub fn take(&mut self, start: u64, end: u64, has_push: bool, now: Nanoseconds) -> bool {
        if end > self.edge.max(self.next) || end <= self.next {
            // Data beyond the window, or a copy: acknowledge at once with the expected number (RFC 9293,
            // section 3.10.7.4).
            self.due = Due::Now(SendReason::Ack);
            self.repeated(start, end);
            return false;
        }
        if start > self.next {
            self.beyond.insert(start, end);
            if let Some(autotuning) = &mut self.autotuning {
                autotuning.came_beyond(end - self.next);
            }
            self.due = Due::Now(SendReason::Ack);
            self.came_out_of_order();
            return false;
        }
        let filled_a_hole = self.beyond.has_hole();
        self.next = self.beyond.fill(end);
        let window = self.edge.saturating_sub(self.next);
        if let Some(linux) = &mut self.linux {
            linux.received(end - start, has_push, window, self.pause_ns, now);
        }
        self.tune(end - start, window, now);
        if filled_a_hole {
            self.due = Due::Now(SendReason::Ack);
            self.came_out_of_order();
        } else {
            self.schedule(has_push, now);
        }
        true
    }

    /// Tune the buffer after data in order, which an application that reads at once has read.
    fn tune(&mut self, bytes: u64, window: u64, now: Nanoseconds) {
        let Some(autotuning) = &mut self.autotuning else {
            return;
        };
        autotuning.arrived(bytes, self.next, window, self.mss, now);
        if self.is_reading {
            autotuning.has_read(self.next, now);
        }
    }

    fn came_out_of_order(&mut self) {
        if self.policy.at_once_after_loss {
            self.at_once_end = self.next + self.policy.at_once_bytes - 1;
        }
    }

    /// Return true if all data of the peer has arrived.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Take the FIN at this offset, if all data before it has arrived. Return true if the FIN was reached.
    pub fn take_fin(&mut self, now: Nanoseconds) -> bool {
        if self.fin != Some(self.next) {
            return false;
        }
        self.next += 1;
        match &mut self.linux {
            None => self.due = Due::Now(SendReason::Ack),
            Some(linux) => {
                // Linux expects its own FIN to carry the ACK (`tcp_fin`).
                linux.peer_closed();
                self.schedule_linux(now);
            }
        }
        true
    }

    /// Handle a mark on the data that arrives now.
    pub fn came_marked(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.received_mark();
        }
    }

    /// Record a duplicate, or data beyond the window.
    fn repeated(&mut self, start: u64, end: u64) {
        let window = self.edge.saturating_sub(self.next);
        if let Some(linux) = &mut self.linux {
            linux.received_copy(window);
        }
        if self.reports_duplicates && end <= self.next {
            self.beyond.repeated(start, end);
        }
    }

    /// Schedule the ACK of data in order by Linux's rules.
    fn schedule_linux(&mut self, now: Nanoseconds) {
        let unacknowledged = self.next - self.acknowledged;
        let is_at_once = self.linux.is_some_and(|linux| {
            linux.is_at_once(unacknowledged)
                || self.is_reading && linux.is_due_when_read(unacknowledged)
        });
        if is_at_once {
            self.due = Due::Now(SendReason::Ack);
        } else if self.due == Due::Nothing {
            self.due = Due::At(delayed(self.policy.delay, now));
        }
    }

    /// Schedule the ACK of data in order: now or later (RFC 5681, section 4.2).
    fn schedule(&mut self, has_push: bool, now: Nanoseconds) {
        if self.linux.is_some() {
            self.schedule_linux(now);
            return;
        }
        let policy = self.policy;
        self.segments += 1;
        let unacknowledged = self.next - self.acknowledged;
        let is_enough = if policy.counts_segments {
            self.segments >= policy.every
        } else {
            unacknowledged >= u64::from(policy.every) * self.mss
        };
        let is_at_once = is_enough || self.next <= self.at_once_end || policy.on_push && has_push;
        if is_at_once {
            self.due = Due::Now(SendReason::Ack);
        } else if self.due == Due::Nothing {
            self.due = Due::At(delayed(policy.delay, now));
        }
    }

    /// Handle the delayed-ACK timer, if it is due.
    pub fn timeout(&mut self, now: Nanoseconds) {
        if let Due::At(time) = self.due {
            if time <= now {
                self.due = Due::Now(SendReason::DelayedAck);
                if let Some(linux) = &mut self.linux {
                    linux.on_timeout();
                }
            }
        }
    }

    /// Stop reading, or resume with all available data. The peer is notified if this opens the window far
    /// enough (RFC 9293, section 3.8.6.2.2).
    pub fn set_reading(&mut self, is_reading: bool) {
        if self.is_reading || is_reading {
            self.read = self.next;
        }
        self.is_reading = is_reading;
        if !is_reading {
            return;
        }
        let offered = self.edge.saturating_sub(self.next);
        let growth = self.free_edge().saturating_sub(self.edge);
        let is_much = growth >= (2 * self.mss).min(self.buffer / 2).max(1);
        if is_much && offered <= self.buffer / 2 && !matches!(self.due, Due::Now(_)) {
            self.due = Due::Now(SendReason::WindowUpdate);
        }
    }

    /// Acknowledge all data so far on a leaving segment. Return its advertised window.
    pub fn acknowledge(&mut self, has_data: bool, now: Nanoseconds) -> u32 {
        if let Some(linux) = &mut self.linux {
            linux.sent(self.due != Due::Nothing, has_data, now);
        }
        self.due = Due::Nothing;
        self.segments = 0;
        self.acknowledged = self.next;
        let free = self.free_edge();
        let growth = free.saturating_sub(self.edge);
        let offered = self.edge.saturating_sub(self.next);
        // Silly windows are not advertised: a small growth waits (RFC 9293, section 3.8.6.2.2).
        if growth >= self.mss.min(self.buffer / 2) || offered + growth >= self.buffer {
            self.edge = free;
        }
        let most = u64::from(u16::MAX) << self.scale;
        let window = self.edge.saturating_sub(self.next).min(most);
        self.edge = self.next + window;
        // The field has no place for less than its unit. This remainder was advertised before and stays
        // acceptable.
        let unit = 1_u64 << self.scale;
        u32::try_from(window / unit * unit).unwrap_or(u32::MAX)
    }

    /// Acknowledge on a SYN, whose window is not scaled (RFC 7323, section 2.2).
    pub fn acknowledge_unscaled(&mut self) -> u32 {
        self.due = Due::Nothing;
        self.segments = 0;
        self.acknowledged = self.next;
        let window = self.buffer.min(u64::from(u16::MAX));
        self.edge = self.edge.max(self.next + window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// Return the SACK blocks of the ACK that leaves now.
    pub fn sack_blocks(&mut self) -> [(u64, u64); SACK_BLOCKS] {
        self.beyond.report()
    }

    fn free_edge(&self) -> u64 {
        let unread = if self.is_reading {
            0
        } else {
            self.next.saturating_sub(self.read)
        };
        let (buffer, offered) = self
            .autotuning
            .map_or((self.buffer, self.buffer), |it| it.window());
        self.next + offered.min(buffer.saturating_sub(unread))
    }
}

/// Return the sending time of an ACK that waits from now on.
fn delayed(delay: AckDelay, now: Nanoseconds) -> Nanoseconds {
    match delay {
        AckDelay::Timer { delay_ns } => now + delay_ns,
        AckDelay::Heartbeat {
            period_ns,
            phase_ns,
        } => {
            let period = period_ns.max(1);
            let since = (now + period - phase_ns % period) % period;
            now + period - since
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_keeps_its_phase() {
        let beat = AckDelay::Heartbeat {
            period_ns: 200,
            phase_ns: 50,
        };
        assert_eq!(delayed(beat, 0), 50);
        assert_eq!(delayed(beat, 50), 250);
        assert_eq!(delayed(beat, 249), 250);
        assert_eq!(delayed(beat, 1_000), 1_050);
    }
}
