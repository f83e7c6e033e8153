//! One direction: bytes in, heads and ends of messages out.

use super::body::Keeper;
use super::chunked::{ChunkedBody, Progress};
use super::documents::Documents;
use super::framing::Framing;
use super::head::{self, Head, Parsed};
use super::known_texts::KnownTexts;
use super::message::{Message, Origin};
use super::proxy_protocol;
use super::role::Role;
use super::start_line::{self, StartLine};
use super::Mark;

/// Maximum length of a collected head. Common servers accept at most 64 KiB. Four times that length is no
/// head.
const HEAD_MAX: usize = 256 * 1024;

#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Length { remaining: u64 },
    Chunked(ChunkedBody),
    UntilClose,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Between messages.
    Idle,
    Head,
    Body(Body),
    /// Waiting for a start line at the start of a segment.
    Searching,
    /// As `Searching`, but the latest segment is a request line whose rest can be missing.
    PerhapsCut,
    /// Bytes after a tunnel request. The response decides their meaning.
    Held,
    /// No HTTP/1.x from here on, or the end.
    Opaque,
}

pub(super) enum Event {
    More,
    Head(Box<Head>),
    Finished,
    /// The bytes at a message's expected start are no message.
    NotAMessage,
    Malformed(&'static str),
    HeadTooLong,
    Http2,
}

/// The assignment of missing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// The bytes lie within a body whose framing continues after them.
    Framed,
    /// The bytes lie within a body that ends with them.
    Finished,
    /// The start of the next message is unknown.
    Lost,
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) role: Role,
    pub(super) state: State,
    /// The offset of the next byte.
    pub(super) next: u64,
    pub(super) origin: Origin,
    /// The head so far, if it spans segments.
    buffer: Vec<u8>,
    start_line_is_whole: bool,
    /// The message whose body is being read.
    pub(super) message: Option<Box<Message>>,
    /// True if response bodies are inspected.
    pub(super) looks_at_bodies: bool,
    /// Keeper of the current response body.
    kept: Option<Box<Keeper>>,
    /// Memory of the message.
    message_bytes: u64,
    /// True if the body was framed without its request.
    pub(super) is_guess: bool,
    /// True if the last message ended before its framing did.
    pub(super) is_truncated: bool,
    /// Number of segments without a start line.
    pub(super) searched: u32,
    pub(super) was_reported: bool,
    /// Start of the last delivered message.
    pub(super) current_start: Option<u64>,
}

impl Reader {
    pub(super) fn new(role: Role) -> Self {
        Reader {
            role,
            state: State::Idle,
            next: 0,
            origin: Origin::default(),
            buffer: Vec::new(),
            start_line_is_whole: false,
            message: None,
            looks_at_bodies: false,
            kept: None,
            message_bytes: 0,
            is_guess: false,
            is_truncated: false,
            searched: 0,
            was_reported: false,
            current_start: None,
        }
    }

    /// Return the start of the unfinished message.
    pub(super) fn unfinished_start(&self) -> Option<u64> {
        let has_begun = matches!(self.state, State::Head | State::Body(_) | State::Held);
        self.current_start.filter(|_| has_begun)
    }

    /// Return the memory of the partial head, the message and its text.
    pub(super) fn held_bytes(&self) -> u64 {
        let kept_bytes = self.kept.as_ref().map_or(0, |kept| kept.held_bytes());
        self.message_bytes
            .saturating_add(self.buffer.capacity() as u64)
            .saturating_add(kept_bytes)
    }

