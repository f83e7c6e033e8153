//! One HTTP connection: both directions of a flow and their exchanges.

use trace_model::AnomalyKind;

use super::message::Interim;
use super::pairing::Pairing;
use super::role::Role;
use super::stream::{Body, Event, Reader, State};
use super::{Direction, End, Mark, Output};

/// Maximum number of searched segments before a direction is abandoned. If the capture starts inside a body,
/// the other direction shows the next start line, however long the body is.
const SEARCH_SEGMENTS_MAX: u32 = 64;

/// A reader that finds the messages of one flow and pairs them.
#[derive(Debug)]
pub struct Connection {
    pub(super) requests: Reader,
    pub(super) responses: Reader,
    pub(super) pairing: Pairing,
    /// Interim responses since the last final response.
    pub(super) interim: Option<Interim>,
    pub(super) is_http: bool,
    roles_are_reversed: bool,
    /// True while no message can be lost: all bytes from the first one were delivered.
    pub(super) begins_whole: bool,
    /// True after a granted CONNECT, until bytes inside the tunnel are read.
    pub(super) has_unread_tunnel: bool,
    /// Set once HTTP/2 begins.
    pub(super) http2: Option<Http2Start>,
}

/// The position where HTTP/2 replaces HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Start {
    /// Offset of the client's connection preface.
    pub client: u64,
    /// Offset of the server's first frame.
    pub server: u64,
    /// True if the client requested the upgrade (RFC 7540, section 3.2). The response to that request is on
    /// stream 1.
    pub is_upgrade: bool,
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

impl Connection {
    #[must_use]
    pub fn new() -> Self {
        Connection {
            requests: Reader::new(Role::Request),
            responses: Reader::new(Role::Response),
            pairing: Pairing::default(),
            interim: None,
            is_http: false,
            roles_are_reversed: false,
            begins_whole: false,
            has_unread_tunnel: false,
            http2: None,
        }
    }

    /// Create a connection that receives all bytes from the first one. Another protocol can come first, such
    /// as SOCKS (RFC 1928). No HTTP message is lost in those bytes.
    #[must_use]
    pub fn from_its_beginning() -> Self {
        Connection {
            begins_whole: true,
            ..Connection::new()
        }
    }

    /// Enable the inspection of response bodies.
    #[must_use]
    pub fn looking_at_bodies(mut self) -> Self {
        self.responses.looks_at_bodies = true;
        self
    }

