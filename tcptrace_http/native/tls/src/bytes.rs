//! A view of bytes, read from the front.

/// The unread bytes. Every read returns None if too few bytes remain.
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

    /// Read a vector with an 8-bit length (RFC 8446, section 3.4).
    pub(crate) fn vector8(&mut self) -> Option<Bytes<'a>> {
        let length = self.u8()?;
        self.take(usize::from(length)).map(Bytes)
    }

    /// Read a vector with a 16-bit length.
    pub(crate) fn vector16(&mut self) -> Option<Bytes<'a>> {
        let length = self.u16()?;
        self.take(usize::from(length)).map(Bytes)
    }
}
