//! Flaws of a flow's capture compared with the traffic on the wire.

use tcptrace_tcp::Half;
use trace_model::rows::{Direction, Flaw, FlawRow};

use crate::flow::Flow;

/// Size of a hole that may be a FIN without data.
const NUMBER_OF_FIN: u64 = 1;

/// Return the flaws of a finished flow; without messages, only the flaw that may explain their absence.
pub fn flaws(flow: &Flow) -> impl Iterator<Item = FlawRow> {
    let truncated = (flow.properties.cut.segments > 0).then(|| FlawRow {
        flaw: Flaw::TruncatedPayload,
        frame: flow.properties.cut.first_frame,
        count: flow.properties.cut.segments,
        bytes: flow.properties.cut.bytes,
        ..row(flow)
    });
    let of_messages = flow.carried.has_messages().then(|| {
        [
            one_sided(flow),
            mid_stream(flow),
            gap(flow),
            offloaded(flow),
            no_pure_acks(flow),
            local_acks(flow),
        ]
    });
    of_messages.into_iter().flatten().flatten().chain(truncated)
}

fn row(flow: &Flow) -> FlawRow {
    FlawRow {
        flow: flow.id.number,
        has_messages: flow.carried.has_messages(),
        server_port: flow.client_and_server().1.port,
        ..FlawRow::default()
    }
}

/// Return the flaw of a flow with packets of one direction only, whose ACKs show the other direction.
///
/// An unanswered SYN with data (TCP Fast Open) acknowledges nothing and is no flaw.
fn one_sided(flow: &Flow) -> Option<FlawRow> {
    let is_missing =
        |missing: &Half, seen: &Half| missing.counts.packets == 0 && seen.acks.last.is_some();
    let (client, server) = (flow.client_half(), flow.server_half());
    let seen = if is_missing(server, client) {
        Direction::ClientToServer
    } else if is_missing(client, server) {
        Direction::ServerToClient
    } else {
        return None;
    };
    Some(FlawRow {
        flaw: Flaw::OneSidedCapture,
        direction: Some(seen),
        frame: Some(flow.begun.frame),
        ..row(flow)
    })
}

fn mid_stream(flow: &Flow) -> Option<FlawRow> {
    (!flow.first.has_syn && !flow.second.has_syn).then(|| FlawRow {
        flaw: Flaw::MidStreamStart,
        frame: Some(flow.begun.frame),
        ..row(flow)
    })
}

/// Return the flaw of data that was acknowledged but is not in the capture.
///
/// The data is in unfilled holes or at the end of a direction. `one_sided` covers a direction without
/// packets.
fn gap(flow: &Flow) -> Option<FlawRow> {
    let mut made = FlawRow {
        flaw: Flaw::CaptureGap,
        ..row(flow)
    };
    for half in [&flow.first, &flow.second] {
        for hole in half.holes.acknowledged(half.sequence.acked) {
            if hole.bytes() <= NUMBER_OF_FIN {
                continue;
            }
            made.count = made.count.saturating_add(1);
            made.bytes = made.bytes.saturating_add(hole.bytes());
            made.frame = made.frame.into_iter().chain(hole.frame).min();
        }
        let beyond =
            u64::try_from(half.sequence.acked.saturating_sub(half.sequence.next)).unwrap_or(0);
        if half.counts.packets > 0 && beyond > NUMBER_OF_FIN {
            made.count = made.count.saturating_add(1);
            made.bytes = made.bytes.saturating_add(beyond);
        }
    }
    (made.count > 0).then_some(made)
}

fn offloaded(flow: &Flow) -> Option<FlawRow> {
    (flow.segment_size.super_segments > 0).then(|| FlawRow {
        flaw: Flaw::SegmentationOffload,
        frame: flow.segment_size.super_segment_frame,
        count: flow.segment_size.super_segments,
        bytes: u64::from(flow.segment_size.largest()),
        ..row(flow)
    })
}

/// Return the flaw of a capture without pure ACKs, if the flow must have had them.
fn no_pure_acks(flow: &Flow) -> Option<FlawRow> {
    let direction = match flow.lacks_pure_acks() {
        (true, false) => Some(Direction::ClientToServer),
        (false, true) => Some(Direction::ServerToClient),
        (true, true) => None,
        (false, false) => return None,
    };
    Some(FlawRow {
        flaw: Flaw::NoPureAcks,
        direction,
        frame: Some(flow.begun.frame),
        ..row(flow)
    })
}

fn local_acks(flow: &Flow) -> Option<FlawRow> {
    flow.round_trip_behind_local_acks_ns().map(|_| FlawRow {
        flaw: Flaw::LocalAcks,
        direction: Some(Direction::ServerToClient),
        frame: Some(flow.begun.frame),
        ..row(flow)
    })
}