    /// Consume bytes up to the next event, and return their number.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        mark: Mark,
        peer_acked: Option<u64>,
    ) -> (usize, Event) {
        let (used, event) = match &mut self.state {
            State::Idle => self.between(bytes, mark, peer_acked),
            State::Head => self.head(bytes, mark),
            State::Body(body) => {
                let kept = &mut self.kept;
                if let Some(kept) = kept {
                    kept.segment(mark);
                }
                let result = body.advance(bytes, |data| {
                    if let Some(kept) = kept {
                        kept.data(data, mark);
                    }
                });
                if let Some(message) = &mut self.message {
                    message.last = message.last.later(mark);
                    message.body.first.get_or_insert(mark);
                }
                result
            }
            State::Searching | State::PerhapsCut | State::Held | State::Opaque => {
                (bytes.len(), Event::More)
            }
        };
        self.next = self.next.saturating_add(used as u64);
        (used, event)
    }

    fn between(&mut self, bytes: &[u8], mark: Mark, peer_acked: Option<u64>) -> (usize, Event) {
        if self.next == 0 && self.role == Role::Request {
            if let Some(length) = proxy_protocol::header_length(bytes) {
                return (length, Event::More);
            }
        }
        // A reader ignores empty lines before a start line (RFC 9112, section 2.2).
        let empty = bytes
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        if empty > 0 {
            return (empty, Event::More);
        }
        self.open(mark, peer_acked);
        self.current_start = Some(self.next);
        self.start_line_is_whole = false;
        self.state = State::Head;
        self.head(bytes, mark)
    }

    fn head(&mut self, bytes: &[u8], mark: Mark) -> (usize, Event) {
        self.origin.head_last = self.origin.head_last.later(mark);
        let before = self.buffer.len();
        if before == 0 {
            return match head::parse(self.role, bytes) {
                Parsed::Whole(head) => (head.bytes, Event::Head(head)),
                Parsed::Malformed => (bytes.len(), Event::NotAMessage),
                Parsed::Http2Preface => (bytes.len(), Event::Http2),
                Parsed::Partial => {
                    self.buffer.extend_from_slice(bytes);
                    (bytes.len(), self.unless_too_long())
                }
            };
        }
        self.buffer.extend_from_slice(bytes);
        let Some(length) = head::length(&self.buffer, before) else {
            return (bytes.len(), self.partial_head());
        };
        self.buffer.truncate(length);
        let event = match head::parse(self.role, &std::mem::take(&mut self.buffer)) {
            Parsed::Whole(head) => Event::Head(head),
            Parsed::Http2Preface => Event::Http2,
            Parsed::Partial | Parsed::Malformed => Event::NotAMessage,
        };
        (length.saturating_sub(before), event)
    }

    fn partial_head(&mut self) -> Event {
        if !self.start_line_is_whole {
            match self.role.start_line(&self.buffer) {
                StartLine::Whole => self.start_line_is_whole = true,
                StartLine::Begun => {}
                StartLine::Http2Preface => return Event::Http2,
                StartLine::Absent => return Event::NotAMessage,
            }
        }
        self.unless_too_long()
    }

    fn unless_too_long(&self) -> Event {
        if self.buffer.len() > HEAD_MAX {
            Event::HeadTooLong
        } else {
            Event::More
        }
    }

    /// Enter the body of the message whose head was read. Return false if the message has no body.
    pub(super) fn begin_body(&mut self, message: Box<Message>, known: &KnownTexts) -> bool {
        let body = match message.body.framing {
            Framing::ContentLength(remaining) => Some(Body::Length { remaining }),
            Framing::Chunked => Some(Body::Chunked(ChunkedBody::new())),
            Framing::UntilClose => Some(Body::UntilClose),
            Framing::NoBody | Framing::Tunnel | Framing::Unknown => None,
        };
        self.message_bytes = message.held_bytes();
        self.kept = (self.looks_at_bodies && body.is_some())
            .then(|| {
                Keeper::for_response(
                    message.status,
                    message.body.content_length,
                    &message.fields,
                    known,
                )
            })
            .flatten();
        self.message = Some(message);
        self.state = body.map_or(State::Idle, State::Body);
        body.is_some()
    }

    /// End the current message and return it.
    pub(super) fn finish(
        &mut self,
        complete: bool,
        documents: &mut Documents,
    ) -> Option<Box<Message>> {
        let mut message = self.message.take()?;
        self.message_bytes = 0;
        message.end = self.next;
        message.complete = complete;
        message.body.wire_bytes = self
            .next
            .saturating_sub(message.start)
            .saturating_sub(message.header_bytes);
        message.body.bytes = match self.state {
            State::Body(Body::Chunked(body)) => body.data_bytes,
            _ => message.body.wire_bytes,
        };
        if let Some(kept) = self.kept.take() {
            let is_whole = complete && message.missing_bytes == 0;
            (message.body.kept, message.links) = kept.finish(is_whole, documents);
        }
        self.state = State::Idle;
        self.is_guess = false;
        self.is_truncated = !complete;
        Some(message)
    }

    /// Skip missing bytes as far as the framing assigns them.
    pub(super) fn skip(&mut self, length: u64) -> (u64, Skipped) {
        let State::Body(body) = &mut self.state else {
            return (0, Skipped::Lost);
        };
        let (used, skipped) = body.skip(length);
        if let Some(message) = &mut self.message {
            message.missing_bytes = message.missing_bytes.saturating_add(used);
        }
        self.kept.take_if(|kept| !kept.miss());
        self.next = self.next.saturating_add(used);
        (used, skipped)
    }

    /// Take a segment without a whole start line during a search.
    pub(super) fn pass_over(&mut self, bytes: &[u8], mark: Mark, peer_acked: Option<u64>) {
        self.searched = self.searched.saturating_add(1);
        self.search();
        if self.role == Role::Request && start_line::is_perhaps_cut(bytes) {
            self.open(mark, peer_acked);
            self.buffer.extend_from_slice(bytes);
            self.state = State::PerhapsCut;
        }
    }

    fn open(&mut self, mark: Mark, peer_acked: Option<u64>) {
        self.origin = Origin {
            start: self.next,
            first: mark,
            head_last: mark,
            peer_acked,
        };
    }

    /// Return the partial head if its rest is missing.
    pub(super) fn broken_off_head(&mut self) -> Option<Box<Head>> {
        head::parse_broken_off(self.role, &std::mem::take(&mut self.buffer))
    }

    /// Drop the kept data of the body.
    pub(super) fn give_up_body(&mut self) {
        self.kept = None;
    }

    pub(super) fn search(&mut self) {
        self.abandon(State::Searching);
    }

    pub(super) fn abandon(&mut self, state: State) {
        self.state = state;
        self.buffer = Vec::new();
        self.kept = None;
        self.is_guess = false;
    }
}

