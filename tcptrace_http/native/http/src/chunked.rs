//! The chunked transfer coding (RFC 9112, section 7.1). The data is counted and not kept.

/// Maximum length of a chunk-size line with its extensions. RFC 9112, section 7.1.1, requires a limit without
/// a value. 16 KiB exceeds the maximum head of common servers.
const SIZE_LINE_MAX: u32 = 16 * 1024;

/// Maximum length of the trailer section, equal to the maximum of a head.
const TRAILERS_MAX: u32 = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Inside the digits of a chunk size.
    Size {
        value: u64,
        digits: u8,
    },
    /// After the digits, in whitespace or extensions.
    Extension {
        value: u64,
    },
    /// After the carriage return of a size line.
    SizeLineFeed {
        value: u64,
    },
    Data {
        remaining: u64,
    },
    /// The line end after a chunk's data.
    DataEnd,
    DataLineFeed,
    Trailers {
        line_is_empty: bool,
    },
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Done,
    Malformed(&'static str),
}

/// A parser that follows a chunked body through its framing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkedBody {
    state: State,
    /// Length so far of the size line or of the trailers, checked against the limits.
    line_bytes: u32,
    /// Chunk data so far: the body without its framing.
    pub(super) data_bytes: u64,
}

impl ChunkedBody {
    pub(super) fn new() -> Self {
        ChunkedBody {
            state: State::Size {
                value: 0,
                digits: 0,
            },
            line_bytes: 0,
            data_bytes: 0,
        }
    }

    /// Consume the bytes of the body and return their number. `data` is called with the body without its
    /// framing.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> (usize, Progress) {
        let mut rest = bytes;
        while self.state != State::Done {
            if let State::Data { remaining } = self.state {
                let here = remaining.min(rest.len() as u64);
                self.take_data(remaining, here);
                // `here` is at most a slice's length.
                data(rest.get(..here as usize).unwrap_or(&[]));
                rest = rest.get(here as usize..).unwrap_or(&[]);
                if here < remaining {
                    return (bytes.len(), Progress::More);
                }
                continue;
            }
            let Some((byte, after)) = rest.split_first() else {
                return (bytes.len(), Progress::More);
            };
            if let Err(what) = self.framing_byte(*byte) {
                return (bytes.len() - rest.len(), Progress::Malformed(what));
            }
            rest = after;
        }
        (bytes.len() - rest.len(), Progress::Done)
    }

    /// Skip `length` missing bytes if the framing shows that all of them are chunk data.
    pub(super) fn skip(&mut self, length: u64) -> bool {
        match self.state {
            State::Data { remaining } if length <= remaining => {
                self.take_data(remaining, length);
                true
            }
            _ => false,
        }
    }

    fn take_data(&mut self, remaining: u64, here: u64) {
        self.data_bytes = self.data_bytes.saturating_add(here);
        self.state = match remaining.saturating_sub(here) {
            0 => State::DataEnd,
            remaining => State::Data { remaining },
        };
    }

    fn framing_byte(&mut self, byte: u8) -> Result<(), &'static str> {
        self.line_bytes = self.line_bytes.saturating_add(1);
        let limit = match self.state {
            State::Trailers { .. } => TRAILERS_MAX,
            _ => SIZE_LINE_MAX,
        };
        if self.line_bytes > limit {
            return Err("a chunk's size line or the trailers are too long");
        }
        self.state = match (self.state, byte) {
            (State::Size { value, digits }, byte) => size_byte(value, digits, byte)?,
            (State::Extension { value } | State::SizeLineFeed { value }, b'\n') => {
                after_size(value)
            }
            (State::Extension { value }, _) => State::Extension { value },
            (State::SizeLineFeed { .. }, _) => {
                return Err("a chunk size is not followed by a line end")
            }
            (State::DataEnd, b'\r') => State::DataLineFeed,
            (State::DataEnd | State::DataLineFeed, b'\n') => State::Size {
                value: 0,
                digits: 0,
            },
            (State::DataEnd | State::DataLineFeed, _) => {
                return Err("a chunk's data is not followed by a line end");
            }
            (
                State::Trailers {
                    line_is_empty: true,
                },
                b'\n',
            ) => State::Done,
            (State::Trailers { .. }, b'\n') => State::Trailers {
                line_is_empty: true,
            },
            (State::Trailers { line_is_empty }, b'\r') => State::Trailers { line_is_empty },
            (State::Trailers { .. }, _) => State::Trailers {
                line_is_empty: false,
            },
            (state @ (State::Data { .. } | State::Done), _) => state,
        };
        if byte == b'\n' && !matches!(self.state, State::Trailers { .. }) {
            self.line_bytes = 0;
        }
        Ok(())
    }
}