    /// Take the next bytes of a direction: the payload of one segment from stream offset `offset`. The first
    /// payload byte of the direction has offset 0. `peer_acked` is the number of bytes of the other direction
    /// that the segment acknowledged. Repeated bytes are ignored. A jump forward is a gap.
    pub fn data(
        &mut self,
        direction: Direction,
        offset: u64,
        bytes: &[u8],
        mark: Mark,
        peer_acked: Option<u64>,
        out: &mut Output,
    ) {
        let next = self.reader(self.role(direction)).next;
        if offset > next {
            self.gap(direction, next, offset.saturating_sub(next), mark, out);
        }
        let known = usize::try_from(next.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(mut rest) = bytes.get(known..).filter(|rest| !rest.is_empty()) else {
            return;
        };
        if !self.begin_segment(direction, rest, mark, peer_acked, out) {
            let reader = self.reader_mut(direction);
            reader.next = reader.next.saturating_add(rest.len() as u64);
            return;
        }
        let role = self.role(direction);
        while !rest.is_empty() {
            let (used, event) = self.reader_of(role).advance(rest, mark, peer_acked);
            rest = rest.get(used..).unwrap_or(&[]);
            self.react(role, event, mark, out);
        }
    }

    /// Take a gap: `length` bytes from `offset` were not captured. `mark` is the packet that revealed the
    /// gap.
    pub fn gap(
        &mut self,
        direction: Direction,
        offset: u64,
        length: u64,
        mark: Mark,
        out: &mut Output,
    ) {
        let role = self.role(direction);
        let next = self.reader(role).next;
        if offset > next {
            self.skip(role, offset.saturating_sub(next), mark, out);
        }
        self.skip(
            role,
            length.saturating_sub(next.saturating_sub(offset)),
            mark,
            out,
        );
    }

    /// End a direction. No bytes of this direction follow.
    pub fn end(&mut self, direction: Direction, end: End, mark: Mark, out: &mut Output) {
        let role = self.role(direction);
        match self.reader(role).state {
            State::Head => self.break_off_head(role, 0, mark, out),
            // RFC 9112, section 8: a close without an error completes such a message.
            State::Body(Body::UntilClose) => self.finish(role, end == End::Fin, mark, out),
            State::Body(_) => self.finish(role, false, mark, out),
            State::Idle | State::Searching | State::PerhapsCut | State::Held | State::Opaque => {}
        }
        self.reader_of(role).abandon(State::Opaque);
        match role {
            Role::Request => self.pairing.client_ended(out),
            Role::Response => self.pairing.server_ended(self.interim.take(), out),
        }
    }

    /// Return true if either direction had a start line of HTTP/1.x.
    #[must_use]
    pub fn is_http(&self) -> bool {
        self.is_http
    }

    /// Return the start of HTTP/2, if HTTP/2 began. This reader reads nothing after that point.
    #[must_use]
    pub fn http2(&self) -> Option<Http2Start> {
        self.http2
    }

    /// Return the offset of the next byte of a direction.
    #[must_use]
    pub fn next(&self, direction: Direction) -> u64 {
        self.reader(self.role(direction)).next
    }

    /// Return true if TLS can begin here: before any HTTP message, or at the start of a granted tunnel.
    #[must_use]
    pub fn may_be_tls(&self) -> bool {
        !self.is_http || self.has_unread_tunnel
    }

    /// Return true if all bytes from the first one were delivered.
    #[must_use]
    pub fn begins_whole(&self) -> bool {
        self.begins_whole
    }

    /// Return true if the requests travel from server to client. This occurs if the capture started after the
    /// handshake and the client was guessed wrong. All other decisions here depend on the content only.
    #[must_use]
    pub fn roles_are_reversed(&self) -> bool {
        self.roles_are_reversed
    }

    /// Return true if a direction is no longer read. The reasons are a tunnel, another protocol, the end, or
    /// many segments without a start line. If both directions are opaque, no message can follow. A direction
    /// without a start line is searched again once the other direction has HTTP.
    #[must_use]
    pub fn is_opaque(&self, direction: Direction) -> bool {
        let reader = self.reader(self.role(direction));
        match reader.state {
            State::Opaque => true,
            State::Searching | State::PerhapsCut => {
                !self.is_http && reader.searched > SEARCH_SEGMENTS_MAX
            }
            State::Idle | State::Head | State::Body(_) | State::Held => false,
        }
    }

    /// Return true if the reader searches each segment's start for the next message of a direction.
    #[must_use]
    pub fn is_searching(&self, direction: Direction) -> bool {
        let reader = self.reader(self.role(direction));
        matches!(reader.state, State::Searching | State::PerhapsCut)
    }

    /// Return the start offset of the last delivered response, final or interim.
    #[must_use]
    pub fn response_start(&self) -> Option<u64> {
        if self.is_http {
            self.responses.current_start
        } else {
            None
        }
    }

    /// Return the start offset of the last delivered request. The delivered bytes can still be too few to
    /// identify a request.
    #[must_use]
    pub fn request_start(&self) -> Option<u64> {
        self.requests.current_start
    }

    /// Return the start offsets of the oldest request and the oldest response that are not yet output.
    #[must_use]
    pub fn oldest(&self) -> (Option<u64>, Option<u64>) {
        let (request, response) = self.pairing.oldest();
        let interim = self.interim.map(|it| it.start);
        let earlier = |starts: [Option<u64>; 3]| starts.into_iter().flatten().min();
        (
            earlier([request, self.requests.unfinished_start(), None]),
            earlier([response, self.responses.unfinished_start(), interim]),
        )
    }

    /// Return the memory of unfinished and unanswered messages.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.requests
            .held_bytes()
            .saturating_add(self.responses.held_bytes())
            .saturating_add(self.pairing.held_bytes())
    }

    /// Hand out the known part of unfinished or unanswered messages. Reading continues, and later bytes can
    /// belong to these messages.
    pub fn give_up_held(&mut self, mark: Mark, out: &mut Output) {
        for role in [Role::Request, Role::Response] {
            if matches!(self.reader(role).state, State::Head) {
                self.break_off_head(role, 0, mark, out);
                self.lose(role, out);
            }
        }
        self.responses.give_up_body();
        self.pairing.hand_out_and_lose_order(out);
    }

    fn role(&self, direction: Direction) -> Role {
        match (direction, self.roles_are_reversed) {
            (Direction::ClientToServer, false) | (Direction::ServerToClient, true) => Role::Request,
            (Direction::ServerToClient, false) | (Direction::ClientToServer, true) => {
                Role::Response
            }
        }
    }

    pub(super) fn reader(&self, role: Role) -> &Reader {
        match role {
            Role::Request => &self.requests,
            Role::Response => &self.responses,
        }
    }

    pub(super) fn reader_of(&mut self, role: Role) -> &mut Reader {
        match role {
            Role::Request => &mut self.requests,
            Role::Response => &mut self.responses,
        }
    }

    fn reader_mut(&mut self, direction: Direction) -> &mut Reader {
        self.reader_of(self.role(direction))
    }

