//! What both ends offer each other: a host has a send buffer as large as the receive buffer that it offers.
//!
//! The BSDs give each connection both alike (4.4BSD: tcp_sendspace and tcp_recvspace; sunos-4.1.3 has one figure for
//! them), until an application asks for more. So a window that is as large as the one that its sender offers itself is
//! filled when that one's buffer is: the buffer takes no more of what is written, and no larger window would help.

/// Buffers are set in whole kilobytes. A window that is no such number is what the header or its stack can tell of a
/// larger one (RFC 7323, section 2.2: 65,535; 32,767 where that is signed), or has been rounded to segments.
const UNIT_BYTES: u32 = 1024;

/// The largest windows that have been offered, and whether the units of scaled ones have made them whole kilobytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offered {
    by_client: u32,
    by_server: u32,
    pub(super) is_rounded: bool,
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

    /// One end's SYN told a window. That is never scaled (RFC 7323, section 2.2), so it is the only one that tells to
    /// the byte what the units of a scale round up: Linux offers 64,240 or 65,495 bytes there, and 64 KB from then on.
    pub(super) fn note_in_syn(&mut self, window: Option<u16>) {
        let tells_all = window.filter(|window| *window < u16::MAX);
        self.is_rounded |= tells_all.is_some_and(|window| !is_whole(u32::from(window)));
    }

    /// How large both ends' buffers are, if they offer each other as much.
    pub(super) fn alike(self) -> Option<i64> {
        let is_alike = self.by_client == self.by_server && is_whole(self.by_client);
        (is_alike && !self.is_rounded).then_some(i64::from(self.by_client))
    }
}

fn is_whole(window: u32) -> bool {
    window.checked_rem(UNIT_BYTES) == Some(0)
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

    #[test]
    fn windows_that_a_scale_has_rounded_tell_of_no_buffer() {
        for (syns, alike) in [
            ([65_495, 65_483], None),
            ([64_240, 65_535], None),
            ([65_535, 65_535], Some(65_536)),
            ([16_384, 65_535], Some(65_536)),
        ] {
            let mut offered = Offered::default();
            for (by_client, syn) in [true, false].into_iter().zip(syns) {
                offered.note_in_syn(Some(syn));
                offered.note(by_client, 65_536);
            }
            offered.note_in_syn(None);
            assert_eq!(offered.alike(), alike);
        }
    }
}
