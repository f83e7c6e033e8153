//! Bodies: bytes that look like what they are said to be, any stretch of which can be made alone.

use std::ops::Range;

use crate::app::BodyKind;

/// A line of HTML; its digits are told from the object and the line's number.
const LINE: &[u8; 64] = b"<p>A line of the page, with its own number:0000000000000000</p>\n";
/// Where the digits begin and end.
const DIGITS: Range<usize> = 43..59;
/// The signature and version, and a logical screen of 16 by 16 without a colour table (GIF89a
/// specification, sections 17 and 18).
const GIF_START: &[u8] = b"GIF89a\x10\x00\x10\x00\x00\x00\x00";

/// Adds a stretch of an object's body to `out`.
pub fn write(kind: BodyKind, object: u64, stretch: Range<u64>, out: &mut Vec<u8>) {
    match kind {
        BodyKind::Html => blocks(&stretch, 64, out, |number, out| {
            out.extend_from_slice(&line(object, number));
        }),
        BodyKind::Binary => random_bytes(object, &stretch, out),
        BodyKind::Image => {
            let before = out.len();
            random_bytes(object, &stretch, out);
            let begin = GIF_START.get(stretch.start as usize..).unwrap_or(&[]);
            let made = out.iter_mut().skip(before);
            for (to, from) in made.zip(begin) {
                *to = *from;
            }
        }
    }
}

fn random_bytes(object: u64, stretch: &Range<u64>, out: &mut Vec<u8>) {
    blocks(stretch, 8, out, |number, out| {
        out.extend_from_slice(&mixed(object, number).to_le_bytes());
    });
}

/// Makes the blocks that a stretch touches, and cuts them at its ends.
fn blocks(
    stretch: &Range<u64>,
    size: u64,
    out: &mut Vec<u8>,
    mut block: impl FnMut(u64, &mut Vec<u8>),
) {
    let before = out.len();
    for number in stretch.start / size..stretch.end.div_ceil(size) {
        block(number, out);
    }
    let bytes = (stretch.end - stretch.start) as usize;
    let skipped = (stretch.start % size) as usize;
    out.drain(before..before + skipped);
    out.truncate(before + bytes);
}

fn line(object: u64, number: u64) -> [u8; 64] {
    let mut line = *LINE;
    let mut word = mixed(object, number);
    for digit in line.iter_mut().take(DIGITS.end).skip(DIGITS.start) {
        *digit = b"0123456789abcdef"
            .get((word & 15) as usize)
            .copied()
            .unwrap_or(b'0');
        word >>= 4;
    }
    line
}

/// The output function of splitmix64 (Steele, Lea and Flood 2014).
fn mixed(object: u64, number: u64) -> u64 {
    let mut word = object
        .wrapping_add(number)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(object.rotate_left(32));
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kind: BodyKind, stretch: Range<u64>) -> Vec<u8> {
        let mut out = b"before".to_vec();
        write(kind, 5, stretch, &mut out);
        out.split_off(6)
    }

    #[test]
    fn a_stretch_is_the_same_whether_made_alone_or_with_others() {
        for kind in [BodyKind::Html, BodyKind::Image, BodyKind::Binary] {
            let whole = made(kind, 0..1000);
            assert_eq!(whole.len(), 1000);
            for (from, to) in [(0, 1), (3, 20), (63, 65), (500, 500), (999, 1000)] {
                assert_eq!(made(kind, from..to), whole[from as usize..to as usize]);
            }
        }
    }

    #[test]
    fn bodies_look_like_what_they_are() {
        assert!(made(BodyKind::Image, 0..100).starts_with(b"GIF89a"));
        let html = made(BodyKind::Html, 0..128);
        assert!(html.is_ascii() && html.starts_with(b"<p>") && html.ends_with(b"</p>\n"));
    }
}
