//! A finished transaction as it is handed on to be judged together with those of all other flows.

use trace_model::rows::TransactionRow;
use trace_model::IpAddress;

use crate::http::{Mark, Transaction};

/// A transaction whose request is known, and what its row does not say.
#[derive(Debug)]
pub struct Exchange {
    /// The packet at which it was finished: by it exchanges of several flows are put in order.
    pub frame: u64,
    pub client: IpAddress,
    pub server: IpAddress,
    /// Time of the SYN, of the first transaction of a flow.
    pub opened_ns: Option<i64>,
    pub rtt_ns: Option<i64>,
    pub server_path_rtt_ns: Option<i64>,
    pub segment_bytes: u32,
    pub noted: Noted,
    pub row: TransactionRow,
}

/// What is taken from the messages of a transaction before they become a row.
#[derive(Debug, Default)]
pub struct Noted {
    pub head_last: Option<Mark>,
    pub body_first: Option<Mark>,
    pub continue_first: Option<Mark>,
    /// The body of the response, if it is short and text.
    pub text: Option<Vec<u8>>,
}

impl Noted {
    pub(crate) fn of(transaction: &mut Transaction) -> Noted {
        let request = transaction.request.as_deref();
        let body = transaction
            .response
            .as_mut()
            .and_then(|response| response.body.as_mut());
        Noted {
            head_last: request.map(|request| request.head_last),
            body_first: request.and_then(|request| request.body_first),
            continue_first: transaction
                .interim
                .filter(|interim| interim.status == 100)
                .map(|interim| interim.first),
            text: body.and_then(|body| body.text.take()),
        }
    }
}
