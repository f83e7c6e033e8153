//! The pairing's record of a request and its response, finished or not.

use super::framing::MethodKind;
use super::message::{Interim, Message, Transaction};
use super::Mark;

/// A request with a known head, identified by its start offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestFacts {
    pub(super) start: u64,
    pub(super) head_end: u64,
    pub(super) first: Mark,
    /// Number of server bytes that the client had received when it sent the request's first byte.
    pub(super) seen: u64,
    pub(super) kind: MethodKind,
    /// True if the request asks for a tunnel or another protocol.
    pub(super) wants_tunnel: bool,
}

/// A final response with a known head, identified by its start offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseFacts {
    pub(super) start: u64,
    /// Start of the preceding interim responses, else the response's own start.
    pub(super) sequence_start: u64,
    pub(super) first: Mark,
    /// Number of client bytes that the response's first segment acknowledged.
    pub(super) acked: Option<u64>,
    /// The previous final response.
    pub(super) prior: Option<PriorResponse>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PriorResponse {
    pub(super) end: u64,
    pub(super) acked: Option<u64>,
    /// True if the response answers a seen request.
    pub(super) is_paired: bool,
}

/// A request, a response, or both. Each is known from its head on, and later finished.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) request: Option<RequestFacts>,
    pub(super) request_message: Option<Box<Message>>,
    pub(super) response: Option<ResponseFacts>,
    pub(super) response_message: Option<Box<Message>>,
    pub(super) interim: Option<Interim>,
    pub(super) pipelined: bool,
    pub(super) paired_after_loss: bool,
    /// True if the order was already lost when the request came.
    pub(super) is_doubtful: bool,
}

impl Exchange {
    /// Return the memory of the finished messages.
    pub(super) fn message_bytes(&self) -> u64 {
        let messages = [&self.request_message, &self.response_message];
        let bytes = messages.into_iter().flatten().map(|it| it.held_bytes());
        bytes.fold(0, u64::saturating_add)
    }

    /// Return true if the response's request is not delivered yet.
    pub(super) fn awaits_request(&self) -> bool {
        self.request.is_none()
    }

    pub(super) fn awaits_response(&self) -> bool {
        self.request.is_some() && self.response.is_none()
    }

    pub(super) fn is_finished(&self, client_ended: bool, server_ended: bool) -> bool {
        let request = match self.request {
            Some(_) => self.request_message.is_some(),
            None => client_ended,
        };
        let response = match self.response {
            Some(_) => self.response_message.is_some(),
            None => server_ended,
        };
        request && response
    }

    /// Return the transaction, or None if neither message is finished. An unfinished message is output
    /// alone later.
    pub(super) fn into_transaction(self, index: u64) -> Option<Transaction> {
        if self.request_message.is_none() && self.response_message.is_none() {
            return None;
        }
        Some(Transaction {
            index,
            request: self.request_message,
            response: self.response_message,
            interim: self.interim,
            pipelined: self.pipelined,
            paired_after_loss: self.paired_after_loss,
            opaque: None,
            stream: None,
        })
    }
}