impl Body {
    /// Consume bytes up to the next event. `see` is called with the body without its framing.
    fn advance(&mut self, bytes: &[u8], mut see: impl FnMut(&[u8])) -> (usize, Event) {
        match self {
            Body::Length { remaining } => {
                let here = (*remaining).min(bytes.len() as u64);
                *remaining = remaining.saturating_sub(here);
                // `here` is at most a slice's length.
                see(bytes.get(..here as usize).unwrap_or(bytes));
                let event = if *remaining == 0 {
                    Event::Finished
                } else {
                    Event::More
                };
                (here as usize, event)
            }
            Body::Chunked(body) => match body.advance(bytes, see) {
                (used, Progress::More) => (used, Event::More),
                (used, Progress::Done) => (used, Event::Finished),
                (used, Progress::Malformed(what)) => (used, Event::Malformed(what)),
            },
            Body::UntilClose => {
                see(bytes);
                (bytes.len(), Event::More)
            }
        }
    }

    fn skip(&mut self, length: u64) -> (u64, Skipped) {
        match self {
            Body::Length { remaining } => {
                let here = (*remaining).min(length);
                *remaining = remaining.saturating_sub(here);
                let skipped = if *remaining == 0 {
                    Skipped::Finished
                } else {
                    Skipped::Framed
                };
                (here, skipped)
            }
            Body::Chunked(body) => {
                if body.skip(length) {
                    (length, Skipped::Framed)
                } else {
                    (0, Skipped::Lost)
                }
            }
            Body::UntilClose => (length, Skipped::Framed),
        }
    }
}
