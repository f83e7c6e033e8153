//! Integers and strings (RFC 7541, section 5).

use super::{huffman, Malformed, DECODED_BYTES_MAX};

/// Maximum number of integer bytes behind the prefix: five hold 32 bits, and leading zeros are allowed.
const INTEGER_BYTES_MAX: usize = 8;

/// Header block during decoding.
pub(super) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Input { rest }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.rest.split_first().ok_or(Malformed("is cut short"))?;
        self.rest = rest;
        Ok(*first)
    }

    /// Read an integer with a prefix of `prefix_bits` bits (RFC 7541, section 5.1).
    pub(super) fn integer(&mut self, prefix_bits: u32) -> Result<u64, Malformed> {
        let full = (1_u64 << prefix_bits).saturating_sub(1);
        let prefix = u64::from(self.byte()?) & full;
        if prefix < full {
            return Ok(prefix);
        }
        let mut value = full;
        let mut shift = 0_u32;
        for _ in 0..INTEGER_BYTES_MAX {
            let byte = self.byte()?;
            let more = u64::from(byte & 0x7f)
                .checked_shl(shift)
                .unwrap_or(u64::MAX);
            value = value.saturating_add(more);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift = shift.saturating_add(7);
        }
        Err(Malformed("has an integer that is too long"))
    }

    /// Read a string into `text`, replacing its content (RFC 7541, section 5.2).
    pub(super) fn string(&mut self, text: &mut Vec<u8>) -> Result<(), Malformed> {
        text.clear();
        let is_huffman = self.peek().is_some_and(|byte| byte & 0x80 != 0);
        let length = usize::try_from(self.integer(7)?).unwrap_or(usize::MAX);
        let bytes = self.rest.get(..length).ok_or(Malformed("is cut short"))?;
        self.rest = self.rest.get(length..).unwrap_or_default();
        if !is_huffman {
            text.extend_from_slice(bytes);
        } else if !huffman::decode(bytes, text) {
            return Err(Malformed("has a string with an invalid Huffman code"));
        }
        if text.len() > DECODED_BYTES_MAX {
            return Err(Malformed("has more than 256 KiB of fields"));
        }
        Ok(())
    }
}
