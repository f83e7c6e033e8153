//! Frame reader of one direction.

use trace_model::Mark;

use crate::frame::{flags, is_followed, starts_like, Header, Kind, FRAME_BYTES, HEADER_BYTES};

/// Client preface (RFC 9113, section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Maximum length of a control frame's payload that is read: SETTINGS is short, and GOAWAY may carry text.
const CONTROL_BYTES_MAX: usize = 4096;
/// Maximum length of a collected header block, as for an HTTP/1 header section.
const BLOCK_BYTES_MAX: usize = 256 * 1024;
/// Number of segments without a frame after which a direction is abandoned.
const SEARCH_SEGMENTS_MAX: u32 = 1024;

/// Frame that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameStart {
    pub(crate) header: Header,
    /// Offset of its first byte, and the packet with that byte.
    pub(crate) start: u64,
    pub(crate) first: Mark,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Number of preface bytes read.
    Preface(usize),
    Header,
    Payload {
        begun: FrameStart,
        remaining: u64,
        /// Padding bytes at the end; `None` until the padding length is read.
        padding: Option<u64>,
    },
    Searching {
        segments: u32,
    },
    Over,
}

/// Event in the bytes of a direction.
pub(crate) enum Event<'a> {
    More,
    /// First byte of the preface.
    Preface,
    Begun(FrameStart),
    /// Data of a DATA frame.
    Data(FrameStart, &'a [u8]),
    Finished(FrameStart),
    /// Bytes that are no frame where a frame should begin.
    NoFrame(&'static str),
}

/// Missing bytes of a direction.
pub(crate) enum SkippedBytes {
    /// The bytes lie within a DATA frame.
    Data(FrameStart, u64),
    Finished(FrameStart),
    /// The content of the bytes is unknown.
    Lost(u64),
}

#[derive(Debug)]
pub(crate) struct Reader {
    /// Offset of the next byte.
    pub(crate) next: u64,
    state: State,
    /// Frame header so far, and its start.
    head: Vec<u8>,
    head_start: (u64, Mark),
    /// Payload of the current frame, or the header block so far.
    pub(crate) payload: Vec<u8>,
    /// True if a payload exceeded the limit.
    pub(crate) is_cut: bool,
    pub(crate) frame_bytes_max: u32,
}

impl Reader {
    pub(crate) fn new(next: u64, has_preface: bool) -> Self {
        Reader {
            next,
            state: if has_preface {
                State::Preface(0)
            } else {
                State::Header
            },
            head: Vec::new(),
            head_start: (next, Mark::default()),
            payload: Vec::new(),
            is_cut: false,
            frame_bytes_max: FRAME_BYTES,
        }
    }

    pub(crate) fn is_searching(&self) -> bool {
        matches!(self.state, State::Searching { .. })
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    pub(crate) fn end(&mut self) {
        self.state = State::Over;
        self.forget();
    }

    /// Drop the current frame and search for the next frame.
    pub(crate) fn search(&mut self) {
        self.state = State::Searching { segments: 0 };
        self.forget();
    }

    fn forget(&mut self) {
        self.head = Vec::new();
        self.payload = Vec::new();
        self.is_cut = false;
    }

    /// Clear the payload or header block for the next collection.
    pub(crate) fn clear_payload(&mut self) {
        self.payload.clear();
        self.payload.shrink_to(CONTROL_BYTES_MAX);
        self.is_cut = false;
    }

    /// Return whether a part of a frame or header block is kept.
    pub(crate) fn has_payload(&self) -> bool {
        !self.payload.is_empty()
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        let bytes = self.head.capacity().saturating_add(self.payload.capacity());
        bytes as u64
    }

    /// Read bytes up to the next event; return the number of bytes and the event.
    pub(crate) fn advance<'a>(&mut self, bytes: &'a [u8], mark: Mark) -> (usize, Event<'a>) {
        let (used, event) = match self.state {
            State::Preface(seen) => self.preface(seen, bytes),
            State::Header => self.header(bytes, mark),
            State::Payload {
                begun,
                remaining,
                padding,
            } => self.in_payload((begun, remaining, padding), bytes),
            State::Searching { .. } | State::Over => (bytes.len(), Event::More),
        };
        self.next = self.next.saturating_add(used as u64);
        (used, event)
    }

    fn preface<'a>(&mut self, seen: usize, bytes: &'a [u8]) -> (usize, Event<'a>) {
        let expected = PREFACE.get(seen..).unwrap_or_default();
        let here = expected.len().min(bytes.len());
        if bytes.get(..here) != expected.get(..here) {
            self.state = State::Over;
            return (
                bytes.len(),
                Event::NoFrame("the client sends no connection preface"),
            );
        }
        self.state = if here == expected.len() {
            State::Header
        } else {
            State::Preface(seen.saturating_add(here))
        };
        let event = if seen == 0 {
            Event::Preface
        } else {
            Event::More
        };
        (here, event)
    }

    fn header<'a>(&mut self, bytes: &'a [u8], mark: Mark) -> (usize, Event<'a>) {
        if self.head.is_empty() {
            self.head_start = (self.next, mark);
            if let Some(header) = Header::parse(bytes) {
                return (HEADER_BYTES, self.begin(header));
            }
        }
        let here = HEADER_BYTES
            .saturating_sub(self.head.len())
            .min(bytes.len());
        self.head
            .extend_from_slice(bytes.get(..here).unwrap_or_default());
        let event = match Header::parse(&self.head) {
            Some(header) => {
                self.head.clear();
                self.begin(header)
            }
            None => Event::More,
        };
        (here, event)
    }

    fn begin<'a>(&mut self, header: Header) -> Event<'a> {
        let (start, first) = self.head_start;
        if header.length > self.frame_bytes_max {
            return Event::NoFrame("a frame is longer than its receiver allows");
        }
        if !header.is_sound() {
            return Event::NoFrame("a frame has a length or stream that its type does not allow");
        }
        let begun = FrameStart {
            header,
            start,
            first,
        };
        let is_padded = header.kind == Kind::Data && header.has(flags::PADDED);
        self.state = State::Payload {
            begun,
            remaining: u64::from(header.length),
            padding: if is_padded { None } else { Some(0) },
        };
        if header.kind != Kind::Continuation {
            self.clear_payload();
        }
        Event::Begun(begun)
    }

    fn in_payload<'a>(
        &mut self,
        (begun, remaining, padding): (FrameStart, u64, Option<u64>),
        bytes: &'a [u8],
    ) -> (usize, Event<'a>) {
        if remaining == 0 {
            self.state = State::Header;
            return (0, Event::Finished(begun));
        }
        let here = usize::try_from(remaining)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let Some((first, rest)) = bytes.get(..here).and_then(<[u8]>::split_first) else {
            return (0, Event::More);
        };
        let Some(pad) = padding else {
            let left = remaining.saturating_sub(1);
            self.state = State::Payload {
                begun,
                remaining: left,
                padding: Some(u64::from(*first).min(left)),
            };
            return (1, Event::More);
        };
        let left = remaining.saturating_sub(here as u64);
        self.state = State::Payload {
            begun,
            remaining: left,
            padding: Some(pad),
        };
        if begun.header.kind == Kind::Data {
            let data = usize::try_from(remaining.saturating_sub(pad)).unwrap_or(usize::MAX);
            let data = bytes.get(..here.min(data)).unwrap_or_default();
            return (here, Event::Data(begun, data));
        }
        let limit = match begun.header.kind {
            Kind::Headers | Kind::PushPromise | Kind::Continuation => BLOCK_BYTES_MAX,
            Kind::Other => 0,
            _ => CONTROL_BYTES_MAX,
        };
        let room = limit.saturating_sub(self.payload.len());
        self.is_cut |= room <= rest.len();
        let kept = bytes.get(..here.min(room)).unwrap_or_default();
        self.payload.extend_from_slice(kept);
        (here, Event::More)
    }

    /// Return whether a frame ends here: the caller must advance once more without bytes.
    pub(crate) fn is_at_end_of_frame(&self) -> bool {
        matches!(self.state, State::Payload { remaining: 0, .. })
    }

    /// Skip missing bytes, at most to the end of a DATA frame.
    pub(crate) fn skip(&mut self, length: u64) -> (u64, SkippedBytes) {
        if let State::Payload {
            begun,
            remaining,
            padding,
        } = self.state
        {
            let is_data = begun.header.kind == Kind::Data;
            if is_data && remaining == 0 {
                self.state = State::Header;
                return (0, SkippedBytes::Finished(begun));
            }
            if is_data && length <= remaining {
                self.next = self.next.saturating_add(length);
                let remaining = remaining.saturating_sub(length);
                self.state = State::Payload {
                    begun,
                    remaining,
                    padding: padding.or(Some(0)),
                };
                return (length, SkippedBytes::Data(begun, length));
            }
        }
        self.next = self.next.saturating_add(length);
        if !self.is_over() {
            self.search();
        }
        (length, SkippedBytes::Lost(length))
    }

    /// Search a segment for a frame of a stream that `is_known`, or for several frames.
    ///
    /// Return the number of bytes before it; `None` if there is none.
    pub(crate) fn find(
        &mut self,
        bytes: &[u8],
        is_known: impl Fn(&Header) -> bool,
    ) -> Option<usize> {
        let State::Searching { segments } = self.state else {
            return Some(0);
        };
        for at in 0..bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(header) = Header::parse(rest) else {
                break;
            };
            let is_plausible = header.is_plausible(self.frame_bytes_max);
            let is_expected = is_known(&header) || header.has_fixed_length();
            let is_expected = is_expected && is_followed(&header, rest, self.frame_bytes_max);
            if is_plausible && (is_expected || starts_like(rest)) {
                self.state = State::Header;
                return Some(at);
            }
        }
        let segments = segments.saturating_add(1);
        self.state = if segments > SEARCH_SEGMENTS_MAX {
            State::Over
        } else {
            State::Searching { segments }
        };
        None
    }
}
