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
/// The experiment identifier of fast open before its own option kind (RFC 6994; RFC 7413, appendix B).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];
/// A larger shift counts as 14 (RFC 7323, section 2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

/// The completeness of the captured options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    Cut,
}

/// Parse the options of one header. An option that exceeds the header ends the list.
#[inline(always)]
pub(super) fn parse(
    bytes: &[u8],
    ending: Ending,
    notice: &mut impl FnMut(AnomalyKind, String),
) -> TcpOptions {
    let mut options = TcpOptions::default();
    // Nearly every segment of a connection with timestamps carries this layout (RFC 7323, appendix A).
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
            // The length counts the kind byte and the length byte too.
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
                    format!("window scale {shift} counts as {MAX_WINDOW_SHIFT}"),
                );
            }
            options.window_scale = Some(shift);
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

/// Read left and right edges, four bytes each (RFC 2018, section 3).
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
            format!("TCP option {kind} declares {length} bytes, but the header has {left} left")
        }
        None => format!("TCP option {kind} has no length: the header ends"),
    };
    notice(AnomalyKind::MalformedTcpOption, detail);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_options(bytes: &[u8]) -> (TcpOptions, Vec<String>) {
        let mut told = Vec::new();
        let options = parse(bytes, Ending::Complete, &mut |kind, detail| {
            assert_eq!(kind, AnomalyKind::MalformedTcpOption);
            told.push(detail);
        });
        (options, told)
    }

    #[test]
    fn test_options_of_a_linux_syn_are_read() {
        let (options, told) = read_options(&[
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7,
        ]);
        assert_eq!(
            (options.mss, options.window_scale, options.sack_permitted),
            (Some(1460), Some(7), true)
        );
        assert_eq!(
            options.timestamps,
            Some(Timestamps {
                value: 7,
                echo_reply: 0
            })
        );
        assert!(told.is_empty());
    }

    #[test]
    fn test_timestamps_are_the_same_with_and_without_their_usual_padding() {
        let (usual, _) = read_options(&[1, 1, 8, 10, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 9]);
        let (bare, _) = read_options(&[8, 10, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 9, 0, 0]);
        assert_eq!(
            usual.timestamps,
            Some(Timestamps {
                value: u32::MAX - 1,
                echo_reply: 9
            })
        );
        assert_eq!(usual, bare);
    }

    #[test]
    fn test_sack_blocks_are_kept_in_their_order_across_the_wrap() {
        let (options, _) = read_options(&[
            1, 1, 5, 18, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 12,
        ]);
        let blocks = [
            (SeqNumber(0xffff_fff0), SeqNumber(5)),
            (SeqNumber(9), SeqNumber(12)),
        ];
        assert_eq!(options.sack.as_slice(), blocks);
    }

    #[test]
    fn test_fast_open_is_read_under_its_own_kind_and_as_an_experiment() {
        assert_eq!(
            read_options(&[34, 2, 1, 1]).0.fast_open_cookie_bytes,
            Some(0)
        );
        assert_eq!(
            read_options(&[34, 6, 9, 9, 9, 9]).0.fast_open_cookie_bytes,
            Some(4)
        );
        assert_eq!(
            read_options(&[254, 8, 0xf9, 0x89, 1, 2, 3, 4])
                .0
                .fast_open_cookie_bytes,
            Some(4)
        );
        assert_eq!(
            read_options(&[254, 4, 0xe2, 0xd4]).0.fast_open_cookie_bytes,
            None
        );
    }

    #[test]
    fn test_unknown_options_are_skipped() {
        let (options, told) = read_options(&[30, 4, 0, 0, 2, 4, 0, 100]);
        assert_eq!((options.mss, told.len()), (Some(100), 0));
    }

    #[test]
    fn test_no_option_is_read_after_the_end_of_the_list() {
        assert_eq!(read_options(&[0, 2, 4, 5]).0, TcpOptions::default());
    }

    #[test]
    fn test_a_length_beyond_the_header_ends_the_list_and_is_reported() {
        let (options, told) = read_options(&[4, 2, 2, 9]);
        assert!(options.sack_permitted);
        assert_eq!(
            told,
            ["TCP option 2 declares 9 bytes, but the header has 2 left"]
        );
    }

    #[test]
    fn test_lengths_of_0_and_1_end_the_list_and_are_reported() {
        assert_eq!(read_options(&[3, 0, 0, 0]).1.len(), 1);
        assert_eq!(read_options(&[3, 1, 0, 0]).1.len(), 1);
        assert_eq!(read_options(&[1, 1, 1, 3]).1.len(), 1);
    }

    #[test]
    fn test_a_wrong_length_of_a_known_option_is_reported_and_the_next_option_read() {
        let (options, told) = read_options(&[2, 3, 5, 3, 3, 9, 5, 6, 0, 0, 0, 1]);
        assert_eq!((options.mss, options.window_scale), (None, Some(9)));
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn test_a_window_scale_above_14_is_reported_and_kept_as_sent() {
        let (options, told) = read_options(&[3, 3, 200, 0]);
        assert_eq!((options.window_scale, told.len()), (Some(200), 1));
    }

    #[test]
    fn test_a_cut_list_is_not_malformed() {
        let mut told = 0;
        let options = parse(&[4, 2, 8, 10, 0], Ending::Cut, &mut |_, _| told += 1);
        assert!(options.sack_permitted && options.timestamps.is_none());
        assert_eq!(told, 0);
    }
}
