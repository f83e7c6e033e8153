//! Lost segments in a capture near the sender: segments whose retransmission was necessary.

use tcptrace_path::Route;

use crate::log::Event;

/// Return the log positions of lost segments: segments whose retransmission was necessary.
pub(crate) fn lost_originals(log: &[Event], route: &Route) -> Vec<usize> {
    let mut lost = Vec::new();
    let mut snd_nxt = 0;
    for (place, event) in log.iter().enumerate() {
        let Event::Data(copy) = event else { continue };
        if copy.end > snd_nxt || copy.is_probe {
            snd_nxt = snd_nxt.max(copy.end);
            continue;
        }
        let received_ns = route
            .to_receiver_ns
            .saturating_add(copy.link_queue_ns)
            .saturating_add(route.link.longer_ns(copy.packet_bytes, route.ack_bytes));
        let too_soon_ns = copy
            .time_ns
            .saturating_add(received_ns.saturating_mul(3) / 4);
        let later = log.iter().skip(place).filter_map(|event| match event {
            Event::Ack(ack) => Some(ack),
            Event::Data(_) => None,
        });
        let mut later = later.take_while(|ack| ack.time_ns < too_soon_ns);
        if later.any(|ack| ack.ack >= copy.end) {
            continue;
        }
        let before = log.iter().enumerate().take(place).rev();
        let mut before = before.filter_map(|(place, event)| match event {
            Event::Data(data) if !data.is_probe => Some((place, data)),
            _ => None,
        });
        // A copy that begins within a segment replaces it; a copy that ends with it may replace it.
        let original = before
            .clone()
            .find(|(_, it)| it.start <= copy.start && it.end > copy.start);
        let within = before.find(|(_, it)| it.start > copy.start && it.end == copy.end);
        lost.extend(original.into_iter().chain(within).map(|(place, _)| place));
    }
    lost.sort_unstable();
    lost.dedup();
    lost
}
