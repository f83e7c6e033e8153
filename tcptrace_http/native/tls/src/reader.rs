//! One direction: bytes in, records out.

use tcptrace_http_messages::Direction;
use trace_model::Mark;

use crate::record::{Begun, ContentType, Header, Record, HEADER_BYTES};

/// Maximum number of searched segments without a record header. The longest record takes a dozen segments.
const SEARCH_SEGMENTS_MAX: u32 = 1024;

/// Headers needed to confirm a search: the found header, and the header after its record.
const UNCONFIRMED: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Inside or before a record's header.
    Header,
    /// Remaining bytes of the record.
    Fragment { left: usize },
    /// The start of the next record is unknown.
    Searching,
    /// The direction ended, or is not TLS from here on.
    Opaque,
}

#[derive(Debug)]
pub(crate) enum Event<'a> {
    More,
    Begun(Begun),
    Whole(Record<'a>),
    /// The bytes at a record's expected start are no record.
    NotARecord,
}

#[derive(Debug)]
pub(crate) struct Reader {
    direction: Direction,
    state: State,
    /// The stream offset of the next byte.
    pub(crate) next: u64,
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    begun: Begun,
    last: Mark,
    /// The partial record, if it spans segments.
    held: Vec<u8>,
    /// True if bytes of the record are missing.
    is_broken: bool,
    /// Number of headers still needed to confirm a searched one.
    unconfirmed: u8,
    searched: u32,
    has_searched: bool,
    /// True if application data is wanted for decryption.
    pub(crate) keeps_application: bool,
}

impl Reader {
    /// Create a reader whose first byte has the stream offset `next`.
    pub(crate) fn new(direction: Direction, next: u64) -> Self {
        let header = Header {
            content: ContentType::Handshake,
            version: 0,
            length: 0,
        };
        Reader {
            direction,
            state: State::Header,
            next,
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            begun: Begun {
                header,
                start: next,
                first: Mark::default(),
                peer_acked: None,
            },
            last: Mark::default(),
            held: Vec::new(),
            is_broken: false,
            unconfirmed: 0,
            searched: 0,
            has_searched: false,
            keeps_application: false,
        }
    }

    /// Return true if the bytes so far end at a record's end.
    pub(crate) fn is_between_records(&self) -> bool {
        self.state == State::Header && self.header_bytes == 0
    }

    pub(crate) fn has_searched(&self) -> bool {
        self.has_searched
    }

    /// Return true between a record's header and its end.
    pub(crate) fn is_within_record(&self) -> bool {
        matches!(self.state, State::Fragment { .. })
    }

    pub(crate) fn is_opaque(&self) -> bool {
        self.state == State::Opaque
    }

    pub(crate) fn end(&mut self) {
        self.state = State::Opaque;
        self.held = Vec::new();
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.capacity() as u64
    }

    /// Drop the kept bytes of the current record and skip its rest.
    pub(crate) fn give_up_held(&mut self) {
        if !self.held.is_empty() {
            self.is_broken = true;
        }
        self.held = Vec::new();
    }

