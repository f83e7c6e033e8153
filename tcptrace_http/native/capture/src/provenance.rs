//! What is known of the capture file itself.

use trace_model::LinkType;

/// The summary of a capture as far as it has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// "pcap" or "pcapng"; empty until the first bytes told.
    pub format: &'static str,
    /// Frames as Wireshark numbers them, of whatever kind.
    pub packets: u64,
    /// Packets with a TCP header of their own, be it cut: a fragmented segment counts once, a header
    /// that an ICMP error quotes does not.
    pub tcp_packets: u64,
    /// The earliest and the latest time of a packet, wherever in the file it stands.
    pub first_time_ns: Option<i64>,
    pub last_time_ns: Option<i64>,
    /// Whether the file ends inside a record or block.
    pub truncated: bool,
    /// Where damage ended the reading before the end of the file.
    pub damaged_at_offset: Option<u64>,
    /// The link types that the file declares, each once, by number.
    pub link_types: Vec<LinkType>,
    /// The least of the interfaces' snap lengths; None if none of them limits the packets.
    pub snap_length: Option<u32>,
    /// Interfaces over all sections of the file.
    pub interfaces: u32,
    /// Bytes fed, after decompression.
    pub bytes_read: u64,
}

impl Provenance {
    /// Takes note of an interface that the file declares; a snap length of 0 means no limit.
    pub(crate) fn add_interface(&mut self, link_type: LinkType, snap_length: u32) {
        if let Err(place) = self.link_types.binary_search(&link_type) {
            self.link_types.insert(place, link_type);
        }
        if snap_length != 0 {
            let least = self.snap_length.unwrap_or(snap_length).min(snap_length);
            self.snap_length = Some(least);
        }
        self.interfaces = self.interfaces.saturating_add(1);
    }
}
