//! TLS hello in segments that are too short for recognition.

use tcptrace_http_messages::Output;
use tcptrace_tls::{may_begin_hello, starts_like, Connection as Tls, Keys, Start};
use trace_model::rows::Direction;
use trace_model::Mark;

/// New bytes of a segment for a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    pub(super) direction: Direction,
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
    pub(super) mark: Mark,
    pub(super) peer_acked: Option<u64>,
}

/// Bytes so far: at most five.
#[derive(Debug)]
pub(super) struct HelloPieces {
    direction: Direction,
    pub(super) offset: u64,
    bytes: Vec<u8>,
    /// End of each segment, with its mark and attributes.
    ends: Vec<(usize, Mark, Option<u64>)>,
}

impl HelloPieces {
    /// Return the pieces with one more, if they may still begin a hello.
    pub(super) fn with(before: Option<Box<Self>>, next: Payload<'_>) -> Option<Box<Self>> {
        let is_behind = |it: &Self| it.is_followed_by(next);
        let mut pieces = match before.filter(|it| is_behind(it)) {
            Some(pieces) => pieces,
            None if may_begin_hello(next.bytes) => Box::new(HelloPieces {
                direction: next.direction,
                offset: next.offset,
                bytes: Vec::new(),
                ends: Vec::new(),
            }),
            None => return None,
        };
        pieces.bytes.extend_from_slice(next.bytes);
        let end = pieces.bytes.len();
        pieces.ends.push((end, next.mark, next.peer_acked));
        may_begin_hello(&pieces.bytes).then_some(pieces)
    }

    /// Return whether the pieces and the next bytes form the start of a hello.
    pub(super) fn is_hello_with(&self, next: Payload<'_>) -> bool {
        let start = || [&self.bytes, next.bytes].concat();
        self.is_followed_by(next)
            && matches!(
                starts_like(&start()),
                Some(Start::ClientHello | Start::ServerHello)
            )
    }

    fn is_followed_by(&self, next: Payload<'_>) -> bool {
        let end = self.offset.saturating_add(self.bytes.len() as u64);
        self.direction == next.direction && end == next.offset
    }

    pub(super) fn give(&self, tls: &mut Tls, keys: &mut Keys, out: &mut Output) {
        let mut start = 0;
        for (end, mark, peer_acked) in &self.ends {
            let bytes = self.bytes.get(start..*end).unwrap_or_default();
            let offset = self.offset.saturating_add(start as u64);
            tls.data(
                self.direction,
                offset,
                bytes,
                (*mark, *peer_acked),
                keys,
                out,
            );
            start = *end;
        }
    }
}
