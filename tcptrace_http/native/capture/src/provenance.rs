//! Facts about the capture file itself.

use trace_model::LinkType;

/// The summary of a capture, from the bytes read so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// "pcap" or "pcapng". Empty until the first bytes identify the format.
    pub format: &'static str,
    /// Number of frames of every kind, as Wireshark numbers them.
    pub packets: u64,
    /// Number of packets with their own TCP header, even a cut one. A fragmented segment counts once. A
    /// header quoted in an ICMP error does not count.
    pub tcp_packets: u64,
    /// Earliest packet time, at any position in the file.
    pub first_time_ns: Option<i64>,
    /// Latest packet time, at any position in the file.
    pub last_time_ns: Option<i64>,
    /// True if the file ends inside a record or block.
    pub truncated: bool,
    /// Offset of the damage that ended the reading before the end of the file.
    pub damaged_at_offset: Option<u64>,
    /// The link types that the file declares, without duplicates, sorted by number.
    pub link_types: Vec<LinkType>,
    /// The smallest snap length of all interfaces. None if no interface has one.
    pub snap_length: Option<u32>,
    /// Number of interfaces over all sections of the file.
    pub interfaces: u32,
    /// Number of fed bytes, after decompression.
    pub bytes_read: u64,
}

impl Provenance {
    /// Add an interface that the file declares. A snap length of 0 means no limit.
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
