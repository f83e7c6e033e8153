//! The step from a record of any container to a packet at the sink.

use trace_model::{AnomalyKind, LinkType, Network, Packet, PacketSink};

use crate::kept_frame::KeptFrame;
use crate::layers::{Frame, Layers};
use crate::notices::Notices;
use crate::provenance::Provenance;
use crate::time::clamp;

/// A record of a container.
pub(crate) struct Record<'a> {
    /// None if the record has no time (a pcapng simple packet block).
    pub(crate) time_ns: Option<i128>,
    /// Interface number over all sections of the file.
    pub(crate) interface: u32,
    pub(crate) link_type: LinkType,
    /// True if the link type is supported. The packet is counted in both cases.
    pub(crate) is_supported: bool,
    pub(crate) wire_bytes: u32,
    pub(crate) bytes: &'a [u8],
}

/// The protocol number of TCP (RFC 9293, section 3.9.2).
const IP_PROTOCOL_TCP: u8 = 6;

pub(crate) struct Emitter {
    layers: Layers,
    pub(crate) notices: Notices,
    pub(crate) provenance: Provenance,
    /// Number of packets with a supported link type.
    pub(crate) supported_packets: u64,
    previous_time_ns: i64,
    /// Number of the frame to keep; 0 keeps none.
    pub(crate) keep: u64,
    pub(crate) kept: Option<KeptFrame>,
}

impl Emitter {
    pub(crate) fn new() -> Self {
        Emitter {
            layers: Layers::new(),
            notices: Notices::default(),
            provenance: Provenance::default(),
            supported_packets: 0,
            // No time precedes this value, so the first packet is never out of order.
            previous_time_ns: i64::MIN,
            keep: 0,
            kept: None,
        }
    }

    #[inline]
    pub(crate) fn packet<S: PacketSink>(&mut self, record: &Record<'_>, sink: &mut S) {
        let frame = self.provenance.packets.saturating_add(1);
        self.provenance.packets = frame;
        let time_ns = self.time(record, frame);
        let captured_bytes = u32::try_from(record.bytes.len()).unwrap_or(u32::MAX);
        let packet = Packet {
            frame,
            time_ns,
            interface: record.interface,
            link_type: record.link_type,
            // A frame has at least its captured length, even if the header declares less.
            wire_bytes: record.wire_bytes.max(captured_bytes),
            captured_bytes,
            outer_headers: &[],
            network: None,
            segment: None,
        };
        if frame == self.keep {
            self.kept = Some(KeptFrame {
                time_ns,
                link_type: record.link_type,
                wire_bytes: packet.wire_bytes,
                bytes: record.bytes.to_vec(),
            });
        }
        if record.is_supported {
            self.supported_packets = self.supported_packets.saturating_add(1);
            let notices = &mut self.notices;
            let layers_frame = Frame {
                link_type: record.link_type,
                bytes: record.bytes,
                wire_bytes: packet.wire_bytes,
                frame,
                time_ns,
            };
            let is_tcp = self.layers.decode(
                &layers_frame,
                &mut |kind, detail| notices.report(kind, Some(frame), None, || detail),
                |network, segment| {
                    let is_tcp = segment.is_some() || is_cut_tcp(network);
                    sink.packet(&Packet {
                        outer_headers: outer_headers(record.bytes, network),
                        network,
                        segment,
                        ..packet
                    });
                    is_tcp
                },
            );
            self.provenance.tcp_packets = self
                .provenance
                .tcp_packets
                .saturating_add(u64::from(is_tcp));
        } else {
            sink.packet(&packet);
        }
        self.notices.flush(sink);
    }

    /// Count a numbered frame that holds no packet.
    pub(crate) fn count_empty_frame(&mut self) {
        self.provenance.packets = self.provenance.packets.saturating_add(1);
    }

    /// Return the time of a record. A record without a time gets the previous packet's time.
    #[inline]
    fn time(&mut self, record: &Record<'_>, frame: u64) -> i64 {
        let Some(exact) = record.time_ns else {
            return if self.previous_time_ns == i64::MIN {
                0
            } else {
                self.previous_time_ns
            };
        };
        let time_ns = clamp(exact);
        if i128::from(time_ns) != exact {
            self.notices
                .report(AnomalyKind::AbsurdTime, Some(frame), None, || {
                    format!("time is {exact} ns from the epoch, outside the years 1677 to 2262")
                });
        }
        if time_ns < self.previous_time_ns {
            let back = self.previous_time_ns.saturating_sub(time_ns);
            self.notices
                .report(AnomalyKind::TimeBackwards, Some(frame), None, || {
                    format!("time is {back} ns before the previous packet's time")
                });
        }
        self.previous_time_ns = time_ns;
        let provenance = &mut self.provenance;
        let earliest = provenance.first_time_ns.unwrap_or(time_ns).min(time_ns);
        let latest = provenance.last_time_ns.unwrap_or(time_ns).max(time_ns);
        provenance.first_time_ns = Some(earliest);
        provenance.last_time_ns = Some(latest);
        time_ns
    }

    pub(crate) fn finish<S: PacketSink>(&mut self, sink: &mut S) {
        let notices = &mut self.notices;
        let mut notice = |kind, detail| notices.report(kind, None, None, || detail);
        self.layers.finish(&mut notice);
        let tcp_packets = self.provenance.tcp_packets;
        self.layers
            .report_unread(self.supported_packets, tcp_packets, &mut notice);
        self.notices.finish(sink);
    }
}

/// Return the bytes before an IP header. The slice is empty for a reassembled packet.
#[inline]
fn outer_headers(bytes: &[u8], network: Option<Network>) -> &[u8] {
    let offset = network.map_or(0, |header| header.header_offset);
    let length = usize::try_from(offset).unwrap_or(0);
    bytes.get(..length).unwrap_or(&[])
}

/// Return true if a packet without a complete TCP header carries the start of one. Of a fragmented segment,
/// only the completing packet counts.
#[inline]
fn is_cut_tcp(network: Option<Network>) -> bool {
    network.is_some_and(|header| header.protocol == IP_PROTOCOL_TCP && !header.is_fragment)
}
