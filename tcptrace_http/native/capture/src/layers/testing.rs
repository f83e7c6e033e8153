//! Hand-built packets for the tests of the layers.
use super::{Frame, Layers};
use trace_model::{AnomalyKind, LinkType, Network, Segment};

pub(super) const ETHERNET: LinkType = LinkType(1);
pub(super) const RAW: LinkType = LinkType(101);
/// A sequence number so close to 2^32 that the payload wraps.
pub(super) const SEQ: u32 = 0xffff_fffe;
pub(super) const PAYLOAD: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// The decoded content of one frame, with a copy of the payload.
#[derive(Debug)]
pub(super) struct Decoded {
    pub network: Option<Network>,
    pub segment: Option<Segment<'static>>,
    pub payload: Vec<u8>,
    pub notices: Vec<(AnomalyKind, String)>,
}

impl Decoded {
    pub fn kinds(&self) -> Vec<AnomalyKind> {
        self.notices.iter().map(|(kind, _)| *kind).collect()
    }

    pub fn has_whole_request(&self) -> bool {
        self.segment.is_some_and(|segment| segment.seq.0 == SEQ)
            && self.payload == PAYLOAD
            && self.notices.is_empty()
    }
}

pub(super) fn decode_with(layers: &mut Layers, frame: &Frame<'_>) -> Decoded {
    let mut notices = Vec::new();
    let (network, segment, payload) = layers.decode(
        frame,
        &mut |kind, detail| notices.push((kind, detail)),
        |network, segment| {
            let payload = segment.map_or_else(Vec::new, |segment| segment.payload.to_vec());
            (
                network,
                segment.map(|segment| Segment {
                    payload: &[],
                    ..segment
                }),
                payload,
            )
        },
    );
    Decoded {
        network,
        segment,
        payload,
        notices,
    }
}

pub(super) fn frame(link_type: LinkType, bytes: &[u8]) -> Frame<'_> {
    let wire_bytes = u32::try_from(bytes.len()).unwrap();
    Frame {
        link_type,
        bytes,
        wire_bytes,
        frame: 1,
        time_ns: 0,
    }
}

pub(super) fn decode(link_type: LinkType, bytes: &[u8]) -> Decoded {
    decode_with(&mut Layers::new(), &frame(link_type, bytes))
}

pub(super) fn concat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

pub(super) fn tcp_with_options(options: &[u8], payload: &[u8]) -> Vec<u8> {
    let words = u8::try_from(5 + options.len() / 4).unwrap();
    let mut bytes = vec![0xc0, 0x00, 0x00, 0x50];
    bytes.extend(SEQ.to_be_bytes());
    bytes.extend([0, 0, 0, 9, words << 4, 0x18, 0x20, 0x00, 0xab, 0xcd, 0, 0]);
    concat(&[&bytes, options, payload])
}

/// Return a segment with [`PAYLOAD`], from port 49152 to port 80.
pub(super) fn tcp() -> Vec<u8> {
    tcp_with_options(&[], PAYLOAD)
}

pub(super) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_part(protocol, 0x1234, 0, payload)
}

/// Return an IPv4 packet with the given flags and fragment offset.
pub(super) fn ipv4_part(
    protocol: u8,
    identification: u16,
    fragment_field: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = vec![0x45, 0x02];
    bytes.extend(u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
    bytes.extend(identification.to_be_bytes());
    bytes.extend(fragment_field.to_be_bytes());
    bytes.extend([64, protocol, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
    concat(&[&bytes, payload])
}

pub(super) fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0x30, 0, 0];
    bytes.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    bytes.extend([next_header, 63]);
    for last in [1, 2] {
        bytes.extend([
            0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last,
        ]);
    }
    concat(&[&bytes, payload])
}

pub(super) fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xc0, 0x00];
    bytes.extend(port.to_be_bytes());
    bytes.extend(u16::try_from(8 + payload.len()).unwrap().to_be_bytes());
    bytes.extend([0, 0]);
    concat(&[&bytes, payload])
}

pub(super) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    concat(&[
        &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
        &ether_type.to_be_bytes(),
        payload,
    ])
}

pub(super) const SNAP_IPV4: &[u8] = &[0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];

