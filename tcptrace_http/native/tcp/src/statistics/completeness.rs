//! Captured part of a connection, as Wireshark's tcp.completeness counts it.

use trace_model::{flags, Segment};

const SYN: u8 = 1;
const SYN_ACK: u8 = 2;
const ACK: u8 = 4;
const DATA: u8 = 8;
const FIN: u8 = 16;
const RST: u8 = 32;

/// Return the bits that a segment adds.
#[must_use]
pub fn bits(segment: &Segment<'_>) -> u8 {
    let is_syn = segment.has(flags::SYN);
    let mut bits = 0;
    let mut add = |condition: bool, bit: u8| {
        if condition {
            bits |= bit;
        }
    };
    add(is_syn && !segment.has(flags::ACK), SYN);
    add(is_syn && segment.has(flags::ACK), SYN_ACK);
    let is_empty = segment.payload_bytes == 0;
    add(!is_syn && is_empty && segment.has(flags::ACK), ACK);
    add(!is_empty, DATA);
    add(segment.has(flags::FIN), FIN);
    add(segment.has(flags::RST), RST);
    bits
}
