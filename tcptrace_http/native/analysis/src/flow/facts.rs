//! Facts of a finished transaction and of its path, as input of the attribution.

use tcptrace_attribution::{
    ConnectionEnd, Extent, Facts, Handshake, Moment, PathFacts, UnfinishedTransaction,
};
use tcptrace_http_messages::Reset;
use tcptrace_path::RoundTrip;
use tcptrace_tcp::Side;
use trace_model::rows::{Framing, Protocol, TransactionRow};

use super::closing::Close;
use super::unacknowledged::Completeness;
use super::Flow;
use crate::recoveries::Span;

impl Flow {
    /// Return the facts of a finished transaction.
    pub(super) fn facts(
        &self,
        row: &TransactionRow,
        request: Option<Span>,
        response: Option<Span>,
    ) -> Facts {
        Facts {
            path: self.path_facts(),
            request: extent(
                (row.request_time, row.request_frame),
                (row.request_last_time, row.request_last_frame),
                request,
            ),
            response: extent(
                (row.response_first_time, row.response_first_frame),
                (row.response_last_time, row.response_last_frame),
                response,
            ),
            handshake: (!row.reused_connection).then(|| Handshake {
                secured: self.secured(row.request_time),
                is_http_client: self.carried.handshake().is_some_and(|it| it.offers_http()),
                settings: self.settings(row.request_frame),
                ..self.setup.handshake()
            }),
            is_one_sided: self.first.counts.packets == 0 || self.second.counts.packets == 0,
            unfinished: None,
        }
    }

    /// Return the end of the TLS handshake, if it precedes the first request.
    fn secured(&self, request_ns: Option<i64>) -> Option<Moment> {
        let done = self.carried.handshake()?.done()?;
        let is_before = request_ns.is_none_or(|first_ns| done.time_ns <= first_ns);
        is_before.then_some(Moment {
            time_ns: done.time_ns,
            frame: done.frame,
        })
    }

    /// Return the server's SETTINGS if the client sent its preface in an earlier frame than its first request.
    ///
    /// The server may send them before the preface arrives (RFC 9113, section 3.4).
    fn settings(&self, request_frame: Option<u64>) -> Option<Moment> {
        let http2 = self.carried.http2()?;
        let (preface, settings) = (http2.preface?, http2.server.settings?);
        let request_frame = request_frame?;
        let is_behind = preface.frame < request_frame && settings.frame < request_frame;
        is_behind.then_some(Moment {
            time_ns: settings.time_ns,
            frame: settings.frame,
        })
    }

    /// Return the current facts of the path.
    pub(super) fn path_facts(&self) -> PathFacts {
        let client = self.client();
        let pair = self.pair();
        let round_trips = pair.round_trips.map(Option::unwrap_or_default);
        let [to_client, to_server] = by_role(client, round_trips);
        let (has_no_client_acks, has_no_server_acks) = self.lacks_pure_acks();
        // Without captured ACKs, only a handshake gives a round trip.
        let has_handshake = self.setup.initial_rtt_ns.is_some();
        let trusted = |round_trip: RoundTrip, has_no_acks: bool| {
            if has_no_acks && !has_handshake {
                RoundTrip::default()
            } else {
                round_trip
            }
        };
        let to_client = trusted(to_client, has_no_client_acks);
        let to_server = trusted(to_server, has_no_server_acks);
        let longer = if to_server.time_ns < to_client.time_ns {
            to_client
        } else {
            to_server
        };
        // If a middlebox sends the ACKs, the handshake gives the round trip to the server.
        let to_server_ns = self.round_trip_behind_local_acks_ns();
        PathFacts {
            client_is_second: client == Side::Second,
            to_server_ns: to_server_ns.unwrap_or(to_server.time_ns),
            to_client_ns: to_client.time_ns,
            links: by_role(client, pair.links),
            links_by_acks: by_role(client, pair.links_by_acks),
            is_one_host: pair.is_one_host,
            has_no_acks: [has_no_server_acks, has_no_client_acks],
            header_bytes: self.header_bytes(),
            probe_bytes: longer.bytes,
        }
    }

    /// Return the state of a transaction that is unfinished at the end of the connection or capture.
    pub(super) fn unfinished(
        &self,
        row: &TransactionRow,
        whole: Completeness,
        facts: &Facts,
        last_ns: i64,
    ) -> Option<UnfinishedTransaction> {
        let is_received = whole.response && row.last_ack_time.is_some();
        let is_over = self.server_half().has_ended;
        // Later client data in TLS may need no answer.
        let needs_none = row.protocol == Protocol::Tls && row.index > 0;
        if needs_none && row.response_first_frame.is_none() {
            return None;
        }
        if is_received || !is_over || row.response_framing == Some(Framing::Tunnel) {
            return None;
        }
        let moment = |close: Close| Moment {
            time_ns: close.mark.time_ns,
            frame: close.mark.frame,
        };
        // A FIN that comes with the request only ends the requests.
        let round_trip_ns = facts
            .path
            .to_server_ns
            .saturating_add(facts.path.to_client_ns);
        let requested_ns = facts.request.map_or(i64::MIN, |it| it.last.time_ns);
        let ends_wait = |close: &Close| {
            close.is_reset || close.mark.time_ns > requested_ns.saturating_add(round_trip_ns)
        };
        let client_end = [self.closing.client.filter(ends_wait), self.closing.reset];
        let client_end = client_end.into_iter().flatten().map(moment);
        let content_type = row.content_type.as_deref().unwrap_or_default();
        Some(UnfinishedTransaction {
            request_is_whole: whole.request,
            response_is_whole: whole.response,
            has_interim: row.interim_responses > 0,
            is_event_stream: content_type.starts_with("text/event-stream"),
            ended: ConnectionEnd {
                by_server: self.closing.server.map(moment),
                client_end: client_end.reduce(Moment::earlier),
                capture_ns: last_ns.max(self.end_ns),
            },
        })
    }
}

/// Return the state of an HTTP/2 stream that was reset before its response was complete.
pub(super) fn reset_stream(
    row: &TransactionRow,
    whole: Completeness,
    reset: Reset,
) -> Option<UnfinishedTransaction> {
    (!whole.response).then_some(UnfinishedTransaction {
        request_is_whole: whole.request,
        response_is_whole: false,
        has_interim: row.interim_responses > 0,
        is_event_stream: false,
        ended: ConnectionEnd {
            by_server: None,
            client_end: Some(Moment {
                time_ns: reset.mark.time_ns,
                frame: reset.mark.frame,
            }),
            capture_ns: reset.mark.time_ns,
        },
    })
}

/// Return the item of the client first, and the item of the server second.
fn by_role<T>(client: Side, [first, second]: [T; 2]) -> [T; 2] {
    match client {
        Side::First => [first, second],
        Side::Second => [second, first],
    }
}

/// Return the extent of a message from its first byte to its last.
fn extent(
    first: (Option<i64>, Option<u64>),
    last: (Option<i64>, Option<u64>),
    span: Option<Span>,
) -> Option<Extent> {
    let moment = |(time, frame): (Option<i64>, Option<u64>)| {
        Some(Moment {
            time_ns: time?,
            frame: frame?,
        })
    };
    let first = moment(first)?;
    let last = moment(last).unwrap_or(first).later(first);
    let span = span?;
    Some(Extent {
        first,
        last,
        start: span.start,
        end: span.end,
    })
}
