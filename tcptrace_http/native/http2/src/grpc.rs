//! gRPC messages in DATA, each with a prefix of five bytes (gRPC over HTTP/2, Length-Prefixed-Message).

const PREFIX_BYTES: usize = 5;

/// Message counter of one direction of a stream.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    pub(crate) messages: u32,
    prefix: [u8; PREFIX_BYTES],
    filled: usize,
    /// Bytes left of the current message.
    remaining: u64,
    is_lost: bool,
}

impl Prefixes {
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_lost {
            let here = usize::try_from(self.remaining)
                .unwrap_or(usize::MAX)
                .min(rest.len());
            self.remaining = self.remaining.saturating_sub(here as u64);
            rest = rest.get(here..).unwrap_or_default();
            let Some((first, behind)) = rest.split_first() else {
                return;
            };
            if let Some(slot) = self.prefix.get_mut(self.filled) {
                *slot = *first;
            }
            self.filled = self.filled.saturating_add(1);
            rest = behind;
            if self.filled == PREFIX_BYTES {
                let [_, a, b, c, d] = self.prefix;
                self.remaining = u64::from(u32::from_be_bytes([a, b, c, d]));
                self.filled = 0;
                self.messages = self.messages.saturating_add(1);
            }
        }
    }

    /// Stop counting after missing bytes: the start of the next message is unknown.
    pub(crate) fn lose(&mut self) {
        self.is_lost = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_at_any_segmentation() {
        let bytes = [
            &[0, 0, 0, 0, 3][..],
            b"abc",
            &[0; 5],
            &[1, 0, 0, 0, 1],
            b"x",
        ]
        .concat();
        for size in 1..=bytes.len() {
            let mut prefixes = Prefixes::default();
            bytes.chunks(size).for_each(|piece| prefixes.data(piece));
            assert_eq!(prefixes.messages, 3);
        }
    }
}
