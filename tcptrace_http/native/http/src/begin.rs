//! Actions of a connection on a complete head. Framing and pairing are decided here.

use trace_model::AnomalyKind;

use super::connection::{Connection, Http2Start};
use super::exchange::RequestFacts;
use super::framing::{self, Framing, MethodKind};
use super::head::{Head, Start, TARGET_KEPT_MAX};
use super::message::{Interim, Message};
use super::pairing;
use super::role::Role;
use super::start_line::is_registered;
use super::stream::State;
use super::{Mark, Output};

impl Connection {
    pub(super) fn head(&mut self, head: Head, mark: Mark, out: &mut Output) {
        self.is_http = true;
        if head.has_odd_lines {
            out.notice(
                AnomalyKind::MalformedHttp,
                mark,
                "a head has lines that are no header fields",
            );
        }
        self.has_unread_tunnel = false;
        match head.start {
            Start::Request { .. } => self.request_head(head, mark, out),
            Start::Status(status @ (100 | 102..=199)) => self.interim_head(status),
            Start::Status(status) => self.final_head(head, status, mark, out),
        }
    }

    fn request_head(&mut self, head: Head, mark: Mark, out: &mut Output) {
        let (framing, doubt) = framing::of_request(&head.framing, head.minor_version);
        self.doubt(doubt, mark, out);
        if head.is_loose {
            let detail =
                "a request line is not method, target and version, separated by single spaces";
            out.notice(AnomalyKind::MalformedHttp, mark, detail);
        }
        let origin = self.requests.origin;
        let message = Message::from_head(head, origin, framing);
        notice_odd_start(&message, mark, out);
        let method = message.method.as_deref().unwrap_or_default();
        let kind = MethodKind::of(method);
        let facts = RequestFacts {
            start: origin.start,
            head_end: origin.start.saturating_add(message.header_bytes),
            first: origin.first,
            seen: origin.peer_acked.unwrap_or(self.responses.next),
            kind,
            wants_tunnel: kind == MethodKind::Connect || message.fields.has_upgrade,
        };
        let answer = self.pairing.request(facts, self.responses.next, out);
        if !self.requests.begin_body(message, &out.known) {
            self.finish(Role::Request, framing != Framing::Unknown, mark, out);
        }
        if framing == Framing::Unknown {
            self.lose(Role::Request, out);
        }
        if let Some(response) = answer {
            self.correct_framing(response, kind, mark, out);
        }
    }

    /// Correct the framing of a response that was delivered before its request and framed without its method.
    fn correct_framing(&mut self, response: u64, kind: MethodKind, mark: Mark, out: &mut Output) {
        let Some(message) = self
            .responses
            .message
            .as_mut()
            .filter(|it| it.start == response)
        else {
            return;
        };
        self.responses.is_guess = false;
        let has_no_body_yet = self.responses.next == response.saturating_add(message.header_bytes);
        let is_success = message
            .status
            .is_some_and(|status| (200..=299).contains(&status));
        match kind {
            MethodKind::Head if has_no_body_yet => {
                message.body.framing = Framing::NoBody;
                self.finish(Role::Response, true, mark, out);
            }
            MethodKind::Connect if is_success => {
                message.body.framing = Framing::Tunnel;
                self.finish(Role::Response, true, mark, out);
                self.enter_tunnel(mark, out);
            }
            MethodKind::Head | MethodKind::Connect | MethodKind::Other => {}
        }
    }

    pub(super) fn interim_head(&mut self, status: u16) {
        let origin = self.responses.origin;
        self.responses.state = State::Idle;
        let interim = self.interim.get_or_insert(Interim {
            count: 0,
            status,
            first: origin.first,
            start: origin.start,
        });
        interim.count = interim.count.saturating_add(1);
    }

    fn final_head(&mut self, head: Head, status: u16, mark: Mark, out: &mut Output) {
        let origin = self.responses.origin;
        let interim = self.interim.take();
        let facts = pairing::response_facts(origin.start, interim, origin.first, origin.peer_acked);
        let kind = self
            .pairing
            .response(facts, interim, self.requests.next, out);
        let (framing, doubt) =
            framing::of_response(status, kind, &head.framing, head.minor_version);
        self.doubt(doubt, mark, out);
        let upgrades_to_http2 = head.fields.upgrades_to_http2;
        let head_end = origin.start.saturating_add(head.bytes as u64);
        let has_body = self
            .responses
            .begin_body(Message::from_head(head, origin, framing), &out.known);
        self.responses.is_guess = kind.is_none() && has_body;
        if !has_body {
            self.finish(Role::Response, true, mark, out);
        }
        if framing == Framing::Tunnel && status == 101 {
            self.http2 = upgrades_to_http2.then_some(Http2Start {
                client: self.requests.next,
                server: head_end,
                is_upgrade: true,
            });
            self.leave_http(mark, out);
        } else if framing == Framing::Tunnel {
            self.enter_tunnel(mark, out);
        } else if matches!(self.requests.state, State::Held) && !self.pairing.awaits_tunnel() {
            self.lose(Role::Request, out);
        }
    }

    /// Enter the tunnel. Its first bytes decide whether HTTP continues inside.
    fn enter_tunnel(&mut self, mark: Mark, out: &mut Output) {
        match self.requests.state {
            State::Idle | State::Head | State::Body(_) => self.has_unread_tunnel = true,
            _ => self.leave_http(mark, out),
        }
    }

    fn doubt(&self, doubt: framing::Doubt, mark: Mark, out: &mut Output) {
        if let Some(detail) = doubt {
            out.notice(AnomalyKind::AmbiguousFraming, mark, detail);
        }
    }
}

/// Report a registered method in another case (RFC 9110, section 9.1), and a truncated target.
fn notice_odd_start(request: &Message, mark: Mark, out: &mut Output) {
    let method = request.method.as_deref().unwrap_or_default().as_bytes();
    if method != b"GET" && is_registered(method) && method.iter().any(u8::is_ascii_lowercase) {
        let detail = "the method of a request is not in upper case";
        out.notice(AnomalyKind::MalformedHttp, mark, detail);
    }
    let target = request.target.as_deref().unwrap_or_default();
    if target.len() >= TARGET_KEPT_MAX {
        let detail = "a request target is cut at 8 KiB";
        out.notice(AnomalyKind::LimitReached, mark, detail);
    }
}
