//! A view of bytes that is read from its front.

/// What is left to read. Every reading is None where the bytes do not suffice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// A vector with a length of 8 bits (RFC 8446, section 3.4).
    pub(crate) fn vector8(&mut self) -> Option<Bytes<'a>> {
        let length = self.u8()?;
        self.take(usize::from(length)).map(Bytes)
    }

    /// A vector with a length of 16 bits.
    pub(crate) fn vector16(&mut self) -> Option<Bytes<'a>> {
        let length = self.u16()?;
        self.take(usize::from(length)).map(Bytes)
    }
}
