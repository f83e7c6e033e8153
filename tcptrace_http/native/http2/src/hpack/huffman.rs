//! Huffman code of strings (RFC 7541, section 5.2 and appendix B).

/// Codes of one length: consecutive, in the order of their symbols.
struct Length {
    bits: u32,
    /// Last code plus one.
    end: u32,
    count: u32,
    /// Index of the first symbol in [`SYMBOLS`].
    place: u32,
}

const fn codes(bits: u32, first: u32, count: u32, place: u32) -> Length {
    Length {
        bits,
        end: first + count,
        count,
        place,
    }
}

/// Codes by length (RFC 7541, appendix B).
const LENGTHS: [Length; 21] = [
    codes(5, 0x0, 10, 0),
    codes(6, 0x14, 26, 10),
    codes(7, 0x5c, 32, 36),
    codes(8, 0xf8, 6, 68),
    codes(10, 0x3f8, 5, 74),
    codes(11, 0x7fa, 3, 79),
    codes(12, 0xffa, 2, 82),
    codes(13, 0x1ff8, 6, 84),
    codes(14, 0x3ffc, 2, 90),
    codes(15, 0x7ffc, 3, 92),
    codes(19, 0x7fff0, 3, 95),
    codes(20, 0xfffe6, 8, 98),
    codes(21, 0x1fffdc, 13, 106),
    codes(22, 0x3fffd2, 26, 119),
    codes(23, 0x7fffd8, 29, 145),
    codes(24, 0xffffea, 12, 174),
    codes(25, 0x1ffffec, 4, 186),
    codes(26, 0x3ffffe0, 15, 190),
    codes(27, 0x7ffffde, 19, 205),
    codes(28, 0xfffffe2, 29, 224),
    codes(30, 0x3ffffffc, 4, 253),
];

/// Length of the longest code.
const LONGEST_BITS: u32 = 30;

/// Symbols by code length (RFC 7541, appendix B); the missing last symbol is EOS, which no string contains.
#[rustfmt::skip]
const SYMBOLS: [u8; 256] = [
    48, 49, 50, 97, 99, 101, 105, 111, 115, 116, 32, 37, 45, 46, 47, 51,
    52, 53, 54, 55, 56, 57, 61, 65, 95, 98, 100, 102, 103, 104, 108, 109,
    110, 112, 114, 117, 58, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76,
    77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 89, 106, 107, 113, 118,
    119, 120, 121, 122, 38, 42, 44, 59, 88, 90, 33, 34, 40, 41, 63, 39,
    43, 124, 35, 62, 0, 36, 64, 91, 93, 126, 94, 125, 60, 96, 123, 92,
    195, 208, 128, 130, 131, 162, 184, 194, 224, 226, 153, 161, 167, 172, 176, 177,
    179, 209, 216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156, 160,
    163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232,
    233, 1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157,
    158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231, 239, 9, 142,
    144, 145, 148, 159, 171, 206, 215, 225, 236, 237, 199, 207, 234, 235, 192, 193,
    200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255, 203, 204, 211,
    212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254,
    2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20,
    21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127, 220, 249, 10, 13, 22,
];

/// Decode `bytes` and append the text to `text`; return false for an invalid code.
pub(super) fn decode(bytes: &[u8], text: &mut Vec<u8>) -> bool {
    let mut window = 0_u64;
    let mut bits = 0_u32;
    let mut rest = bytes.iter();
    loop {
        while bits < 32 {
            let Some(byte) = rest.next() else { break };
            window = (window << 8) | u64::from(*byte);
            bits = bits.saturating_add(8);
        }
        // The end is padded with ones, the start of EOS.
        let missing = LONGEST_BITS.saturating_sub(bits);
        let shifted = (window << missing) | ((1_u64 << missing).saturating_sub(1));
        let shift = bits.saturating_add(missing).saturating_sub(LONGEST_BITS);
        // At most 30 bits are left.
        let next = ((shifted >> shift) & ((1 << LONGEST_BITS) - 1)) as u32;
        let Some((symbol, length)) = symbol(next) else {
            // Padding is the start of EOS and shorter than a byte (RFC 7541, section 5.2).
            return bits < 8;
        };
        if length > bits {
            let padding = (1_u64 << bits).saturating_sub(1);
            return bits < 8 && window & padding == padding;
        }
        text.push(symbol);
        bits = bits.saturating_sub(length);
        window &= (1_u64 << bits).saturating_sub(1);
    }
}

/// Return the symbol whose code begins these 30 bits, and its length.
fn symbol(next: u32) -> Option<(u8, u32)> {
    for length in &LENGTHS {
        let code = next >> LONGEST_BITS.saturating_sub(length.bits);
        if code < length.end {
            let inside = code.saturating_add(length.count).checked_sub(length.end)?;
            let at = usize::try_from(length.place.saturating_add(inside)).ok()?;
            return SYMBOLS.get(at).map(|symbol| (*symbol, length.bits));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of RFC 7541, appendix C.4.1.
    #[test]
    fn the_rfcs_example_is_decoded() {
        let bytes = [
            0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ];
        let mut text = Vec::new();
        assert!(decode(&bytes, &mut text));
        assert_eq!(text, b"www.example.com");
    }

    #[test]
    fn padding_is_ones_and_shorter_than_a_byte() {
        for (bytes, is_code) in [
            (&[0x1f][..], true),
            (&[0x18], false),
            (&[0x1f, 0xff], false),
            (&[], true),
        ] {
            assert_eq!(decode(bytes, &mut Vec::new()), is_code, "{bytes:?}");
        }
    }
}
