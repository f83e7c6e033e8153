//! TCP options (RFC 9293, section 3.1; numbers in the IANA registry of TCP option kinds).

use trace_model::{AnomalyKind, SeqNumber, TcpOptions, Timestamps};

const END_OF_LIST: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;
const EXPERIMENT: u8 = 254;
/// The experiment identifier fast open had before it got a kind of its own (RFC 6994; RFC 7413,
/// appendix B).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];
/// A larger shift must be taken as 14 (RFC 7323, section 2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

/// Whether the whole of the options was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    Cut,
}

/// Reads the options of one header. An option whose length runs over the header ends the list.
#[inline(always)]
pub(super) fn parse(
    bytes: &[u8],
    ending: Ending,
    notice: &mut impl FnMut(AnomalyKind, String),
) -> TcpOptions {
    let mut options = TcpOptions::default();
    // What nearly every segment of a connection with timestamps carries (RFC 7323, appendix A).
    if let [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3] = *bytes {
        options.timestamps = Some(Timestamps {
            value: u32::from_be_bytes([v0, v1, v2, v3]),
            echo_reply: u32::from_be_bytes([e0, e1, e2, e3]),
        });
        return options;
    }
    parse_list(bytes, ending, &mut options, notice);
    options
}

#[inline(never)]
fn parse_list(
    mut bytes: &[u8],
    ending: Ending,
    options: &mut TcpOptions,
    notice: &mut impl FnMut(AnomalyKind, String),
) {
    while let [kind, rest @ ..] = bytes {
        match *kind {
            END_OF_LIST => return,
            NO_OPERATION => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let data = rest.split_first().and_then(|(length, after)| {
            // The length counts the kind and itself.
            let data_bytes = usize::from(length.checked_sub(2)?);
            Some((after.get(..data_bytes)?, after.get(data_bytes..)?))
        });
        let Some((data, after)) = data else {
            if ending == Ending::Complete {
                report_overrun(*kind, rest, notice);
            }
            return;
        };
        read(*kind, data, options, notice);
        bytes = after;
    }
}

fn read(
    kind: u8,
    data: &[u8],
    options: &mut TcpOptions,
    notice: &mut impl FnMut(AnomalyKind, String),
) {
    match (kind, data) {
        (MAXIMUM_SEGMENT_SIZE, &[m0, m1]) => options.mss = Some(u16::from_be_bytes([m0, m1])),
        (WINDOW_SCALE, &[shift]) => {
            if shift > MAX_WINDOW_SHIFT {
                notice(
                    AnomalyKind::MalformedTcpOption,
                    format!("window scale {shift} is read as {MAX_WINDOW_SHIFT}"),
                );
            }
            options.window_scale = Some(shift.min(MAX_WINDOW_SHIFT));
        }
        (SACK_PERMITTED, &[]) => options.sack_permitted = true,
        (SACK, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => read_sack(blocks, options),
        (TIMESTAMPS, &[v0, v1, v2, v3, e0, e1, e2, e3]) => {
            options.timestamps = Some(Timestamps {
                value: u32::from_be_bytes([v0, v1, v2, v3]),
                echo_reply: u32::from_be_bytes([e0, e1, e2, e3]),
            });
        }
        (FAST_OPEN, cookie) => options.fast_open_cookie_bytes = u8::try_from(cookie.len()).ok(),
        (EXPERIMENT, [m0, m1, cookie @ ..]) if [*m0, *m1] == FAST_OPEN_EXPERIMENT => {
            options.fast_open_cookie_bytes = u8::try_from(cookie.len()).ok();
        }
        (MAXIMUM_SEGMENT_SIZE | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, data) => {
            let length = data.len().saturating_add(2);
            notice(
                AnomalyKind::MalformedTcpOption,
                format!("TCP option {kind} has the wrong length {length}"),
            );
        }
        _ => {}
    }
}

/// Left and right edges, four bytes each (RFC 2018, section 3).
fn read_sack(blocks: &[u8], options: &mut TcpOptions) {
    for block in blocks.chunks_exact(8) {
        if let [l0, l1, l2, l3, r0, r1, r2, r3] = *block {
            let left = SeqNumber(u32::from_be_bytes([l0, l1, l2, l3]));
            let right = SeqNumber(u32::from_be_bytes([r0, r1, r2, r3]));
            options.sack.push(left, right);
        }
    }
}

#[cold]
fn report_overrun(kind: u8, rest: &[u8], notice: &mut impl FnMut(AnomalyKind, String)) {
    let left = rest.len().saturating_add(1);
    let detail = match rest.first() {
        Some(length) => {
            format!("TCP option {kind} claims {length} bytes where the header has {left} left")
        }
        None => format!("TCP option {kind} has no length: the header ends"),
    };
    notice(AnomalyKind::MalformedTcpOption, detail);
}