    /// Inspect the start of a segment if the state requires it. Return false if the segment is to be skipped.
    fn begin_segment(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        mark: Mark,
        peer_acked: Option<u64>,
        out: &mut Output,
    ) -> bool {
        let is_http = self.is_http;
        let role = self.role(direction);
        let reader = self.reader_of(role);
        match reader.state {
            State::Opaque | State::Held => false,
            State::Head => true,
            State::Body(body) => {
                if reader.is_guess && is_next_message(body, reader, bytes) {
                    self.finish(role, true, Mark::default(), out);
                }
                true
            }
            State::Idle if is_http => true,
            State::Searching if !is_http && reader.searched > SEARCH_SEGMENTS_MAX => false,
            State::Idle | State::Searching | State::PerhapsCut => {
                let found = role.is_begun_by(bytes);
                if !found && !is_http && role.opposite().is_begun_by(bytes) {
                    self.reverse_roles(out);
                    self.reader_mut(direction).abandon(State::Idle);
                    return true;
                }
                let reader = self.reader_of(role);
                match reader.state {
                    State::Searching | State::PerhapsCut if found => reader.abandon(State::Idle),
                    State::Searching | State::PerhapsCut => {
                        reader.pass_over(bytes, mark, peer_acked);
                    }
                    _ => {}
                }
                matches!(self.reader(role).state, State::Idle)
            }
        }
    }

    fn reverse_roles(&mut self, out: &mut Output) {
        self.roles_are_reversed = !self.roles_are_reversed;
        std::mem::swap(&mut self.requests, &mut self.responses);
        self.requests.role = Role::Request;
        self.responses.role = Role::Response;
        self.responses.looks_at_bodies = self.requests.looks_at_bodies;
        self.requests.looks_at_bodies = false;
        self.pairing = Pairing::default();
        if matches!(self.responses.state, State::Searching | State::PerhapsCut) {
            self.pairing.lost_responses(true, out);
        }
    }

    fn react(&mut self, role: Role, event: Event, mark: Mark, out: &mut Output) {
        match event {
            Event::More => {}
            Event::Head(head) => self.head(*head, mark, out),
            Event::Finished => self.finish(role, true, mark, out),
            Event::NotAMessage => self.not_a_message(role, mark, out),
            Event::Malformed(what) => {
                out.notice(AnomalyKind::MalformedHttp, mark, what);
                self.finish(role, false, mark, out);
                self.lose(role, out);
            }
            Event::HeadTooLong => {
                let detail = "a message head is longer than 256 KiB; the rest of the flow is not read as HTTP";
                out.notice(AnomalyKind::LimitReached, mark, detail);
                self.leave_http(mark, out);
            }
            Event::Http2 => {
                self.http2 = Some(Http2Start {
                    client: self.requests.origin.start,
                    server: self.responses.next,
                    is_upgrade: false,
                });
                self.leave_http(mark, out);
            }
        }
    }

    fn not_a_message(&mut self, role: Role, mark: Mark, out: &mut Output) {
        let is_held = role == Role::Request && self.pairing.awaits_tunnel();
        let is_http = self.is_http;
        if self.has_unread_tunnel {
            self.leave_http(mark, out);
            return;
        }
        let reader = self.reader_of(role);
        if is_held {
            reader.abandon(State::Held);
            return;
        }
        if is_http && !reader.was_reported {
            reader.was_reported = true;
            let detail = match role {
                Role::Request => "the bytes at the expected start of a request are no request",
                Role::Response => "the bytes at the expected start of a response are no response",
            };
            out.notice(AnomalyKind::MalformedHttp, mark, detail);
        }
        if !is_http && self.begins_whole {
            self.reader_of(role).search();
        } else {
            self.lose(role, out);
        }
    }

    pub(super) fn finish(&mut self, role: Role, complete: bool, mark: Mark, out: &mut Output) {
        let reader = self.reader_of(role);
        let Some(message) = reader.finish(complete, &mut out.documents) else {
            return;
        };
        if let Some(complaint) = out.documents.complaint() {
            out.notice(AnomalyKind::LimitReached, message.last, complaint);
        }
        if let Some(body) = &message.body.kept {
            if let Some(text) = &body.text {
                out.known
                    .put(message.body.content_length, text, body.digest);
            }
        }
        if message.missing_bytes > 0 {
            let detail = format!("{} bytes of the message are missing", message.missing_bytes);
            out.notice(AnomalyKind::MissingData, message.last.later(mark), detail);
        }
        match role {
            Role::Request => self.pairing.request_finished(message, out),
            Role::Response => self.pairing.response_finished(message, out),
        }
    }

    /// Leave HTTP: the following bytes are not HTTP/1.x.
    pub(super) fn leave_http(&mut self, mark: Mark, out: &mut Output) {
        for role in [Role::Request, Role::Response] {
            if matches!(self.reader(role).state, State::Body(_)) {
                self.finish(role, false, mark, out);
            }
            self.reader_of(role).abandon(State::Opaque);
        }
        self.pairing.hand_out_all(out);
    }
}

/// Return true if a response that was framed without its request has no body. The evidence is a status line
/// at the body's start after HEAD, or inside a body that lasts until the close.
fn is_next_message(body: Body, reader: &Reader, bytes: &[u8]) -> bool {
    let is_possible = match body {
        Body::UntilClose => true,
        Body::Length { .. } | Body::Chunked(_) => reader
            .message
            .as_ref()
            .is_some_and(|it| reader.next == it.start.saturating_add(it.header_bytes)),
    };
    is_possible && reader.role.is_begun_by(bytes)
}
