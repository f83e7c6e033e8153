//! A position in a frame: the bytes from a header to the end of the enclosing layer.

use super::Stop;

/// Bytes of one layer, with their length on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    /// Length on the wire. This length exceeds `bytes` if the capture cut the frame.
    length: u32,
    /// Offset of `bytes` from the start of the captured bytes.
    offset: u32,
    /// True if `bytes` are reassembled from fragments and have no offset in a frame.
    is_reassembled: bool,
}

impl<'a> View<'a> {
    /// Return the view of a whole frame. A frame has at least its captured length.
    #[inline]
    pub fn of_frame(bytes: &'a [u8], wire_bytes: u32) -> Self {
        let length = wire_bytes.max(saturate(bytes.len()));
        View {
            bytes,
            length,
            offset: 0,
            is_reassembled: false,
        }
    }

    /// Return the view of a reassembled datagram.
    pub fn of_datagram(bytes: &'a [u8]) -> Self {
        View {
            bytes,
            length: saturate(bytes.len()),
            offset: 0,
            is_reassembled: true,
        }
    }

    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Return the number of bytes to the end of the layer on the wire.
    #[inline]
    pub fn length(self) -> u32 {
        self.length
    }

    /// Return true if bytes of the wire are missing in the capture.
    #[inline]
    pub fn is_cut(self) -> bool {
        self.length > saturate(self.bytes.len())
    }

    /// Return the offset from the start of the captured frame, or 0 in a reassembled datagram.
    #[inline]
    pub fn offset(self) -> u32 {
        if self.is_reassembled {
            0
        } else {
            self.offset
        }
    }

    #[inline]
    pub fn first_byte(self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// Return the first `N` bytes, which belong to the header named `header`.
    #[inline]
    pub fn header<const N: usize>(self, header: &'static str) -> Result<&'a [u8; N], Stop> {
        self.bytes.first_chunk().ok_or(Stop::Cut { header })
    }

    /// Return `N` bytes at an offset.
    #[inline]
    pub fn at<const N: usize>(
        self,
        offset: usize,
        header: &'static str,
    ) -> Result<&'a [u8; N], Stop> {
        self.bytes
            .get(offset..)
            .and_then(<[u8]>::first_chunk)
            .ok_or(Stop::Cut { header })
    }

    /// Return the view after the first `count` bytes, which are the header named `header`.
    #[inline]
    pub fn after(self, count: usize, header: &'static str) -> Result<View<'a>, Stop> {
        let bytes = self.bytes.get(count..).ok_or(Stop::Cut { header })?;
        // The captured part is long enough, so `count` fits the length on the wire too.
        let skipped = saturate(count);
        Ok(View {
            bytes,
            length: self.length.saturating_sub(skipped),
            offset: self.offset.saturating_add(skipped),
            is_reassembled: self.is_reassembled,
        })
    }

    /// Return the view of the first `length` bytes. `length` comes from a length field and can exceed the
    /// frame.
    #[inline]
    pub fn until(self, length: u32) -> View<'a> {
        let captured = usize::try_from(length).unwrap_or(usize::MAX);
        View {
            bytes: self.bytes.get(..captured).unwrap_or(self.bytes),
            length,
            ..self
        }
    }
}

/// Convert a length, saturating at 4 GiB. Longer records do not occur, because they are rejected as
/// malformed.
#[inline]
fn saturate(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_frame_keeps_its_wire_length() {
        let view = View::of_frame(&[1, 2, 3, 4], 10).after(3, "test").ok();
        assert_eq!(
            view.map(|view| (view.length(), view.offset(), view.is_cut())),
            Some((7, 3, true))
        );
    }

    #[test]
    fn a_wire_length_below_the_captured_one_is_raised_to_it() {
        assert_eq!(View::of_frame(&[0; 60], 0).length(), 60);
    }

    #[test]
    fn skipping_more_than_was_captured_names_the_header() {
        let skipped = View::of_frame(&[0; 3], 100).after(4, "VLAN tag");
        assert!(matches!(skipped, Err(Stop::Cut { header: "VLAN tag" })));
    }

    #[test]
    fn a_reassembled_datagram_has_no_offset_in_the_frame() {
        let view = View::of_datagram(&[0; 8]).after(4, "test").ok();
        assert_eq!(view.map(View::offset), Some(0));
    }
}
