//! One direction: from its bytes to heads and ends of messages.

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

/// Longest head collected. The largest that common servers can be configured to accept is 64 KiB;
/// four times that is no head any more.
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
    /// The same, where the latest segment is a request line if the rest of it was not captured.
    PerhapsCut,
    /// Bytes after a request for a tunnel, which its response will explain.
    Held,
    /// No HTTP/1.x (any more), or ended.
    Opaque,
}

pub(super) enum Event {
    More,
    Head(Box<Head>),
    Finished,
    /// A message was expected and these bytes are none.
    NotAMessage,
    Malformed(&'static str),
    HeadTooLong,
    Http2,
}

/// What became of missing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// They lie within a body whose framing goes on behind them.
    Framed,
    /// As before, and the body ends with them.
    Finished,
    /// Where the next message begins is not known any more.
    Lost,
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) role: Role,
    pub(super) state: State,
    /// The offset of the next byte.
    pub(super) next: u64,
    pub(super) origin: Origin,
    /// The head so far, if it did not come in one segment.
    buffer: Vec<u8>,
    start_line_is_whole: bool,
    /// The message whose body is being read.
    pub(super) message: Option<Box<Message>>,
    /// Whether the bodies of responses are looked at; and what is kept of the one being read.
    pub(super) looks_at_bodies: bool,
    kept: Option<Box<Keeper>>,
    /// Memory that it takes.
    message_bytes: u64,
    /// The body was framed without knowing the request.
    pub(super) is_guess: bool,
    /// The last message ended before its framing did.
    pub(super) broke_off: bool,
    /// Segments in which no start line was found.
    pub(super) searched: u32,
    pub(super) was_reported: bool,
    /// The start of the message whose bytes were last delivered.
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
            broke_off: false,
            searched: 0,
            was_reported: false,
            current_start: None,
        }
    }

    /// Where the message begins that is not finished yet.
    pub(super) fn unfinished_start(&self) -> Option<u64> {
        let has_begun = matches!(self.state, State::Head | State::Body(_) | State::Held);
        self.current_start.filter(|_| has_begun)
    }

    /// Memory that the head so far, the message and its text take.
    pub(super) fn held_bytes(&self) -> u64 {
        let kept_bytes = self.kept.as_ref().map_or(0, |kept| kept.held_bytes());
        self.message_bytes
            .saturating_add(self.buffer.capacity() as u64)
            .saturating_add(kept_bytes)
    }

    /// Takes bytes up to the next event and says how many those were.
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
        // Empty lines before a start line are ignored (RFC 9112, section 2.2).
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

    /// Goes on to the body of the message whose head was just read; false if there is none.
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
                Keeper::for_body_of(
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

    /// The message now being read, which ends here.
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
        self.broke_off = !complete;
        Some(message)
    }

    /// Passes over missing bytes as far as the framing shows where they belong.
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

    /// Takes a segment that begins with no whole start line, where one is searched for.
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

    /// The head so far as a head, where its rest is missing.
    pub(super) fn broken_off_head(&mut self) -> Option<Box<Head>> {
        head::parse_broken_off(self.role, &std::mem::take(&mut self.buffer))
    }

    /// Forgets what it keeps of the body.
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
    /// Takes bytes up to the next event; `see` is given the body, its framing removed.
    fn advance(&mut self, bytes: &[u8], mut see: impl FnMut(&[u8])) -> (usize, Event) {
        match self {
            Body::Length { remaining } => {
                let here = (*remaining).min(bytes.len() as u64);
                *remaining = remaining.saturating_sub(here);
                // `here` is at most the length of a slice.
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
