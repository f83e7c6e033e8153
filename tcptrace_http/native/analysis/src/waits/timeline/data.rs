//! Data as it goes by, and its path: what a timeline is told.

use tcptrace_tcp::LastHeard;
use trace_model::rows::RecoveryKind;

use super::super::partition::Moment;
use super::repairs::is_timed;
use crate::byte_time::ByteTime;
use crate::shared_windows::{Receiver, Sharing};

/// A segment with payload.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Data {
    pub(in crate::waits) at: Moment,
    /// Offset after its last byte.
    pub(in crate::waits) end: i64,
    pub(in crate::waits) bytes: u32,
    /// Segments it was on the wire.
    pub(in crate::waits) segments: u32,
    /// Payload of a full one.
    pub(in crate::waits) full_bytes: u32,
    /// Bytes before it were passed over.
    pub(in crate::waits) opens_hole: bool,
    pub(in crate::waits) recovery: Option<RecoveryKind>,
    /// That it was lost itself before is told by the numbers of all packets of its host alone.
    pub(in crate::waits) is_told_by_host: bool,
    /// An ACK of its sender had a number beyond it, and came before it.
    pub(in crate::waits) was_told_of: bool,
    /// So many packets of its sender never came by since the data before.
    pub(in crate::waits) missing_before: u32,
    /// It comes with a SYN that a timer sent again: a packet behind that one came before.
    pub(in crate::waits) syn_was_lost: bool,
    /// It was pushed (PSH): its sender had no more to send then.
    pub(in crate::waits) is_pushed: bool,
    /// It is the last of its sender (FIN).
    pub(in crate::waits) has_fin: bool,
    /// Its sender has sent what Nagle's algorithm would have held.
    pub(in crate::waits) nagle_is_off: bool,
    /// ... whatever variant of it.
    pub(in crate::waits) holds_no_short: bool,
    /// How large its sender's buffer is, if the receiver offers as large a window as the sender does.
    pub(in crate::waits) buffer_as_offered: Option<i64>,
    /// Whether the windows that the ends offer are buffers that the units of a scale have rounded up.
    pub(in crate::waits) windows_are_rounded: bool,
    pub(in crate::waits) sharing: Sharing,
}

impl Data {
    /// The offset of its first byte.
    pub(super) fn start(&self) -> i64 {
        self.end.saturating_sub(i64::from(self.bytes))
    }

    pub(super) fn is_full(&self) -> bool {
        self.full_bytes > 0 && self.bytes >= self.full_bytes
    }

    /// Whether it had been sent before, and lost before it was seen, as its host's numbers tell, a SYN or an ACK: nothing
    /// was in flight behind it, so it was a timer that sent it again.
    pub(super) fn was_sent_before(&self) -> bool {
        let is_again = is_timed(self.recovery) || self.syn_was_lost || self.was_told_of;
        is_again && !self.opens_hole
    }

    /// Nagle's algorithm holds neither a full segment nor, once its sender has closed, the last one.
    pub(super) fn is_above_nagle(&self) -> bool {
        self.is_full() || self.has_fin || self.nagle_is_off
    }

    /// How long a pacer has held it at last, near the receiver, if it was not lost before.
    pub(super) fn held_by_pacer_ns(&self, route: Route) -> Option<i64> {
        let is_new = self.recovery.is_none();
        self.sharing
            .paced_ns
            .filter(|_| is_new && !route.is_at_sender)
    }
}

#[cfg(test)]
impl Data {
    /// A full segment of 1,000 bytes, of which nothing special is to be said.
    pub(super) fn plain(at: Moment, end: i64) -> Data {
        Data {
            at,
            end,
            bytes: 1000,
            segments: 1,
            full_bytes: 1000,
            opens_hole: false,
            recovery: None,
            is_told_by_host: false,
            was_told_of: false,
            missing_before: 0,
            syn_was_lost: false,
            is_pushed: false,
            has_fin: false,
            nagle_is_off: false,
            holds_no_short: false,
            buffer_as_offered: None,
            windows_are_rounded: false,
            sharing: Sharing::default(),
        }
    }

    /// ... that goes by after so many milliseconds.
    pub(super) fn at_ms(time_ms: i64, end: i64) -> Data {
        Data::plain(Moment::at_ms(time_ms), end)
    }
}

/// Payload that was sent before, or fills a hole.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Resent {
    pub(in crate::waits) at: Moment,
    pub(in crate::waits) start: i64,
    pub(in crate::waits) end: i64,
    pub(in crate::waits) recovery: Option<RecoveryKind>,
    /// What its sender had heard of its receiver.
    pub(in crate::waits) heard: LastHeard,
    /// Selective ACKs tell its sender what has come (RFC 2018).
    pub(in crate::waits) has_sack: bool,
    /// ACKs of other connections have passed over it, the last of them right before, and it has no FIN.
    pub(in crate::waits) is_for_others: bool,
    /// When its ACK comes behind all that was sent to its receiver on any connection, if the link is known.
    pub(in crate::waits) due_ns: Option<i64>,
}

/// The path of the data, as the observation point has it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::waits) struct Route {
    pub(in crate::waits) to_sender_ns: i64,
    pub(in crate::waits) to_receiver_ns: i64,
    /// The capture was taken at the sender: ACKs tell when data came.
    pub(in crate::waits) is_at_sender: bool,
    /// Picoseconds that a byte takes on the slowest link, as the ACKs of all connections between the two hosts have
    /// told their sender.
    pub(in crate::waits) byte_time: Option<ByteTime>,
    /// When their receiver acknowledges data, as they have told it.
    pub(in crate::waits) receiver: Receiver,
}

#[cfg(test)]
impl Route {
    /// Next to the receiver, so many milliseconds from the sender.
    pub(in crate::waits) const fn at_receiver(to_sender_ms: i64) -> Route {
        Route {
            to_sender_ns: to_sender_ms * 1_000_000,
            to_receiver_ns: 0,
            is_at_sender: false,
            byte_time: None,
            receiver: Receiver::UNHEARD,
        }
    }

    /// Next to the sender, so many milliseconds from the receiver.
    pub(in crate::waits) const fn at_sender(to_receiver_ms: i64) -> Route {
        Route {
            to_receiver_ns: to_receiver_ms * 1_000_000,
            is_at_sender: true,
            ..Route::at_receiver(0)
        }
    }
}

impl Route {
    pub(in crate::waits) fn rtt_ns(self) -> i64 {
        self.to_sender_ns.saturating_add(self.to_receiver_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ack_had_told_of_was_sent_before_unless_something_before_it_is_missing() {
        for (was_told_of, opens_hole, is_again) in [
            (true, false, true),
            (false, false, false),
            (true, true, false),
        ] {
            let data = Data {
                was_told_of,
                opens_hole,
                ..Data::at_ms(100, 1001)
            };
            assert_eq!(data.was_sent_before(), is_again);
        }
    }
}
