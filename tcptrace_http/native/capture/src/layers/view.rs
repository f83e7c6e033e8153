//! A place in a frame: the bytes from one header on to where the enclosing layer ends.

use super::Stop;

/// Bytes of one layer, with the length they had on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    /// Length on the wire: more than `bytes` where the capture cut the frame.
    length: u32,
    /// Offset of `bytes` from the start of what was captured.
    offset: u32,
    /// Whether `bytes` were put together from fragments, so that no offset in a frame exists.
    is_reassembled: bool,
}

impl<'a> View<'a> {
    /// A whole frame as captured. A frame is at least as long as what was captured of it.
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

    /// A datagram put together from its fragments.
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

    /// Bytes up to the end of the layer on the wire.
    #[inline]
    pub fn length(self) -> u32 {
        self.length
    }

    /// Whether bytes are missing that were on the wire.
    #[inline]
    pub fn is_cut(self) -> bool {
        self.length > saturate(self.bytes.len())
    }

    /// Offset from the start of the captured frame; 0 in a reassembled datagram.
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

    /// The first `N` bytes, which belong to the header called `header`.
    #[inline]
    pub fn header<const N: usize>(self, header: &'static str) -> Result<&'a [u8; N], Stop> {
        self.bytes.first_chunk().ok_or(Stop::Cut { header })
    }

    /// `N` bytes at an offset.
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

    /// What follows the first `count` bytes, which are the header called `header`.
    #[inline]
    pub fn after(self, count: usize, header: &'static str) -> Result<View<'a>, Stop> {
        let bytes = self.bytes.get(count..).ok_or(Stop::Cut { header })?;
        // The captured part was long enough, so `count` fits the length on the wire too.
        let skipped = saturate(count);
        Ok(View {
            bytes,
            length: self.length.saturating_sub(skipped),
            offset: self.offset.saturating_add(skipped),
            is_reassembled: self.is_reassembled,
        })
    }

    /// The first `length` bytes: a length field's word on where the layer ends, which may be
    /// beyond the frame's end.
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

/// Lengths of more than 4 GiB do not occur: records of that size are refused as malformed.
#[inline]
fn saturate(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_frame_keeps_its_length_on_the_wire() {
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
