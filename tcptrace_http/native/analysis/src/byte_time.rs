//! What a byte takes on a link, in picoseconds.

pub(crate) const PICOSECONDS: i64 = 1_000;
/// Headers of Ethernet, IP and TCP without options.
pub(crate) const HEADER_BYTES: i64 = 54;
/// ... and of IP and TCP alone, as on a serial line: of a small packet that is a large part.
pub(crate) const SERIAL_HEADER_BYTES: i64 = 40;

/// Picoseconds that a byte takes on a link, and the headers that it carries with each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteTime {
    pub(crate) byte_ps: i64,
    pub(crate) header_bytes: i64,
}

impl ByteTime {
    /// As it is counted where the link's headers are not known.
    pub(crate) const fn with_frames(byte_ps: i64) -> ByteTime {
        ByteTime {
            byte_ps,
            header_bytes: HEADER_BYTES,
        }
    }

    /// Nanoseconds that so many packets take, which carry so many bytes.
    pub(crate) fn takes_ns(self, bytes: i64, packets: i64) -> i64 {
        let headers = packets.saturating_mul(self.header_bytes);
        takes_ns(self.byte_ps, bytes.saturating_add(headers))
    }
}

/// Nanoseconds that so many bytes take.
pub(crate) fn takes_ns(byte_ps: i64, size: i64) -> i64 {
    byte_ps.saturating_mul(size) / PICOSECONDS
}

/// Picoseconds that each of so many bytes took; 0 if there are none.
pub(crate) fn per_byte(elapsed_ns: i64, size: i64) -> i64 {
    if size <= 0 {
        return 0;
    }
    let elapsed_ps = elapsed_ns.max(0).saturating_mul(PICOSECONDS);
    elapsed_ps.checked_div(size).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bytes_took_each_they_take_together() {
        assert_eq!(per_byte(3_000, 1_500), 2_000);
        assert_eq!(takes_ns(2_000, 1_500), 3_000);
        assert_eq!(per_byte(3_000, 0), 0);
        assert_eq!(per_byte(-3_000, 1_500), 0);
    }
}
