//! The path of tests of pauses, and the segments that go by on it.

use super::{Path, SentData};

/// A path near the receiver of so long a way to the sender and back, whose link takes so long for a full segment.
pub(super) fn path(segment_bytes: u32, sender_rtt_ns: i64, takes_ns: i64) -> Path {
    Path {
        segment_bytes,
        sender_rtt_ns: Some(sender_rtt_ns),
        receiver_rtt_ns: Some(0),
        receive_window: 65_535,
        in_loss_recovery: false,
        takes_ns,
        service_ns: 0,
        there_ns: 0,
        queued_ns: 0,
        window_bytes: 0,
        initial_window_bytes: 0,
        sender_permits_sack: false,
        is_let_go_by_other: false,
        may_share_window: false,
        had_room_ns: None,
        heard_until_ns: None,
        made_buffer_room_ns: None,
        lowered_bytes: None,
        written_ns: None,
        is_over_when_sent: false,
    }
}

/// A segment without a FIN of so many bytes from an offset on.
pub(super) fn segment(time_ns: i64, start: u64, bytes: u32) -> SentData {
    SentData {
        frame: 1,
        time_ns,
        start,
        end: start.saturating_add(u64::from(bytes)),
        bytes,
        has_fin: false,
    }
}
