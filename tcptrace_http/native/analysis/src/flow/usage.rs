//! Use of a connection: the persistence that its requests ask for and its responses allow.

use tcptrace_http_messages::{Framing, Message, Transaction};

/// Transaction whose client lacks a part of the response.
#[derive(Clone, Debug)]
pub struct FailedTransaction {
    pub index: u32,
    pub request: Option<Box<Message>>,
    pub response: Option<Box<Message>>,
    pub pipelined: bool,
    /// Time of the last byte of the previous response.
    pub response_before_ns: Option<i64>,
}

/// Use of a flow by its transactions.
#[derive(Debug, Default)]
pub struct Usage {
    pub transactions: u32,
    pub first_request_ns: Option<i64>,
    pub last_response_ns: Option<i64>,
    pub request_persists: Option<bool>,
    pub response_persists: Option<bool>,
    /// Time at which the server's data was first missing or retransmitted.
    pub server_loss_ns: Option<i64>,
    pub answered: u32,
    pub unanswered: u32,
    /// First failed transaction; most flows have none.
    pub failed_transaction: Option<Box<FailedTransaction>>,
}

impl Usage {
    /// Take the next transaction, and return its number on the flow.
    pub fn add(&mut self, transaction: &Transaction) -> u32 {
        let index = self.transactions;
        self.transactions = index.saturating_add(1);
        let request = transaction.request.as_deref();
        let response = transaction.response.as_deref();
        if index == 0 {
            self.first_request_ns = request.map(|it| it.first.time_ns);
        }
        let is_http = transaction.opaque.is_none();
        let is_whole = response.is_some_and(|it| it.complete);
        match response {
            None => self.unanswered = self.unanswered.saturating_add(1),
            Some(_) if !is_whole => {}
            Some(response) => {
                self.answered = self.answered.saturating_add(1);
                self.request_persists = request.filter(|_| is_http).map(|it| it.keep_alive);
                self.response_persists = is_http.then_some(response.keep_alive);
            }
        }
        // Client data in TLS may need no answer.
        let stream = transaction.stream.as_deref();
        let is_given_up = stream.is_some_and(|it| it.reset.is_some());
        let may_be = is_http && !is_given_up && self.failed_transaction.is_none();
        if may_be && is_failed(request, response) {
            self.failed_transaction = Some(Box::new(FailedTransaction {
                index,
                request: transaction.request.clone(),
                response: transaction.response.clone(),
                pipelined: transaction.pipelined,
                response_before_ns: self.last_response_ns,
            }));
        }
        if let Some(response) = response.filter(|it| it.complete) {
            self.last_response_ns = Some(response.last.time_ns);
        }
        index
    }
}

/// Return whether the client lacks data that the capture would show.
///
/// This is a whole request without a response, or a response without its end and without missing bytes.
fn is_failed(request: Option<&Message>, response: Option<&Message>) -> bool {
    match response {
        None => request.is_some_and(|it| it.complete && it.missing_bytes == 0),
        Some(it) => !it.complete && it.missing_bytes == 0 && it.body.framing != Framing::Tunnel,
    }
}
