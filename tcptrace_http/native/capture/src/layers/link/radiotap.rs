//! Radiotap: the radio's metadata of an IEEE 802.11 frame (https://www.radiotap.org).

use super::ieee80211::{self, Padding};
use crate::layers::view::View;
use crate::layers::{Next, Stop};

const NAME: &str = "radiotap header";
const MIN_HEADER_BYTES: usize = 8;
/// Bit 31 of a word of present fields: another word follows.
const ANOTHER_WORD: u32 = 1 << 31;
const TIMESTAMP_PRESENT: u32 = 1;
const FLAGS_PRESENT: u32 = 1 << 1;
const TIMESTAMP_BYTES: usize = 8;
/// Flag: the 802.11 header is padded to four bytes.
const PADDED: u8 = 0x20;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, l0, l1, p0, p1, p2, p3] = *view.header::<MIN_HEADER_BYTES>(NAME)?;
    let header_bytes = usize::from(u16::from_le_bytes([l0, l1]));
    let present = u32::from_le_bytes([p0, p1, p2, p3]);
    let padding = match flags(view, present)? {
        Some(flags) if flags & PADDED != 0 => Padding::ToFourBytes,
        Some(_) | None => Padding::None,
    };
    ieee80211::data(view.after(header_bytes, NAME)?, padding)
}

/// Return the flags field. Only the timestamp can precede this field, aligned to its eight bytes.
fn flags(view: View<'_>, present: u32) -> Result<Option<u8>, Stop> {
    if present & FLAGS_PRESENT == 0 {
        return Ok(None);
    }
    let mut offset = MIN_HEADER_BYTES;
    let mut word = present;
    while word & ANOTHER_WORD != 0 {
        word = u32::from_le_bytes(*view.at::<4>(offset, NAME)?);
        offset = offset.saturating_add(4);
    }
    if present & TIMESTAMP_PRESENT != 0 {
        offset = offset
            .next_multiple_of(TIMESTAMP_BYTES)
            .saturating_add(TIMESTAMP_BYTES);
    }
    let [flags] = *view.at::<1>(offset, NAME)?;
    Ok(Some(flags))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp, SNAP_IPV4};
    use trace_model::LinkType;

    fn is_read(radiotap: &[u8], header: &[u8]) -> bool {
        let frame = concat(&[radiotap, header, SNAP_IPV4, &ipv4(6, &tcp())]);
        decode(LinkType(127), &frame).has_whole_request()
    }

    #[test]
    fn test_the_flags_are_found_after_timestamp_and_several_words() {
        let quality_of_service = concat(&[&[0x88, 0x02], &[0; 24], &[0xee, 0xee]]);
        let one_word = [0, 0, 17, 0, 3, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 0x20];
        assert!(is_read(&one_word, &quality_of_service));
        let two_words = [
            0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 0x20,
        ];
        assert!(is_read(&two_words, &quality_of_service));
    }

    #[test]
    fn test_without_flags_the_header_is_not_padded() {
        assert!(is_read(
            &[0, 0, 8, 0, 0, 0, 0, 0],
            &concat(&[&[0x88, 0x02], &[0; 24]])
        ));
    }
}
