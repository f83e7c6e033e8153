use trace_model::{IpAddress, Timestamps};

use super::*;
use tcptrace_tcp::test_packets::{packet, segment};

/// Captured packet of a test: time, number, TTL and MAC addresses.
#[derive(Clone, Copy)]
struct At {
    us: i64,
    number: u32,
    ttl: u8,
    link: &'static [u8],
}

fn at(us: i64, number: u32) -> At {
    let (ttl, link) = (64, b"here".as_slice());
    At {
        us,
        number,
        ttl,
        link,
    }
}

fn routed(us: i64, number: u32) -> At {
    At {
        ttl: 63,
        ..at(us, number)
    }
}

impl SamePackets {
    fn is_copy_of_earlier(&mut self, seen: At, segment: Segment<'_>) -> bool {
        let hosts = (IpAddress::v4([10, 0, 0, 1]), IpAddress::v4([10, 0, 0, 2]));
        let mut packet = packet(1, seen.us * 1000, hosts, segment);
        packet.outer_headers = seen.link;
        if let Some(network) = packet.network.as_mut() {
            (network.identification, network.ttl) = (seen.number, seen.ttl);
        }
        self.is_duplicate(&packet, &segment)
    }
}

fn ack(of: u32) -> Segment<'static> {
    segment(flags::ACK, (1, of), b"")
}

fn stamped(of: u32, value: u32) -> Segment<'static> {
    let mut made = ack(of);
    made.options.timestamps = Some(Timestamps {
        value,
        echo_reply: 0,
    });
    made
}

/// Return a detector whose sender has given two packets different numbers.
fn numbered() -> SamePackets {
    let mut same = SamePackets::default();
    assert!(!same.is_copy_of_earlier(at(0, 6), ack(1)));
    assert!(!same.is_copy_of_earlier(at(1, 7), ack(2)));
    same
}

#[test]
fn packet_before_and_behind_a_router_is_one_at_any_distance() {
    let mut same = numbered();
    for of in 0..100 {
        assert!(!same.is_copy_of_earlier(at(10, 100 + of), ack(1000 + of)));
    }
    for of in 0..100 {
        assert!(same.is_copy_of_earlier(routed(50_000, 100 + of), ack(1000 + of)));
        assert!(
            same.is_copy_of_earlier(routed(60_000, 100 + of), ack(1000 + of)),
            "third sighting"
        );
    }
}

#[test]
fn retransmission_has_another_number_or_timestamp() {
    let data = segment(flags::ACK, (1, 1), b"data");
    let mut same = numbered();
    assert!(!same.is_copy_of_earlier(at(10, 8), data));
    assert!(!same.is_copy_of_earlier(routed(50_010, 9), data));
    assert!(!same.is_copy_of_earlier(at(60_000, 0), stamped(5, 1)));
    assert!(!same.is_copy_of_earlier(routed(60_100, 0), stamped(5, 2)));
    assert!(same.is_copy_of_earlier(routed(60_200, 0), stamped(5, 1)));
}

#[test]
fn place_decides_if_all_packets_have_one_number() {
    for number in [0, 77] {
        let mut same = SamePackets::default();
        assert!(!same.is_copy_of_earlier(at(0, number), ack(1)));
        assert!(!same.is_copy_of_earlier(at(10, number), ack(2)));
        assert!(
            !same.is_copy_of_earlier(at(200, number), ack(2)),
            "a duplicate ACK"
        );
        assert!(same.is_copy_of_earlier(routed(500, number), ack(2)));
        assert!(
            !same.is_copy_of_earlier(routed(5000, number), ack(2)),
            "too late without a number"
        );
    }
}

#[test]
fn another_link_header_is_another_place() {
    let mut same = SamePackets::default();
    assert!(!same.is_copy_of_earlier(at(0, 0), ack(1)));
    let link = b"there".as_slice();
    assert!(same.is_copy_of_earlier(At { link, ..at(300, 0) }, ack(1)));
    let long: &[u8] = &[1; 40];
    assert!(!same.is_copy_of_earlier(at(1000, 0), ack(9)));
    let tunnel = |us, link| At { link, ..at(us, 0) };
    assert!(!same.is_copy_of_earlier(tunnel(1000, long), ack(3)));
    assert!(
        !same.is_copy_of_earlier(tunnel(1100, &[2; 40]), ack(3)),
        "tunnels number their packets"
    );
}

#[test]
fn data_in_the_same_place_is_a_copy_only_before_a_loss_can_be_known() {
    let data = segment(flags::ACK, (1, 1), b"data");
    let mut same = SamePackets::default();
    assert!(!same.is_copy_of_earlier(at(0, 0), data));
    assert!(same.is_copy_of_earlier(at(50, 0), data));
    assert!(!same.is_copy_of_earlier(at(500, 0), data));
    assert!(
        numbered().is_copy_of_earlier(at(900, 7), ack(2)),
        "a mirror shows the packet twice"
    );
}
