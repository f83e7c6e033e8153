//! Finished transaction for the judgement over all flows.

use std::sync::Arc;

use tcptrace_http_messages::Transaction;
use trace_model::rows::TransactionRow;
use trace_model::{IpAddress, Mark};

/// Smallest body that matters: a smaller body fits one Ethernet segment with its head.
const BODY_BYTES_MIN: u64 = 1460;

/// Transaction with a known request; most exchanges have only their URL and times.
#[derive(Debug)]
pub struct Exchange {
    /// Frame of the packet that finished the transaction: the order of exchanges over all flows.
    pub frame: u64,
    pub flow: u32,
    pub transaction: u32,
    pub client: IpAddress,
    pub server: IpAddress,
    pub host: Option<String>,
    pub target: String,
    pub request_frame: u64,
    pub request_time: i64,
    /// Time of the SYN, for the first transaction of a flow.
    pub opened_ns: Option<i64>,
    pub details: Option<Box<Details>>,
}

/// Details of a transaction that may be judged.
#[derive(Debug)]
pub struct Details {
    /// Row of the transaction, with the flow number of one share.
    pub row: TransactionRow,
    pub rtt_ns: Option<i64>,
    pub server_path_rtt_ns: Option<i64>,
    pub segment_bytes: u32,
    pub noted: MessageNotes,
}

/// Data taken from the messages of a transaction before they become a row.
#[derive(Debug, Default)]
pub struct MessageNotes {
    pub head_last: Option<Mark>,
    pub body_first: Option<Mark>,
    pub continue_first: Option<Mark>,
    /// Body of the response, if it is short text.
    pub text: Option<Arc<Vec<u8>>>,
    /// Nanoseconds of each pause between two segments of the body.
    pub pauses_ns: Vec<i64>,
}

impl MessageNotes {
    pub(crate) fn of(transaction: &mut Transaction) -> MessageNotes {
        let request = transaction.request.as_deref();
        let body = transaction
            .response
            .as_mut()
            .and_then(|response| response.body.kept.as_mut());
        let (text, pauses_ns) = body.map_or((None, Vec::new()), |body| {
            (body.text.take(), std::mem::take(&mut body.pauses_ns))
        });
        MessageNotes {
            head_last: request.map(|request| request.head_last),
            body_first: request.and_then(|request| request.body.first),
            continue_first: transaction
                .interim
                .filter(|interim| interim.status == 100)
                .map(|interim| interim.first),
            text,
            pauses_ns,
        }
    }
}

/// Return whether a response redirects the client (RFC 9110, section 15.4).
pub fn is_redirect(row: &TransactionRow) -> bool {
    matches!(row.status, Some(301 | 302 | 303 | 307 | 308)) && row.location.is_some()
}

/// Return whether a response is a whole object that a cache could have supplied.
pub fn is_object(row: &TransactionRow) -> bool {
    row.body_digest.is_some()
        && row.response_body_bytes >= Some(BODY_BYTES_MIN)
        && row.method.as_deref() == Some("GET")
}

/// Return whether the exchange needs details besides its URL.
pub fn is_notable(row: &TransactionRow) -> bool {
    row.expects_continue || is_redirect(row) || is_object(row)
}
