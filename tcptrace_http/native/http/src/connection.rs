//! One HTTP connection: both directions of a flow, and what passes between them.

use trace_model::AnomalyKind;

use super::message::Interim;
use super::pairing::Pairing;
use super::role::Role;
use super::stream::{Body, Event, Reader, State};
use super::{Direction, End, Mark, Output};

/// Segments of a direction looked at before it is given up. A flow that was joined in the middle of
/// a body shows its next start line in the other direction, however long the body is.
const SEARCH_SEGMENTS_MAX: u32 = 64;

/// Reads the messages of one flow and pairs them.
#[derive(Debug)]
pub struct Connection {
    pub(super) requests: Reader,
    pub(super) responses: Reader,
    pub(super) pairing: Pairing,
    /// Interim responses since the last final one.
    pub(super) interim: Option<Interim>,
    pub(super) is_http: bool,
    roles_are_reversed: bool,
    /// No message can have been lost so far: all bytes were given, from the first on.
    pub(super) begins_whole: bool,
    /// A CONNECT was granted, and nothing inside the tunnel was read yet.
    pub(super) has_unread_tunnel: bool,
    /// HTTP/2 begins.
    pub(super) http2: Option<Http2Start>,
}

/// Where HTTP/2 takes the place of HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Start {
    /// Offset of the client's connection preface.
    pub client: u64,
    /// Offset of the server's first frame.
    pub server: u64,
    /// The client asked for it (RFC 7540, section 3.2): the response to that request is on stream 1.
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

    /// A connection that is given all its bytes from the first on: another protocol may come first,
    /// as that of a SOCKS proxy (RFC 1928), and no message is lost in what it says.
    #[must_use]
    pub fn from_its_beginning() -> Self {
        Connection {
            begins_whole: true,
            ..Connection::new()
        }
    }

    /// As before, but the bodies of responses are looked at too.
    #[must_use]
    pub fn looking_at_bodies(mut self) -> Self {
        self.responses.looks_at_bodies = true;
        self
    }

    /// The next bytes of a direction: the payload of one segment, from stream offset `offset` on
    /// (the first payload byte of the direction is 0). `peer_acked` is how many bytes of the other
    /// direction that segment acknowledged. Bytes before those already given are ignored; a jump
    /// forward is a gap.
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
        if !self.begins_segment(direction, rest, mark, peer_acked, out) {
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

    /// `length` bytes from `offset` on were never captured. `mark` is where that was noticed.
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

    /// The direction ended; nothing of it follows.
    pub fn end(&mut self, direction: Direction, end: End, mark: Mark, out: &mut Output) {
        let role = self.role(direction);
        match self.reader(role).state {
            State::Head => self.break_off_head(role, 0, mark, out),
            // RFC 9112, section 8: closing completes such a message unless it was an error.
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

    /// Whether a start line of HTTP/1.x was found in either direction.
    #[must_use]
    pub fn is_http(&self) -> bool {
        self.is_http
    }

    /// Whether HTTP/2 begins, and where: nothing is read here any more.
    #[must_use]
    pub fn http2(&self) -> Option<Http2Start> {
        self.http2
    }

    /// Offset of the next byte of a direction.
    #[must_use]
    pub fn next(&self, direction: Direction) -> u64 {
        self.reader(self.role(direction)).next
    }

    /// Whether TLS may begin here: no message of HTTP was found, or a tunnel was granted and nothing came through it yet.
    #[must_use]
    pub fn may_be_tls(&self) -> bool {
        !self.is_http || self.has_unread_tunnel
    }

    /// Whether all bytes were given so far, from the first on.
    #[must_use]
    pub fn begins_whole(&self) -> bool {
        self.begins_whole
    }

    /// Whether the bytes show that the requests come from server to client: a flow that was joined
    /// after its handshake, whose client was guessed wrong. All else here is by content.
    #[must_use]
    pub fn roles_are_reversed(&self) -> bool {
        self.roles_are_reversed
    }

    /// Whether a direction is not looked at any more: a tunnel, another protocol, its end, or many
    /// segments without a start line. If both are, nothing can follow. (Of the last kind, one alone
    /// is looked at again when the other turns out to be HTTP.)
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

    /// Whether the next message of a direction is searched for at the start of each segment.
    #[must_use]
    pub fn is_searching(&self, direction: Direction) -> bool {
        let reader = self.reader(self.role(direction));
        matches!(reader.state, State::Searching | State::PerhapsCut)
    }

    /// The offset at which the response (final or interim) began whose bytes were delivered last.
    #[must_use]
    pub fn response_start(&self) -> Option<u64> {
        if self.is_http {
            self.responses.current_start
        } else {
            None
        }
    }

    /// The offset at which the request began whose bytes were delivered last. What was delivered may
    /// be too little yet to tell that it is one.
    #[must_use]
    pub fn request_start(&self) -> Option<u64> {
        self.requests.current_start
    }

    /// Where the oldest request and the oldest response begin that are not handed out yet.
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

    /// Memory that unfinished and unanswered messages take.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.requests
            .held_bytes()
            .saturating_add(self.responses.held_bytes())
            .saturating_add(self.pairing.held_bytes())
    }

    /// Hands out what is known of messages that are not whole or not answered. What follows is read
    /// on; it may be the rest of them.
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

    /// Looks at the start of a segment where that matters; false if the segment is to be passed over.
    fn begins_segment(
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
                Role::Request => "bytes where a request was expected are none",
                Role::Response => "bytes where a response was expected are none",
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

    /// Nothing that follows is HTTP/1.x.
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

/// Whether a body that was framed without knowing its request is none: a status line stands where
/// the body of a response to HEAD would begin, or in one that would last until the close.
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