/// Return one frame with [`PAYLOAD`] per link type and tunnel, by name.
pub(super) fn samples() -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let v4 = ipv4(6, &tcp());
    let v6 = ipv6(6, &tcp());
    let framed = ethernet(0x0800, &v4);
    let in_udp =
        |port, header: &[u8], inner: &[u8]| ipv4(17, &udp(port, &concat(&[header, inner])));
    let dot11: Vec<u8> = concat(&[&[0x08, 0x02], &[0; 22], SNAP_IPV4, &v4]);
    let llc_length = u16::try_from(SNAP_IPV4.len() + v4.len()).unwrap();
    let mut samples = vec![
        ("Ethernet", 1, framed.clone()),
        ("Ethernet, IPv6", 1, ethernet(0x86dd, &v6)),
        ("VLAN", 1, ethernet(0x8100, &concat(&[&[0, 5, 8, 0], &v4]))),
        (
            "QinQ",
            1,
            ethernet(0x88a8, &concat(&[&[0, 5, 0x81, 0, 0, 6, 8, 0], &v4])),
        ),
        (
            "PPPoE",
            1,
            ethernet(0x8864, &concat(&[&[0x11, 0, 0, 1, 0, 60, 0, 0x21], &v4])),
        ),
        (
            "MPLS",
            1,
            ethernet(0x8847, &concat(&[&[0, 1, 0, 64, 0, 2, 1, 64], &v4])),
        ),
        (
            "Ethernet in MPLS",
            1,
            ethernet(0x8847, &concat(&[&[0, 2, 1, 64, 0, 0, 0, 0], &framed])),
        ),
        (
            "VN-Tag",
            1,
            ethernet(0x8926, &concat(&[&[0x80, 1, 0, 2, 8, 0], &v4])),
        ),
        (
            "VLAN in VN-Tag",
            1,
            ethernet(0x8926, &concat(&[&[0, 1, 0, 2, 0x81, 0, 0, 5, 8, 0], &v4])),
        ),
        (
            "Cisco metadata",
            1,
            ethernet(0x8909, &concat(&[&[1, 1, 0, 1, 0, 7, 8, 0], &v4])),
        ),
        (
            "Ethernet in NSH",
            1,
            ethernet(0x894f, &concat(&[&[0, 2, 2, 3, 0, 0, 1, 255], &framed])),
        ),
        (
            "TRILL",
            1,
            ethernet(0x22f3, &concat(&[&[0, 63, 0, 1, 0, 2], &framed])),
        ),
        ("802.1ah", 1, ethernet(0x88e7, &concat(&[&[0; 4], &framed]))),
        ("SNAP", 1, ethernet(llc_length, &concat(&[SNAP_IPV4, &v4]))),
        ("BSD null", 0, concat(&[&[2, 0, 0, 0], &v4])),
        ("BSD loop", 108, concat(&[&[0, 0, 0, 2], &v4])),
        ("PPP", 9, concat(&[&[0xff, 0x03, 0, 0x21], &v4])),
        (
            "PPP with direction",
            204,
            concat(&[&[1, 0xff, 0x03, 0x21], &v4]),
        ),
        ("FDDI", 10, concat(&[&[0x50], &[0; 12], SNAP_IPV4, &v4])),
        (
            "PPPoE alone",
            51,
            concat(&[&[0x11, 0, 0, 1, 0, 60, 0, 0x21], &v4]),
        ),
        ("LLC", 100, concat(&[SNAP_IPV4, &v4])),
        ("raw", 101, v4.clone()),
        ("Cisco HDLC", 104, concat(&[&[0x0f, 0, 0x08, 0x00], &v4])),
        ("802.11", 105, dot11.clone()),
        (
            "Linux cooked",
            113,
            concat(&[&[0, 0, 0, 1], &[0; 10], &[8, 0], &v4]),
        ),
        ("PFLOG", 117, concat(&[&[61, 2], &[0; 62], &v4])),
        (
            "Prism",
            119,
            concat(&[&[0, 0, 0, 0x44, 0, 0, 0, 144], &[0; 136], &dot11]),
        ),
        (
            "AVS",
            163,
            concat(&[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64], &[0; 56], &dot11]),
        ),
        (
            "radiotap",
            127,
            concat(&[&[0, 0, 9, 0, 2, 0, 0, 0, 0x10], &dot11, &[9; 4]]),
        ),
        ("PPI", 192, concat(&[&[0, 0, 8, 0, 105, 0, 0, 0], &dot11])),
        (
            "PKTAP",
            258,
            concat(&[&[108, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], &[0; 96], &framed]),
        ),
        (
            "Juniper Ethernet",
            178,
            concat(&[b"MGC\x81\0\x02ab", &framed]),
        ),
        ("ARCNET of BSD", 7, concat(&[&[1, 2, 240], &v4])),
        ("ARCNET", 129, concat(&[&[1, 2, 0, 0, 212, 0, 0, 7], &v4])),
        ("IEEE 1394", 138, concat(&[&[0; 16], &[8, 0], &v4])),
        ("MPLS alone", 219, concat(&[&[0, 2, 1, 64], &v4])),
        (
            "Linux cooked 2",
            276,
            concat(&[&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1], &[0; 10], &v4]),
        ),
        ("4in4", 101, ipv4(4, &v4)),
        ("6in4", 101, ipv4(41, &v6)),
        ("4in6", 101, ipv6(4, &v4)),
        ("GRE", 101, ipv4(47, &concat(&[&[0, 0, 8, 0], &v4]))),
        (
            "GRE, all fields",
            101,
            ipv4(47, &concat(&[&[0xb0, 0, 8, 0], &[0; 12], &v4])),
        ),
        (
            "Ethernet in GRE",
            101,
            ipv4(47, &concat(&[&[0, 0, 0x65, 0x58], &framed])),
        ),
        (
            "PPTP",
            101,
            ipv4(
                47,
                &concat(&[&[0x30, 0x81, 0x88, 0x0b], &[0; 12], &[0x21], &v4]),
            ),
        ),
        (
            "ERSPAN",
            101,
            ipv4(47, &concat(&[&[0x10, 0, 0x88, 0xbe], &[0; 12], &framed])),
        ),
        ("EtherIP", 101, ipv4(97, &concat(&[&[0x30, 0], &framed]))),
        (
            "MPLS in IP",
            101,
            ipv4(137, &concat(&[&[0, 2, 1, 64], &v4])),
        ),
        (
            "VXLAN",
            101,
            in_udp(4789, &[8, 0, 0, 0, 0, 0, 1, 0], &framed),
        ),
        (
            "NSH in VXLAN-GPE",
            101,
            in_udp(
                4790,
                &[
                    0x0c, 0, 0, 4, 0, 0, 1, 0, 0, 6, 1, 1, 0, 0, 1, 255, 1, 1, 1, 1, 2, 2, 2, 2, 3,
                    3, 3, 3, 4, 4, 4, 4,
                ],
                &v4,
            ),
        ),
        (
            "Geneve",
            101,
            in_udp(6081, &[1, 0, 0x65, 0x58, 0, 0, 1, 0, 9, 9, 9, 9], &framed),
        ),
        (
            "GTP",
            101,
            in_udp(2152, &[0x30, 255, 0, 0, 0, 0, 0, 1], &v4),
        ),
        ("Teredo", 101, in_udp(3544, &[], &v6)),
        (
            "L2TP",
            101,
            in_udp(1701, &[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21], &v4),
        ),
        (
            "AYIYA",
            101,
            in_udp(
                5072,
                &[0x01, 0x11, 0x11, 41, 0, 0, 0, 0, 9, 1, 2, 3, 4],
                &v6,
            ),
        ),
        (
            "authentication header",
            101,
            ipv4(51, &concat(&[&[6, 4], &[0; 22], &tcp()])),
        ),
        (
            "IPv6 extensions",
            101,
            ipv6(
                0,
                &concat(&[
                    &[43, 0],
                    &[0; 6],
                    &[60, 0],
                    &[0; 6],
                    &[6, 1],
                    &[0; 14],
                    &tcp(),
                ]),
            ),
        ),
    ];
    let attribute_length = u16::try_from(v4.len() + 4).unwrap().to_le_bytes();
    let nflog = concat(&[
        &[2, 0, 0, 0, 5, 0, 10, 0, 0, 0, 0, 0],
        &attribute_length,
        &[9, 0],
        &v4,
    ]);
    samples.push(("NFLOG", 239, nflog));
    samples
        .into_iter()
        .map(|(name, number, bytes)| (name, LinkType(number), bytes))
        .collect()
}
