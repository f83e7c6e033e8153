//! How much of a connection was seen, as Wireshark's tcp.completeness counts it.

use trace_model::{flags, Segment};

const SYN: u8 = 1;
const SYN_ACK: u8 = 2;
const ACK: u8 = 4;
const DATA: u8 = 8;
const FIN: u8 = 16;
const RST: u8 = 32;

/// The bits that a segment adds. `start` and `ack` are its offsets.
#[must_use]
pub fn bits(segment: &Segment<'_>, start: i64, ack: Option<i64>) -> u8 {
    let is_syn = segment.has(flags::SYN);
    let mut bits = 0;
    let mut add = |condition: bool, bit: u8| {
        if condition {
            bits |= bit;
        }
    };
    add(is_syn && !segment.has(flags::ACK), SYN);
    add(is_syn && segment.has(flags::ACK), SYN_ACK);
    add(!is_syn && start == 1 && ack == Some(1), ACK);
    add(segment.payload_bytes > 0, DATA);
    add(segment.has(flags::FIN), FIN);
    add(segment.has(flags::RST), RST);
    bits
}
