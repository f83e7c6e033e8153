//! Packets of undecoded protocols, counted by the layer at which the walk stopped.
//!
//! The report comes at the end of the capture. Without any TCP packet, the report lists all undecoded
//! protocols. With TCP packets, the report lists only EtherTypes with at least a tenth of the packets. Their
//! unknown header could hide TCP. ARP, UDP and beacons are in every capture.

use std::cmp::Reverse;

use super::Layer;
use trace_model::AnomalyKind;

/// Maximum number of protocols with a count of their own. Further protocols share one count, because a
/// hostile capture can have 65 536 EtherTypes.
const UNREAD_MAX: usize = 8;
const NOTABLE_FRACTION: u64 = 10;
const ARP: u16 = 0x0806;
const UDP: u8 = 17;

#[derive(Debug, Default)]
pub(super) struct Unread {
    counts: Vec<(Layer, u64)>,
    others: u64,
}

impl Unread {
    pub fn count(&mut self, layer: Layer) {
        let is_full = self.counts.len() >= UNREAD_MAX;
        let counted = self.counts.iter_mut().find(|(known, _)| *known == layer);
        match counted {
            Some((_, count)) => *count = count.saturating_add(1),
            None if is_full => self.others = self.others.saturating_add(1),
            None => self.counts.push((layer, 1)),
        }
    }

    /// Report notable protocols, the protocol with most packets first.
    pub fn report(
        mut self,
        packets: u64,
        tcp_packets: u64,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) {
        let is_notable =
            |count: u64| tcp_packets == 0 || count.saturating_mul(NOTABLE_FRACTION) >= packets;
        let mut tell = |name: String, count: u64| {
            let unit = if count == 1 { "packet" } else { "packets" };
            notice(
                AnomalyKind::UnknownProtocol,
                format!("{name}: {count} {unit}"),
            );
        };
        self.counts.sort_by_key(|(_, count)| Reverse(*count));
        for (layer, count) in self.counts {
            if is_notable(count) && (tcp_packets == 0 || may_hide_tcp(layer)) {
                tell(name(layer), count);
            }
        }
        if self.others > 0 && is_notable(self.others) {
            tell("other protocols".to_owned(), self.others);
        }
    }
}

fn may_hide_tcp(layer: Layer) -> bool {
    matches!(layer, Layer::EtherType(number) if number != ARP)
}

fn name(layer: Layer) -> String {
    match layer {
        Layer::EtherType(number) => format!("EtherType {number:#06x}"),
        Layer::Protocol(UDP) => "UDP".to_owned(),
        Layer::Protocol(number) => format!("IP protocol {number}"),
        Layer::Link(link) => format!("{link:?} frames, encrypted or without IP"),
        Layer::Ip | Layer::Fragment(_) => "neither IPv4 nor IPv6".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(layers: &[(Layer, u64)], packets: u64, tcp_packets: u64) -> Vec<String> {
        let (mut unread, mut told) = (Unread::default(), Vec::new());
        for (layer, count) in layers {
            (0..*count).for_each(|_| unread.count(*layer));
        }
        unread.report(packets, tcp_packets, &mut |_, detail| told.push(detail));
        told
    }

    #[test]
    fn test_all_protocols_are_reported_without_tcp() {
        let layers = [(Layer::Protocol(17), 1), (Layer::EtherType(0x88cc), 12)];
        assert_eq!(
            told(&layers, 13, 0),
            ["EtherType 0x88cc: 12 packets", "UDP: 1 packet"]
        );
    }

    #[test]
    fn test_with_tcp_only_an_ether_type_of_a_tenth_of_the_packets_is_reported() {
        let layers = [
            (Layer::EtherType(0x88e5), 10),
            (Layer::EtherType(0x88cc), 9),
            (Layer::EtherType(ARP), 20),
            (Layer::Protocol(17), 50),
        ];
        assert_eq!(told(&layers, 100, 11), ["EtherType 0x88e5: 10 packets"]);
    }

    #[test]
    fn test_protocols_beyond_the_limit_share_one_count() {
        let layers: Vec<_> = (0..=u8::MAX)
            .map(|each| (Layer::Protocol(each), 1))
            .collect();
        let told = told(&layers, 256, 0);
        assert_eq!(told.len(), UNREAD_MAX + 1);
        assert_eq!(told[UNREAD_MAX], "other protocols: 248 packets");
    }
}
