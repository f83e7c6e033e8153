//! The largest numbers that a scenario may have, each with its reason.

use std::ops::RangeInclusive;

use crate::stack::Nanoseconds;

/// A year: what is longer would be a mistake of units. Sums of some hundred of them fit.
pub(super) const MAX_TIME_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;
/// Where a simulation stops that has no duration and does not end: browsers that try again, or
/// a sender that probes a window that never opens (RFC 9293, section 3.8.6.1), go on forever.
pub const LAST_TIME: Nanoseconds = MAX_TIME_NS;
/// Time 0, in nanoseconds since the epoch: two years from each end of what the seconds of a
/// pcap file can tell, which are 32 bits.
pub(super) const EPOCHS: RangeInclusive<i64> =
    0..=(u32::MAX as i64 - 2 * 366 * 24 * 3600) * 1_000_000_000;

/// A tebibyte: of an object, of a file, of a buffer. Offsets in streams are sums of them.
pub(super) const MAX_BYTES: u64 = 1 << 40;
/// No counter of segments is larger, so that its product with the segment size fits.
pub(super) const MAX_SEGMENTS: u64 = 1 << 20;
/// A response is in no more writes: they are queued at once.
pub(super) const MAX_WRITES: u64 = 1 << 20;
/// Of a head that is filled up: browsers and servers take no more.
pub(super) const MAX_HEAD_BYTES: u64 = 1 << 16;

/// A ClientHello in one record, with what its extensions take beside the padding.
pub(super) const MAX_HELLO_BYTES: u64 = 1 << 14;
/// A certificate without a signature.
pub(super) const MIN_CHAIN_BYTES: u64 = 129;
/// More than any chain has: browsers refuse it.
pub(super) const MAX_CHAIN_BYTES: u64 = 1 << 20;
/// A handful is in use; they are made at once.
pub(super) const MAX_TICKETS: u64 = 255;
/// A ticket stands in a ClientHello, and that in one record.
pub(super) const MAX_TICKET_BYTES: u64 = 1 << 13;
/// The most data of a record (RFC 8446, section 5.1).
pub(super) const MAX_RECORD_BYTES: u64 = 1 << 14;

/// The largest window of HTTP/2 (RFC 9113, section 6.9.1).
pub(super) const MAX_WINDOW: u64 = (1 << 31) - 1;
/// SETTINGS_MAX_FRAME_SIZE of an end that does not say (RFC 9113, section 6.5.2).
pub(super) const MAX_FRAME_BYTES: u64 = 1 << 14;

/// The largest payload that an IPv4 packet can carry in a segment without options.
pub(super) const MAX_MSS: u32 = 65_495;
/// Linux offers no less (`TCP_MIN_MSS`): with all options there is room for data.
pub(super) const MIN_MSS: u32 = 88;
/// The largest shift of a window (RFC 7323, section 2.3).
pub(super) const MAX_SCALE: u8 = 14;
/// Linux counts them in a byte (`tcp_retries2`).
pub(super) const MAX_RETRIES: u32 = 255;

/// The table of next links is of pairs of nodes.
pub(super) const MAX_NODES: u64 = 1024;
/// A frame that no link of ours has: it would be a mistake of units.
pub(super) const MAX_FRAMING_BYTES: u32 = 1_000;
/// A thousand terabits a second: more would be a mistake of units.
pub(super) const MAX_RATE_BPS: u64 = 1_000_000_000_000_000;
/// At this rate the smallest packet, of 40 bytes, takes a nanosecond; at a higher one none.
pub(super) const MAX_RATE_WITHOUT_DELAY_BPS: u64 = 8 * 40 * 1_000_000_000;
/// The dynamic ports (RFC 6335, section 6): so many connections a client may have at once.
pub(super) const MAX_CONNECTIONS: u64 = 16_384;
