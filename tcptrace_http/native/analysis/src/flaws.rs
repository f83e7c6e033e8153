//! In which ways the capture of a flow falls short of what was on the wire.

use tcptrace_tcp::Half;
use trace_model::rows::{Direction, Flaw, FlawRow};

use crate::flow::Flow;

/// A hole of a single number may be a FIN, which is no data.
const NUMBER_OF_FIN: u64 = 1;

/// The flaws of a flow that is finished. Where no messages were found only the one that may be the reason.
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

/// One direction has acknowledged the other, of which there is no packet. A request on a SYN that was
/// never answered (TCP fast open) acknowledges nothing.
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

/// What was acknowledged, and so was on the wire, but is not in the capture: holes that nothing filled
/// later, and the end of what a direction sent. Of a direction without any packet, see `one_sided`.
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

/// ACKs without data were sent, and none of them is in the capture.
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
