//! Options at the end of a block (draft-ietf-opsawg-pcapng, section 3.5).

use crate::bytes::ByteOrder;

const END_OF_OPTIONS: u16 = 0;
/// Code and length.
const HEADER_BYTES: usize = 4;
const ALIGNMENT: usize = 4;

/// The options of a block that end inside it.
pub(super) struct Options<'a> {
    byte_order: ByteOrder,
    rest: &'a [u8],
    /// True if an option extends past the end of its block.
    pub(super) is_overrun: bool,
}

impl<'a> Options<'a> {
    pub(super) fn new(byte_order: ByteOrder, bytes: &'a [u8]) -> Self {
        Options {
            byte_order,
            rest: bytes,
            is_overrun: false,
        }
    }
}

impl<'a> Iterator for Options<'a> {
    /// Code and value.
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let code = self.byte_order.u16(self.rest, 0)?;
        let length = usize::from(self.byte_order.u16(self.rest, 2)?);
        let body = self.rest.get(HEADER_BYTES..)?;
        if code == END_OF_OPTIONS {
            self.rest = &[];
            return None;
        }
        let Some(value) = body.get(..length) else {
            self.is_overrun = true;
            self.rest = &[];
            return None;
        };
        // Files of some writers omit the padding of the last option.
        self.rest = body
            .get(length.next_multiple_of(ALIGNMENT)..)
            .unwrap_or(&[]);
        Some((code, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<(u16, Vec<u8>)>, bool) {
        let mut options = Options::new(ByteOrder::Big, bytes);
        let mut found = Vec::new();
        for (code, value) in options.by_ref() {
            found.push((code, value.to_vec()));
        }
        (found, options.is_overrun)
    }

    #[test]
    fn test_options_are_padded_to_four_bytes_and_end_at_code_0() {
        let bytes = [
            0, 9, 0, 1, 6, 0, 0, 0, 0, 2, 0, 2, b'e', b'n', 0, 0, 0, 0, 0, 0, 0, 7, 0, 0,
        ];
        assert_eq!(
            read(&bytes),
            (vec![(9, vec![6]), (2, b"en".to_vec())], false)
        );
    }

    #[test]
    fn test_an_option_beyond_the_block_is_dropped_and_reported() {
        assert_eq!(
            read(&[0, 9, 0, 1, 6, 0, 0, 0, 0, 2, 0xff, 0xff, 1]),
            (vec![(9, vec![6])], true)
        );
    }

    #[test]
    fn test_missing_padding_and_end_are_tolerated() {
        assert_eq!(read(&[0, 9, 0, 1, 6]), (vec![(9, vec![6])], false));
        assert_eq!(read(&[]), (vec![], false));
        assert_eq!(read(&[0, 9, 0]), (vec![], false));
    }
}
