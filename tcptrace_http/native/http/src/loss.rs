//! Handling of missing bytes and of bytes that are no message.

use super::connection::Connection;
use super::exchange::RequestFacts;
use super::framing::{Framing, MethodKind};
use super::head::Start;
use super::message::Message;
use super::pairing;
use super::role::Role;
use super::stream::{Skipped, State};
use super::{Mark, Output};

impl Connection {
    pub(super) fn skip(&mut self, role: Role, length: u64, mark: Mark, out: &mut Output) {
        let mut missing = length;
        while missing > 0 {
            let (used, skipped) = self.reader_of(role).skip(missing);
            missing = missing.saturating_sub(used);
            match skipped {
                Skipped::Framed => {}
                Skipped::Finished => self.finish(role, true, mark, out),
                Skipped::Lost => {
                    self.lose_at_gap(role, missing, mark, out);
                    let reader = self.reader_of(role);
                    reader.next = reader.next.saturating_add(missing);
                    return;
                }
            }
        }
    }

    fn lose_at_gap(&mut self, role: Role, missing: u64, mark: Mark, out: &mut Output) {
        let reader = self.reader_of(role);
        if matches!(reader.state, State::PerhapsCut) && reader.origin.first != mark {
            reader.search();
        }
        match self.reader(role).state {
            State::Searching if self.begins_whole => {
                self.lose_messages(role, self.reader(role).next, false, out);
            }
            State::Opaque | State::Searching | State::Held => {}
            State::Idle if self.has_unread_tunnel => self.leave_http(mark, out),
            State::Idle => self.lose(role, out),
            State::Head | State::PerhapsCut => {
                self.break_off_head(role, missing, mark, out);
                if self.has_unread_tunnel {
                    self.leave_http(mark, out);
                }
                self.lose(role, out);
            }
            State::Body(_) => {
                if let Some(message) = &mut self.reader_of(role).message {
                    message.missing_bytes = message.missing_bytes.saturating_add(missing);
                }
                self.finish(role, false, mark, out);
                self.lose(role, out);
            }
        }
    }

    /// Hand out the known part of a message whose head is incomplete: at least its start line.
    pub(super) fn break_off_head(
        &mut self,
        role: Role,
        missing: u64,
        mark: Mark,
        out: &mut Output,
    ) {
        let Some(head) = self.reader_of(role).broken_off_head() else {
            return;
        };
        self.is_http = true;
        self.has_unread_tunnel = false;
        let reader = self.reader_of(role);
        let origin = reader.origin;
        reader.current_start = Some(origin.start);
        let known = reader.next.saturating_sub(origin.start);
        let status = match head.start {
            Start::Request { .. } => None,
            Start::Status(status @ (100 | 102..=199)) => return self.interim_head(status),
            Start::Status(status) => Some(status),
        };
        let mut message = Message::from_head(*head, origin, Framing::Unknown);
        message.header_bytes = known;
        message.missing_bytes = missing;
        match status {
            None => {
                let kind = MethodKind::of(message.method.as_deref().unwrap_or_default());
                let facts = RequestFacts {
                    start: origin.start,
                    // The head ends after its known part, whether the rest is missing or was never sent.
                    head_end: reader.next.saturating_add(1),
                    first: origin.first,
                    seen: origin.peer_acked.unwrap_or(self.responses.next),
                    kind,
                    wants_tunnel: kind == MethodKind::Connect,
                };
                let _ = self.pairing.request(facts, self.responses.next, out);
            }
            Some(_) => {
                let interim = self.interim.take();
                let facts =
                    pairing::response_facts(origin.start, interim, origin.first, origin.peer_acked);
                let _ = self
                    .pairing
                    .response(facts, interim, self.requests.next, out);
            }
        }
        let _ = self.reader_of(role).begin_body(message, &out.known);
        self.finish(role, false, mark, out);
    }

    /// Start the search for the next message. Messages before it can be lost.
    pub(super) fn lose(&mut self, role: Role, out: &mut Output) {
        let reader = self.reader_of(role);
        let (from, is_within) = match reader.state {
            State::Searching | State::Opaque => return,
            // The known part of the head does not identify the message.
            State::Head | State::PerhapsCut => (reader.origin.start, false),
            State::Idle => (reader.next, reader.is_truncated),
            State::Body(_) | State::Held => (reader.next, true),
        };
        reader.search();
        self.lose_messages(role, from, is_within, out);
    }

    fn lose_messages(&mut self, role: Role, from: u64, is_within: bool, out: &mut Output) {
        self.begins_whole = false;
        match role {
            Role::Request => self.pairing.lost_requests(from, is_within, out),
            Role::Response => self.pairing.lost_responses(is_within, out),
        }
    }
}
