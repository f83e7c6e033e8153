//! Builders of capture files, and a sink that records its input.
use trace_model::{Anomaly, AnomalyKind, Packet, PacketSink};

use crate::bytes::ByteOrder;
use crate::{CaptureError, Decoder, Provenance};

/// The compared fields of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) frame: u64,
    pub(crate) time_ns: i64,
    pub(crate) interface: u32,
    pub(crate) link_type: u16,
    pub(crate) wire_bytes: u32,
    pub(crate) captured_bytes: u32,
    pub(crate) payload: Option<Vec<u8>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorder {
    pub(crate) packets: Vec<Seen>,
    pub(crate) anomalies: Vec<Anomaly>,
    pub(crate) key_log: Vec<u8>,
}

impl Recorder {
    pub(crate) fn kinds(&self) -> Vec<AnomalyKind> {
        self.anomalies.iter().map(|anomaly| anomaly.kind).collect()
    }

    pub(crate) fn times(&self) -> Vec<i64> {
        self.packets.iter().map(|packet| packet.time_ns).collect()
    }
}

impl PacketSink for Recorder {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.packets.push(Seen {
            frame: packet.frame,
            time_ns: packet.time_ns,
            interface: packet.interface,
            link_type: packet.link_type.0,
            wire_bytes: packet.wire_bytes,
            captured_bytes: packet.captured_bytes,
            payload: packet.segment.map(|segment| segment.payload.to_vec()),
        });
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        self.anomalies.push(anomaly);
    }

    fn key_log(&mut self, text: &[u8]) {
        self.key_log.extend_from_slice(text);
    }
}

/// The decoder's whole output for a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) recorder: Recorder,
    pub(crate) provenance: Provenance,
    pub(crate) result: Result<(), CaptureError>,
}

/// Read a file in chunks of the given sizes, repeated.
pub(crate) fn read_in_chunks(file: &[u8], sizes: &[usize]) -> Reading {
    let (mut decoder, mut recorder) = (Decoder::new(), Recorder::default());
    let (mut rest, mut result) = (file, Ok(()));
    for size in sizes.iter().cycle() {
        if rest.is_empty() || result.is_err() {
            break;
        }
        let (chunk, after) = rest.split_at(rest.len().min(*size));
        result = decoder.feed(chunk, &mut recorder);
        rest = after;
    }
    let result = result.and_then(|()| decoder.finish(&mut recorder));
    let mut provenance = decoder.provenance();
    if result.is_err() {
        // The decoder stops at an error, and the number of bytes fed by then depends on the chunks.
        provenance.bytes_read = 0;
    }
    Reading {
        recorder,
        provenance,
        result,
    }
}

pub(crate) fn read(file: &[u8]) -> Reading {
    read_in_chunks(file, &[file.len().max(1)])
}

/// A growing file in one byte order.
pub(crate) struct Bytes {
    pub(crate) order: ByteOrder,
    pub(crate) bytes: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(order: ByteOrder) -> Self {
        Bytes {
            order,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn u16(mut self, value: u16) -> Self {
        self.bytes.extend(match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.bytes.extend(match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn padded(mut self) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Start a pcap file with a header of version 2.4 and snap length 65 535.
    pub(crate) fn pcap(order: ByteOrder, magic: u32, link_type: u32) -> Self {
        Self::pcap_version(order, magic, (2, 4), link_type)
    }

    pub(crate) fn pcap_version(
        order: ByteOrder,
        magic: u32,
        version: (u16, u16),
        link: u32,
    ) -> Self {
        let start = Bytes::new(order).u32(magic).u16(version.0).u16(version.1);
        start.u32(0).u32(0).u32(65_535).u32(link)
    }

    /// Append a pcap record captured in full.
    pub(crate) fn record(self, seconds: u32, ticks: u32, frame: &[u8]) -> Self {
        let length = u32::try_from(frame.len()).unwrap();
        self.u32(seconds)
            .u32(ticks)
            .u32(length)
            .u32(length)
            .raw(frame)
    }

    /// Append a pcapng block with a body.
    pub(crate) fn block(self, block_type: u32, body: &[u8]) -> Self {
        let length = u32::try_from(body.len().next_multiple_of(4) + 12).unwrap();
        self.u32(block_type)
            .u32(length)
            .raw(body)
            .padded()
            .u32(length)
    }

    pub(crate) fn section(self, order: ByteOrder) -> Self {
        let body = Bytes::new(order)
            .u32(0x1a2b_3c4d)
            .u16(1)
            .u16(0)
            .raw(&[0xff; 8]);
        let before = self.bytes;
        let block = Bytes::new(order).block(0x0a0d_0d0a, &body.bytes);
        Bytes {
            order,
            bytes: [before, block.bytes].concat(),
        }
    }

    /// Append an interface description. Options are pairs of code and value.
    pub(crate) fn interface(self, link_type: u16, options: &[(u16, &[u8])]) -> Self {
        let mut body = Bytes::new(self.order).u16(link_type).u16(0).u32(0);
        for (code, value) in options {
            let length = u16::try_from(value.len()).unwrap();
            body = body.u16(*code).u16(length).raw(value).padded();
        }
        self.block(1, &body.u32(0).bytes)
    }

    /// Append a decryption secrets block.
    pub(crate) fn secrets(self, secrets_type: u32, text: &[u8]) -> Self {
        let body = Bytes::new(self.order).u32(secrets_type);
        let body = body.u32(text.len() as u32).raw(text).padded();
        self.block(10, &body.bytes)
    }

    pub(crate) fn enhanced(self, interface: u32, ticks: u64, frame: &[u8]) -> Self {
        let length = u32::try_from(frame.len()).unwrap();
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let fixed = Bytes::new(self.order).u32(interface).u32(high).u32(low);
        let body = fixed.u32(length).u32(length).raw(frame);
        self.block(6, &body.bytes)
    }
}

/// Return a raw IPv4 packet with a TCP segment whose sequence number is close to the wrap.
pub(crate) fn tcp_packet(payload: &[u8]) -> Vec<u8> {
    let total = u16::try_from(40 + payload.len()).unwrap();
    let ip = Bytes::new(ByteOrder::Big)
        .u16(0x4500)
        .u16(total)
        .u32(0)
        .u16(0x4006)
        .u16(0)
        .raw(&[10, 0, 0, 1])
        .raw(&[10, 0, 0, 2]);
    let tcp = ip
        .u16(1029)
        .u16(80)
        .u32(0xffff_fff0)
        .u32(0)
        .u16(0x5018)
        .u16(65_535)
        .u32(0);
    tcp.raw(payload).bytes
}

pub(crate) const ETHERNET: u32 = 1;
pub(crate) const RAW: u32 = 101;
pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
