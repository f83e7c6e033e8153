//! Statistics of a flow as columns of its row.

use trace_model::rows::{DirectionStatistics, FlowStatisticsRow};

use super::sender::Sender;
use super::Statistics;
use crate::ends::Side;
use crate::half::Half;

const NANOSECONDS: f64 = 1e9;

/// Facts of the flow for its row.
#[derive(Clone, Copy, Debug)]
pub struct FlowFacts<'a> {
    pub client: Side,
    pub client_half: &'a Half,
    pub server_half: &'a Half,
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Statistics {
    /// Return the row of `flow` at its end.
    #[must_use]
    pub fn row(&self, flow: &FlowFacts<'_>) -> FlowStatisticsRow {
        let (client, server) = match flow.client {
            Side::First => (&self.first, &self.second),
            Side::Second => (&self.second, &self.first),
        };
        FlowStatisticsRow {
            completeness: self.completeness,
            client: direction(client, flow.client_half, flow),
            server: direction(server, flow.server_half, flow),
        }
    }
}

fn direction(sender: &Sender, half: &Half, flow: &FlowFacts<'_>) -> DirectionStatistics {
    let mut row = DirectionStatistics::default();
    counted(&mut row, sender);
    sent(&mut row, sender, half, flow);
    windows(&mut row, sender, flow);
    round_trips(&mut row, sender);
    retransmissions(&mut row, sender);
    row
}

fn counted(row: &mut DirectionStatistics, sender: &Sender) {
    let counts = &sender.counts;
    row.syns = counts.syns;
    row.fins = counts.fins;
    row.resets = counts.resets;
    row.ack_segments = counts.ack_segments;
    row.pure_acks = counts.pure_acks;
    row.data_segments = counts.data_segments;
    row.data_bytes = counts.data_bytes;
    row.segment_bytes_min = counts.segment_bytes_min;
    row.segment_bytes_max = counts.segment_bytes_max;
    row.segment_bytes_mean = counts.segment_bytes_mean();
    row.push_segments = counts.push_segments;
    row.urgent_segments = counts.urgent_segments;
    row.urgent_bytes = counts.urgent_bytes;
    row.truncated_segments = counts.truncated_segments;
    row.truncated_bytes = counts.truncated_bytes;
    row.network_duplicates = sender.copies.count;
    row.data_duration = counts.data_duration_ns();
    row.idle_max = counts.idle_max_ns;
    row.sack_permitted = counts.sack_permitted;
    row.timestamps = counts.timestamps;
    row.sack_segments = sender.selective_acks.segments;
    row.dsack_segments = sender.selective_acks.duplicates;
    row.sack_blocks_max = sender.selective_acks.blocks_max;
}

fn sent(row: &mut DirectionStatistics, sender: &Sender, half: &Half, flow: &FlowFacts<'_>) {
    let elapsed_ns = flow.end_ns.saturating_sub(flow.start_ns);
    row.throughput =
        (elapsed_ns > 0).then(|| half.unique_bytes as f64 * NANOSECONDS / elapsed_ns as f64);
    let has_syn = sender.counts.syns > 0;
    let fin = sender.fin.filter(|_| has_syn);
    row.stream_bytes = fin.and_then(|fin| u64::try_from(fin.saturating_sub(1)).ok());
    row.missed_bytes = row
        .stream_bytes
        .map(|stream| stream.saturating_sub(half.unique_bytes));
    row.initial_window_segments = has_syn.then_some(sender.initial_window_segments);
    row.initial_window_bytes = has_syn.then_some(sender.initial_window_bytes);
    row.window_probes = sender.window_probes;
    row.window_probe_bytes = sender.window_probe_bytes;
}

fn windows(row: &mut DirectionStatistics, sender: &Sender, flow: &FlowFacts<'_>) {
    let is_scaled = flow.client_half.options.window_scale.is_some()
        && flow.server_half.options.window_scale.is_some();
    let windows = sender.announced.all(is_scaled);
    row.window_bytes_min = windows.least();
    row.window_bytes_max = windows.most();
    row.window_bytes_mean = windows.mean();
    row.flight_bytes_min = sender.flight.least();
    row.flight_bytes_max = sender.flight.most();
    row.flight_bytes_mean = sender.flight.mean();
    row.flight_bytes_time_mean = sender.flight.time_mean(flow.end_ns);
}

fn round_trips(row: &mut DirectionStatistics, sender: &Sender) {
    let trips = &sender.trips;
    row.rtt_samples = trips.all.count;
    row.rtt_min = trips.all.least();
    row.rtt_max = trips.all.longest();
    row.rtt_mean = trips.all.mean();
    row.rtt_stdev = trips.all.stdev();
    row.rtt_handshake = trips.handshake_ns;
    row.rtt_full_samples = trips.full.count;
    row.rtt_full_min = trips.full.least();
    row.rtt_full_max = trips.full.longest();
    row.rtt_full_mean = trips.full.mean();
    row.rtt_full_stdev = trips.full.stdev();
    row.ambiguous_acks = trips.ambiguous;
    row.rtt_resent_min = trips.resent.least();
    row.rtt_resent_max = trips.resent.longest();
    row.rtt_resent_mean = trips.resent.mean();
    row.rtt_resent_stdev = trips.resent.stdev();
    row.post_loss_acks = trips.post_loss;
    row.cumulatively_acked = trips.cumulatively_acked;
    row.triple_duplicate_acks = sender.triple_duplicate_acks;
}

fn retransmissions(row: &mut DirectionStatistics, sender: &Sender) {
    row.retransmitted_bytes = sender.retransmitted_bytes;
    row.retransmissions_of_one_max = sender.ledger.resent_max;
    row.retransmission_time_min = sender.retransmission_times.least();
    row.retransmission_time_max = sender.retransmission_times.longest();
    row.retransmission_time_mean = sender.retransmission_times.mean();
    row.retransmission_time_stdev = sender.retransmission_times.stdev();
    let causes = &sender.causes;
    row.timeout_retransmissions = causes.timeout;
    row.fast_retransmissions = causes.fast;
    row.tail_loss_probes = causes.tail_loss_probe;
    row.window_probe_retransmissions = causes.window_probe;
    row.unknown_retransmissions = causes.unknown;
    row.unnecessary_retransmissions = causes.unnecessary;
}