    /// Consume bytes up to the next event, and return their number.
    pub(crate) fn advance<'a>(
        &'a mut self,
        bytes: &'a [u8],
        mark: Mark,
        peer_acked: Option<u64>,
    ) -> (usize, Event<'a>) {
        match self.state {
            State::Header => self.header(bytes, mark, peer_acked),
            State::Fragment { left } => self.fragment(left, bytes, mark),
            State::Searching => (self.search(bytes), Event::More),
            State::Opaque => {
                self.pass(bytes.len());
                (bytes.len(), Event::More)
            }
        }
    }

    fn header(
        &mut self,
        bytes: &[u8],
        mark: Mark,
        peer_acked: Option<u64>,
    ) -> (usize, Event<'static>) {
        if self.header_bytes == 0 {
            self.held.clear();
            self.is_broken = false;
            self.begun.start = self.next;
            self.begun.first = mark;
            self.begun.peer_acked = peer_acked;
            self.last = mark;
        }
        self.last = self.last.later(mark);
        let room = self.header.get_mut(self.header_bytes..).unwrap_or_default();
        let used = room.len().min(bytes.len());
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.pass(used);
        self.header_bytes = self.header_bytes.saturating_add(used);
        if self.header_bytes < HEADER_BYTES {
            return (used, Event::More);
        }
        self.header_bytes = 0;
        let Some(header) = Header::parse(&self.header) else {
            let was_guess = std::mem::take(&mut self.unconfirmed) > 0;
            self.search_from_here();
            let event = if was_guess {
                Event::More
            } else {
                Event::NotARecord
            };
            return (used, event);
        };
        self.unconfirmed = self.unconfirmed.saturating_sub(1);
        self.begun.header = header;
        self.state = State::Fragment {
            left: usize::from(header.length),
        };
        (used, Event::Begun(self.begun))
    }

    fn fragment<'a>(&'a mut self, left: usize, bytes: &'a [u8], mark: Mark) -> (usize, Event<'a>) {
        let here = bytes.get(..left).unwrap_or(bytes);
        let used = here.len();
        self.last = self.last.later(mark);
        self.pass(used);
        let is_whole = used == left;
        let is_wanted =
            self.keeps_application || self.begun.header.content != ContentType::ApplicationData;
        let is_in_one = is_whole && self.held.is_empty();
        if is_wanted && !self.is_broken && !is_in_one {
            self.held.extend_from_slice(here);
        }
        if !is_whole {
            self.state = State::Fragment {
                left: left.saturating_sub(used),
            };
            return (used, Event::More);
        }
        self.state = State::Header;
        let whole = if is_in_one {
            here
        } else {
            self.held.as_slice()
        };
        let is_there = whole.len() == usize::from(self.begun.header.length);
        let record = Record {
            direction: self.direction,
            begun: self.begun,
            last: self.last,
            bytes: (is_wanted && !self.is_broken && is_there).then_some(whole),
            is_complete: !self.is_broken,
        };
        (used, Event::Whole(record))
    }

    /// Search for the next header and consume the bytes before it. The header after the record refutes a
    /// false match.
    fn search(&mut self, bytes: &[u8]) -> usize {
        let is_header = |window: &[u8]| {
            Header::parse(window).is_some_and(|it| it.content == ContentType::ApplicationData)
        };
        let found = bytes.windows(HEADER_BYTES).position(is_header);
        let found = found.or_else(|| Header::parse(bytes).is_some().then_some(0));
        match found {
            Some(before) => {
                self.pass(before);
                self.state = State::Header;
                self.unconfirmed = UNCONFIRMED;
                before
            }
            None => {
                self.searched = self.searched.saturating_add(1);
                if self.searched > SEARCH_SEGMENTS_MAX {
                    self.state = State::Opaque;
                }
                self.pass(bytes.len());
                bytes.len()
            }
        }
    }

    /// Skip `length` missing bytes, revealed by the packet `mark`. Return the record that ends with them or
    /// within them, if any.
    pub(crate) fn skip(&mut self, length: u64, mark: Mark) -> Option<Record<'static>> {
        self.next = self.next.saturating_add(length);
        let State::Fragment { left } = self.state else {
            if self.state == State::Header {
                self.search_from_here();
            }
            return None;
        };
        self.is_broken = true;
        self.held = Vec::new();
        let missing = usize::try_from(length).unwrap_or(usize::MAX);
        if missing < left {
            self.state = State::Fragment {
                left: left.saturating_sub(missing),
            };
            return None;
        }
        if missing == left {
            self.state = State::Header;
        } else {
            self.search_from_here();
        }
        Some(Record {
            direction: self.direction,
            begun: self.begun,
            last: self.last.later(mark),
            bytes: None,
            is_complete: false,
        })
    }

    fn search_from_here(&mut self) {
        self.state = State::Searching;
        self.has_searched = true;
        self.header_bytes = 0;
        self.searched = 0;
    }

    fn pass(&mut self, bytes: usize) {
        self.next = self.next.saturating_add(bytes as u64);
    }
}
