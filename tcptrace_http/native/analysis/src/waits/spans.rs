//! When a transaction and its messages began and ended.

use trace_model::rows::TransactionRow;

use super::partition::Moment;
use super::setup::Setup;

/// The moments that a transaction's row tells.
#[derive(Debug)]
pub(super) struct Spans {
    pub(super) start: Moment,
    pub(super) end: Moment,
    /// It starts with the handshake.
    pub(super) opens_connection: bool,
    pub(super) request: Option<(Moment, Moment)>,
    pub(super) response: Option<(Moment, Moment)>,
}

impl Spans {
    pub(super) fn of(row: &TransactionRow, setup: &Setup) -> Spans {
        let moment = |time: Option<i64>, frame: Option<u64>| {
            Some(Moment {
                time_ns: time?,
                frame: frame?,
            })
        };
        let span = |first: Option<Moment>, last: Option<Moment>| {
            let first = first?;
            Some((first, last.unwrap_or(first).later(first)))
        };
        let request = span(
            moment(row.request_time, row.request_frame),
            moment(row.request_last_time, row.request_last_frame),
        );
        let response = span(
            moment(row.response_first_time, row.response_first_frame),
            moment(row.response_last_time, row.response_last_frame),
        );
        let last_ack = moment(row.last_ack_time, row.last_ack_frame);
        let first = request.or(response).map_or_else(Moment::default, |it| it.0);
        let syn = setup
            .begun
            .filter(|syn| row.index == 0 && request.is_some() && syn.time_ns <= first.time_ns);
        let start = syn.unwrap_or(first);
        let ends = [request.map(|it| it.1), response.map(|it| it.1), last_ack];
        let end = ends.into_iter().flatten().fold(start, Moment::later);
        Spans {
            start,
            end,
            opens_connection: syn.is_some(),
            request,
            response,
        }
    }
}
