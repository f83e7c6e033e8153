//! What both ends offer each other: a host has a send buffer as large as the receive buffer that it offers.
//!
//! The BSDs give each connection both alike (4.4BSD: tcp_sendspace and tcp_recvspace; sunos-4.1.3 has one figure for
//! them), until an application asks for more. So a window that is as large as the one that its sender offers itself is
//! filled when that one's buffer is: the buffer takes no more of what is written, and no larger window would help.

/// Buffers are set in whole kilobytes. A window that is no such number is what the header or its stack can tell of a
/// larger one (RFC 7323, section 2.2: 65,535; 32,767 where that is signed), or has been rounded to segments.
const UNIT_BYTES: u32 = 1024;

/// The largest windows that have been offered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offered {
    by_client: u32,
    by_server: u32,
}

impl Offered {
    /// One end offers a window.
    pub(super) fn note(&mut self, by_client: bool, window: u32) {
        let largest = match by_client {
            true => &mut self.by_client,
            false => &mut self.by_server,
        };
        *largest = window.max(*largest);
    }

    /// How large both ends' buffers are, if they offer each other as much.
    pub(super) fn alike(self) -> Option<i64> {
        let is_whole = self.by_client.checked_rem(UNIT_BYTES) == Some(0);
        let is_alike = self.by_client == self.by_server && is_whole;
        is_alike.then_some(i64::from(self.by_client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_alike_whose_windows_are_if_those_are_whole_kilobytes() {
        for (windows, alike) in [
            ([16_384, 16_384], Some(16_384)),
            ([98_304, 98_304], Some(98_304)),
            ([16_384, 8_192], None),
            ([65_535, 65_535], None),
            ([32_767, 32_767], None),
        ] {
            let mut offered = Offered::default();
            for (by_client, window) in [true, false].into_iter().zip(windows) {
                offered.note(by_client, window);
                offered.note(by_client, window - 1000);
            }
            assert_eq!(offered.alike(), alike);
        }
    }
}
