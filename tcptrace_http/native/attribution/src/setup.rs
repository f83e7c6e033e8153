//! Time before the first request: the TCP and TLS handshakes, and data held within and behind them.

use tcptrace_path::Route;
use trace_model::rows::Cause;

use crate::exchange::{Extent, Handshake};
use crate::explained_stream::Span;
use crate::partition::{Moment, Partition, ASSUMED, INFERRED, SEEN};
use crate::stream::Stream;

/// Streams of the client and of the server.
pub(crate) type Streams<'a> = (&'a Stream, &'a Stream);

/// Assign the time of the handshakes.
pub(crate) fn assign(
    handshake: &Handshake,
    (client, server): Streams<'_>,
    partition: &mut Partition,
) {
    if let Some(resent) = handshake.resent {
        partition.until(resent, Cause::SetupSynRetransmission, SEEN);
    }
    if let Some(done) = handshake.done {
        partition.until(done, Cause::SetupHandshake, SEEN);
    }
    let Some(secured) = handshake.secured else {
        return;
    };
    let (since_ns, until_ns) = (partition.time_ns(), secured.time_ns);
    let is_of_flight = |span: &&Span, stream: &Stream, peer: &Stream| {
        // Data behind the peer's data answers that data, even if an ACK coincides.
        let before_ns = stream.delivered_before(span.end_ns).unwrap_or(since_ns);
        is_hold(span) && !peer.has_delivered(before_ns, span.end_ns)
    };
    let of = |stream: &Stream, peer: &Stream| -> Vec<Span> {
        let spans = stream.between(since_ns, until_ns);
        spans
            .filter(|it| is_of_flight(it, stream, peer))
            .copied()
            .collect()
    };
    let mut holds = [of(client, server), of(server, client)].concat();
    holds.sort_by_key(|it| it.start_ns);
    // The handshake's last segment may pass the capture before it reaches its receiver.
    let ends_by_then = |it: &Span| it.end_ns <= until_ns || it.end_frame == Some(secured.frame);
    for span in holds.into_iter().filter(ends_by_then) {
        assign_hold(&span, Cause::SetupTlsHandshake, partition);
    }
    partition.until(secured, Cause::SetupTlsHandshake, SEEN);
}

/// Assign the time for which the first request was held behind the client's Finished.
pub(crate) fn assign_held_request(
    handshake: &Handshake,
    request: &Extent,
    (client, server): Streams<'_>,
    partition: &mut Partition,
) {
    let Some(secured) = handshake.secured else {
        return;
    };
    let first = request.first;
    // A client may wait for a server greeting; an HTTP client does not.
    let since_ns = secured.time_ns.saturating_add(1);
    let may_answer = !handshake.is_http_client && server.has_delivered(since_ns, first.time_ns);
    let mut spans = client.between(partition.time_ns(), first.time_ns);
    let held = spans.find(|it| {
        let is_behind_finished = it.bound.released_by > Some(secured.frame);
        is_hold(it) && is_behind_finished && it.end_frame == Some(first.frame)
    });
    if let Some(span) = held.filter(|_| !may_answer) {
        assign_hold(span, Cause::ClientThink, partition);
    }
}

/// Assign the time for which the first request waited for the server's SETTINGS, if it followed soon after
/// them.
pub(crate) fn assign_settings(
    handshake: &Handshake,
    request: &Extent,
    up: &Route,
    partition: &mut Partition,
) {
    let Some(settings) = handshake.settings else {
        return;
    };
    let answer_ns = up.answer_ns(settings.time_ns, SETTINGS_BYTES, SETTINGS_BYTES);
    let waited_ns = answer_ns.saturating_sub(partition.time_ns());
    let late_ns = request.first.time_ns.saturating_sub(answer_ns);
    let tolerance_ns = up.tolerance_ns().saturating_add(up.host_ns());
    if late_ns >= -tolerance_ns && late_ns <= tolerance_ns.max(waited_ns / SOON_SHARE) {
        let end_ns = answer_ns.min(request.first.time_ns);
        partition.within(end_ns, Cause::SetupH2Settings, None, INFERRED);
    }
}

/// Longest pause after SETTINGS, as a divisor of the wait, with which a client counts as waiting for them.
const SOON_SHARE: i64 = 4;
/// Size of a packet with SETTINGS.
const SETTINGS_BYTES: u32 = 80;

fn assign_hold(span: &Span, before: Cause, partition: &mut Partition) {
    let behind = span.bound.behind.map(|it| Moment {
        time_ns: span.start_ns,
        frame: it.frame,
    });
    match behind {
        Some(behind) => partition.until(behind, before, SEEN),
        None => partition.within(span.start_ns, before, None, SEEN),
    }
    let (bound, time_ns) = (Some(span.bound), span.end_ns);
    match span.end_frame {
        Some(frame) => partition.bound(
            Moment { time_ns, frame },
            span.cause,
            bound,
            span.confidence,
        ),
        None => partition.within(time_ns, span.cause, bound, span.confidence),
    }
}

/// Return whether data waited behind a short segment, or behind a window of one segment.
///
/// If cwnd also explains an ordinary round trip, the flight was too large for a hold.
fn is_hold(span: &Span) -> bool {
    match span.cause {
        Cause::StallNagleDelayedAck | Cause::StallDelayedAckFirstSegment => true,
        Cause::StallNagleHold => span.bound.behind.is_some() && span.confidence > ASSUMED,
        _ => false,
    }
}
