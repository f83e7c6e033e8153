//! What a byte takes on a link, in picoseconds.

pub(crate) const PICOSECONDS: i64 = 1_000;
/// Headers of Ethernet, IP and TCP without options.
pub(crate) const HEADER_BYTES: i64 = 54;
/// ... and of IP and TCP alone, as on a serial line: of a small packet that is a large part.
pub(crate) const SERIAL_HEADER_BYTES: i64 = 40;

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