fn size_byte(value: u64, digits: u8, byte: u8) -> Result<State, &'static str> {
    // A hexadecimal digit is at most 15.
    if let Some(digit) = char::from(byte).to_digit(16) {
        let value = value
            .checked_mul(16)
            .and_then(|value| value.checked_add(u64::from(digit)))
            .ok_or("a chunk size does not fit 64 bits")?;
        return Ok(State::Size {
            value,
            digits: digits.saturating_add(1),
        });
    }
    match byte {
        _ if digits == 0 => Err("a chunk does not begin with its size"),
        b'\r' => Ok(State::SizeLineFeed { value }),
        b'\n' => Ok(after_size(value)),
        b';' | b' ' | b'\t' => Ok(State::Extension { value }),
        _ => Err("a chunk size is followed by neither a line end nor an extension"),
    }
}

fn after_size(value: u64) -> State {
    match value {
        0 => State::Trailers {
            line_is_empty: true,
        },
        remaining => State::Data { remaining },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (usize, Progress, u64) {
        let mut body = ChunkedBody::new();
        let (used, progress) = body.advance(bytes, |_| {});
        (used, progress, body.data_bytes)
    }

    #[test]
    fn test_extensions_and_trailers_are_framing() {
        // RFC 9112, sections 7.1.1 and 7.1.2.
        let body = b"5;a=b;c=\"d e\"\r\nhello\r\n1 ; x\r\n!\r\n0\r\nExpires: never\r\nA: b\r\n\r\nHTTP/1.1";
        let (used, progress, data) = read(body);
        assert_eq!((progress, data), (Progress::Done, 6));
        assert_eq!(body.get(used..), Some(b"HTTP/1.1".as_slice()));
    }

    #[test]
    fn test_byte_by_byte_is_the_same_as_whole() {
        let bytes = b"A\r\n0123456789\r\n00b;x\n0123456789a\n0\r\nT: v\r\n\r\n";
        let mut body = ChunkedBody::new();
        let mut last = Progress::More;
        for byte in bytes {
            assert_eq!(last, Progress::More);
            last = body.advance(&[*byte], |_| {}).1;
        }
        assert_eq!((last, body.data_bytes), (Progress::Done, 21));
        assert_eq!(read(bytes), (bytes.len(), Progress::Done, 21));
    }

    #[test]
    fn test_a_size_over_64_bits_is_malformed() {
        // RFC 9112, section 7.1: recipients must prevent overflow.
        assert!(matches!(
            read(b"1FFFFFFFFFFFFFFFF\r\n").1,
            Progress::Malformed(_)
        ));
        assert_eq!(read(b"FFFFFFFFFFFFFFFF\r\nxyz"), (21, Progress::More, 3));
        assert_eq!(
            read(b"0000000000000000000000001\r\nx\r\n0\r\n\r\n").1,
            Progress::Done
        );
    }

    #[test]
    fn test_invalid_chunks_are_malformed() {
        for bytes in [
            "\r\n",
            "g\r\n",
            "-1\r\n",
            "5\rhello",
            "5x\r\n",
            "1\r\nab",
            "1\r\na\rb",
        ] {
            assert!(
                matches!(read(bytes.as_bytes()).1, Progress::Malformed(_)),
                "{bytes}"
            );
        }
    }

    #[test]
    fn test_endless_lines_are_abandoned() {
        let mut line = b"5;".to_vec();
        line.resize(SIZE_LINE_MAX as usize + 2, b'x');
        assert!(matches!(read(&line).1, Progress::Malformed(_)));
        let mut trailers = b"0\r\n".to_vec();
        for _ in 0..TRAILERS_MAX {
            trailers.extend_from_slice(b"a\n");
        }
        assert!(matches!(read(&trailers).1, Progress::Malformed(_)));
    }

    #[test]
    fn test_only_chunk_data_can_be_skipped() {
        let mut body = ChunkedBody::new();
        assert!(!body.skip(1));
        let _ = body.advance(b"8\r\nab", |_| {});
        assert!(!body.skip(7));
        assert!(body.skip(6));
        assert_eq!(body.data_bytes, 8);
        assert_eq!(body.advance(b"\r\n0\r\n\r\n", |_| {}).1, Progress::Done);
    }
}
