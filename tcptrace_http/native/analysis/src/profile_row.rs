//! Rows of a flow in the profiles table: the profile of each direction.

use tcptrace_attribution::Profile;
use tcptrace_sender::nagle::Variant;
use trace_model::rows::{Direction, NagleVariant, ProfileRow};

use crate::flow::Flow;

/// Return the profile row of each direction of `flow` at its end.
pub fn profile_rows(flow: &Flow) -> impl Iterator<Item = ProfileRow> + '_ {
    let directions = Direction::ALL.iter().copied();
    directions.filter_map(|direction| Some(row(flow, direction, flow.profile(direction)?)))
}

fn row(flow: &Flow, direction: Direction, profile: &Profile) -> ProfileRow {
    let (learnt, route) = (profile.learnt(), profile.route());
    let window = learnt.initial_window;
    let (least, most) = learnt.offered.unzip();
    let delays = Some(learnt.delays).filter(|it| it.count > 0);
    ProfileRow {
        flow: flow.id.number,
        direction,
        mss: u32::try_from(learnt.full_bytes).ok().filter(|it| *it > 0),
        round_trip: route.round_trip_ns(),
        round_trip_to_sender: route.to_sender_ns,
        round_trip_to_receiver: route.to_receiver_ns,
        link_rate: route.link.bits_per_second(),
        first_flight_bytes: bytes(learnt.first_flight.bytes).unwrap_or(0),
        first_flight_segments: learnt.first_flight.segments,
        initial_window_bytes: window.and_then(|it| bytes(it.bytes)),
        initial_window_segments: window.map(|it| it.segments),
        initial_window_frame: window.map(|it| it.frame),
        nagle: nagle_word(profile.nagle()),
        nagle_holds: learnt
            .held_behind_short
            .saturating_add(learnt.held_behind_full),
        largest_window_bytes: bytes(learnt.largest.bytes).unwrap_or(0),
        largest_window_segments: learnt.largest.segments,
        receive_window_min: least.and_then(bytes),
        receive_window_max: most.and_then(bytes),
        acks: learnt.acks,
        stretch_acks: learnt.stretch_acks,
        delayed_acks: learnt.delays.count,
        ack_delay: delays.map(|it| it.largest_ns),
        ack_delay_frame: delays.map(|it| it.frame),
        restarts: learnt.restarts,
        kept_windows: learnt.kept_windows,
        send_buffer_bytes: learnt.send_buffer_bytes.and_then(bytes),
        retransmissions: learnt.retransmissions,
        segment_max: u32::try_from(learnt.segment_max).unwrap_or(0),
        acked_segment_max: u32::try_from(learnt.acked_segment_max).unwrap_or(0),
    }
}

fn bytes(count: i64) -> Option<u64> {
    u64::try_from(count).ok()
}

/// Return the table's value for a variant of Nagle's algorithm.
pub fn nagle_word(variant: Option<Variant>) -> NagleVariant {
    match variant {
        None => NagleVariant::Unknown,
        Some(Variant::Off) => NagleVariant::Off,
        Some(Variant::Minshall) => NagleVariant::Minshall,
        Some(Variant::Rfc896) => NagleVariant::Rfc896,
    }
}
