//! Taps: places where frames are recorded as in a capture.
//!
//! A node's tap sees a packet when it arrives, and when the node passes it to a link. The link's queue can be
//! full. A router's tap sees a forwarded packet once, at its arrival. A link's tap sees a packet when it
//! enters the link's queue, or service directly. A packet lost on the wire was seen before.

use trace_model::blocks::Blocks;
use trace_model::column::Columns;
use trace_model::rows::PacketsWanted;
use trace_model::{
    packets, IpAddress, LinkType, Network, Packet, SackBlocks, Segment, SeqNumber, TcpOptions,
    Timestamps,
};

use crate::pcapng;
use crate::segment;
use crate::stream::Stream;
use crate::wire::{self, Header};

/// Magic number of a pcap file with nanosecond timestamps (draft-ietf-opsawg-pcap, section 4).
const PCAP_MAGIC: u32 = 0xA1B2_3C4D;
/// Maximum snap length that libpcap accepts (MAXIMUM_SNAPLEN).
const SNAPSHOT_BYTES: u32 = 262_144;
const NANOSECONDS: i64 = 1_000_000_000;
/// The IP header follows the Ethernet header.
const NETWORK_OFFSET: u32 = wire::ETHERNET_BYTES;
const PROTOCOL_TCP: u8 = 6;

/// The frames seen at one place.
#[derive(Debug)]
pub struct Tap {
    name: String,
    /// A pcap file that grows by one record per frame.
    file: Vec<u8>,
    frames: Vec<Frame>,
}

#[derive(Debug)]
struct Frame {
    time_ns: i64,
    /// Offset of the frame's bytes in the file.
    at: usize,
    header: Header,
    options: segment::Options,
    ack_initial: u32,
    checksum: u16,
}

impl Tap {
    #[must_use]
    pub fn new(name: String) -> Self {
        let mut file = Vec::new();
        for word in [
            PCAP_MAGIC,
            4 << 16 | 2,
            0,
            0,
            SNAPSHOT_BYTES,
            u32::from(wire::LINK_TYPE),
        ] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        Tap {
            name,
            file,
            frames: Vec::new(),
        }
    }

    /// Record a frame whose payload starts at this offset of a stream.
    pub fn see(
        &mut self,
        time_ns: i64,
        header: Header,
        options: &segment::Options,
        ack_initial: u32,
        payload: (&Stream, u64),
    ) {
        let bytes = 54 + options.bytes() + header.payload_bytes;
        let seconds = time_ns.div_euclid(NANOSECONDS) as u32;
        let nanoseconds = time_ns.rem_euclid(NANOSECONDS) as u32;
        for word in [seconds, nanoseconds, bytes, bytes] {
            self.file.extend_from_slice(&word.to_le_bytes());
        }
        let at = self.file.len();
        let (stream, from) = payload;
        let copy = |out: &mut Vec<u8>| stream.copy(from, header.payload_bytes, out);
        let checksum = wire::write(&header, options, ack_initial, copy, &mut self.file);
        debug_assert_eq!(self.file.len() - at, bytes as usize);
        self.frames.push(Frame {
            time_ns,
            at,
            header,
            options: *options,
            ack_initial,
            checksum,
        });
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Return the number of frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Return the times of the first and the last frame, in nanoseconds since the epoch.
    #[must_use]
    pub fn times(&self) -> Option<(i64, i64)> {
        self.frames
            .first()
            .zip(self.frames.last())
            .map(|(first, last)| (first.time_ns, last.time_ns))
    }

    /// Return the capture as a pcap file.
    #[must_use]
    pub fn pcap(&self) -> &[u8] {
        &self.file
    }

    /// Return the capture as a pcapng file: one section, one interface with nanoseconds, one block per frame
    /// (draft-ietf-opsawg-pcapng, sections 4.1 to 4.3).
    #[must_use]
    pub fn pcapng(&self) -> Vec<u8> {
        pcapng::file(&self.name, self.frames())
    }

    /// Return the bytes of each frame, with its time in nanoseconds since the epoch.
    pub fn frames(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.frames
            .iter()
            .map(|frame| (frame.time_ns, self.bytes_of(frame)))
    }

    /// Return the capture as packets of the trace model, equal to a decoder's view of the pcap file.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        (1..)
            .zip(&self.frames)
            .map(|(number, frame)| self.packet(number, frame))
    }

    /// Return the packets table, equal to the table of the pcap file.
    #[must_use]
    pub fn packets_table(&self) -> Columns {
        let mut rows = Blocks::new(PacketsWanted::default(), usize::MAX);
        for packet in self.packets() {
            packets::push(&mut rows, &packet);
        }
        rows.into_rest().pop_front().unwrap_or_default()
    }

    fn packet<'a>(&'a self, number: u64, frame: &'a Frame) -> Packet<'a> {
        let bytes = self.bytes_of(frame);
        let header = &frame.header;
        let header_bytes = 20 + frame.options.bytes();
        let payload_offset = wire::ETHERNET_BYTES + wire::IPV4_BYTES + header_bytes;
        let network = Network {
            source: IpAddress::v4(header.addresses.0),
            destination: IpAddress::v4(header.addresses.1),
            protocol: PROTOCOL_TCP,
            ttl: header.ttl,
            identification: u32::from(header.identification),
            header_offset: NETWORK_OFFSET,
            is_fragment: false,
            ecn: header.ecn,
        };
        let segment = Segment {
            source_port: header.ports.0,
            destination_port: header.ports.1,
            seq: SeqNumber(header.seq),
            ack: SeqNumber(header.ack),
            flags: header.flags,
            window: header.window,
            checksum: frame.checksum,
            urgent_pointer: 0,
            options: tcp_options(&frame.options, frame.ack_initial),
            header_bytes: header_bytes as u8,
            payload_bytes: header.payload_bytes,
            payload_offset,
            payload: bytes.get(payload_offset as usize..).unwrap_or(&[]),
        };
        Packet {
            frame: number,
            time_ns: frame.time_ns,
            interface: 0,
            link_type: LinkType(wire::LINK_TYPE),
            wire_bytes: bytes.len() as u32,
            captured_bytes: bytes.len() as u32,
            outer_headers: bytes.get(..NETWORK_OFFSET as usize).unwrap_or(&[]),
            network: Some(network),
            segment: Some(segment),
        }
    }

    fn bytes_of(&self, frame: &Frame) -> &[u8] {
        let bytes = 54 + frame.options.bytes() + frame.header.payload_bytes;
        self.file
            .get(frame.at..frame.at + bytes as usize)
            .unwrap_or(&[])
    }
}

fn tcp_options(options: &segment::Options, ack_initial: u32) -> TcpOptions {
    let mut sack = SackBlocks::default();
    for (left, right) in options.sack_blocks() {
        let edge = |offset| SeqNumber(wire::number(ack_initial, offset));
        sack.push(edge(left), edge(right));
    }
    TcpOptions {
        mss: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        sack,
        timestamps: options
            .timestamps
            .map(|(value, echo_reply)| Timestamps { value, echo_reply }),
        fast_open_cookie_bytes: options.fast_open.map(segment::Cookie::bytes),
    }
}
