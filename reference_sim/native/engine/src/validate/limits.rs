//! Limits of a scenario's numbers, each with its reason.

use std::ops::RangeInclusive;

use crate::stack::Nanoseconds;

/// One year. A longer time would be a mistake of units. The sum of several hundred such times fits.
pub(super) const MAX_TIME_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;
/// End of a simulation without a duration that does not end by itself. Browsers that retry, and senders that
/// probe a window that never opens (RFC 9293, section 3.8.6.1), continue forever.
pub const LAST_TIME: Nanoseconds = MAX_TIME_NS;
/// Range of time 0, in nanoseconds since the epoch: two years inside the range of a pcap file's 32-bit
/// seconds.
pub(super) const EPOCHS: RangeInclusive<i64> =
    0..=(u32::MAX as i64 - 2 * 366 * 24 * 3600) * 1_000_000_000;

/// One tebibyte: maximum of an object, a file and a buffer. Stream offsets are sums of them.
pub(super) const MAX_BYTES: u64 = 1 << 40;
/// Maximum of segment counters, so that the product with the segment size fits.
pub(super) const MAX_SEGMENTS: u64 = 1 << 20;
/// Maximum number of writes per response, because they are queued together.
pub(super) const MAX_WRITES: u64 = 1 << 20;
/// Maximum padded head, equal to the limit of browsers and servers.
pub(super) const MAX_HEAD_BYTES: u64 = 1 << 16;

/// Maximum padded ClientHello: one record, with room for the other extensions.
pub(super) const MAX_HELLO_BYTES: u64 = 1 << 14;
/// Length of a certificate without a signature.
pub(super) const MIN_CHAIN_BYTES: u64 = 129;
/// Longer than any real chain. Browsers refuse longer ones.
pub(super) const MAX_CHAIN_BYTES: u64 = 1 << 20;
/// A handful is in use. All tickets are created together.
pub(super) const MAX_TICKETS: u64 = 255;
/// Maximum length of a ticket, which must fit into a ClientHello of one record.
pub(super) const MAX_TICKET_BYTES: u64 = 1 << 13;
/// Maximum data of a record (RFC 8446, section 5.1).
pub(super) const MAX_RECORD_BYTES: u64 = 1 << 14;

/// Maximum HTTP/2 window (RFC 9113, section 6.9.1).
pub(super) const MAX_WINDOW: u64 = (1 << 31) - 1;
/// Default of SETTINGS_MAX_FRAME_SIZE (RFC 9113, section 6.5.2).
pub(super) const MAX_FRAME_BYTES: u64 = 1 << 14;

/// Maximum payload of an IPv4 packet with a segment without options.
pub(super) const MAX_MSS: u32 = 65_495;
/// Minimum that Linux offers (`TCP_MIN_MSS`). With all options there is room for data.
pub(super) const MIN_MSS: u32 = 88;
/// Maximum window scale shift (RFC 7323, section 2.3).
pub(super) const MAX_SCALE: u8 = 14;
/// Maximum of Linux's one-byte counter (`tcp_retries2`).
pub(super) const MAX_RETRIES: u32 = 255;

/// Maximum number of nodes. The table of next links has one entry per pair of nodes.
pub(super) const MAX_NODES: u64 = 1024;
/// No real link has longer framing. A larger value would be a mistake of units.
pub(super) const MAX_FRAMING_BYTES: u32 = 1_000;
/// A thousand terabits per second. A higher rate would be a mistake of units.
pub(super) const MAX_RATE_BPS: u64 = 1_000_000_000_000_000;
/// At this rate, the smallest packet of 40 bytes takes one nanosecond. At a higher rate it takes none.
pub(super) const MAX_RATE_WITHOUT_DELAY_BPS: u64 = 8 * 40 * 1_000_000_000;
/// Number of dynamic ports (RFC 6335, section 6), the maximum of a client's concurrent connections.
pub(super) const MAX_CONNECTIONS: u64 = 16_384;
