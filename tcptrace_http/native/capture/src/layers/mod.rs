//! Layers of a frame, from its link header to the innermost TCP segment.
//!
//! Theory of operation. The walk goes through a frame header by header. Each parser takes a [`View`] and
//! returns the next [`Layer`] and its position, or the reason why the walk ends ([`Stop`]). The innermost IP
//! header is the packet's network header, so the outer headers of tunnels are skipped. A fragment ends the
//! walk unless the fragment completes its datagram. The walk then continues in the reassembled bytes.
//!
//! [`MAX_LAYERS`] bounds the walk. The walk borrows from the frame and copies only fragments. Checksums are
//! not verified, because offload leaves them unset in most captures made on a host.

mod ip;
mod link;
mod tcp;
mod tcp_options;
mod unread;
mod view;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use ip::fragments::{Datagram, Fragment, FragmentTable};
use link::Link;
use trace_model::{AnomalyKind, LinkType, Network, Segment};
use unread::Unread;
use view::View;

/// Maximum number of headers per frame. Ethernet, two VLAN tags, four MPLS labels, IP, UDP, GTP, IP and TCP
/// are 12. A frame of tags alone must not delay the decoder.
const MAX_LAYERS: usize = 48;

/// Maximum number of datagrams that one frame completes. Two occur if a tunnel's last fragment carries the
/// last fragment of another datagram.
const MAX_DATAGRAMS_PER_FRAME: usize = 8;

/// One captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub link_type: LinkType,
    /// The captured bytes of the frame.
    pub bytes: &'a [u8],
    /// Length of the frame on the wire.
    pub wire_bytes: u32,
    /// Frame number, counted from 1 as Wireshark counts.
    pub frame: u64,
    pub time_ns: i64,
}

/// The type of the bytes at a position in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Link(Link),
    /// The payload of an EtherType field.
    EtherType(u16),
    /// IP of the version in the first nibble.
    Ip,
    /// The payload that an IP header or extension header announced.
    Protocol(u8),
    /// Part of the payload of an IP datagram.
    Fragment(Fragment),
}

/// The next layer and its position.
type Next<'a> = Result<(Layer, View<'a>), Stop>;

/// The reason why a walk ended before a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The payload carries no IP, or is encrypted.
    Opaque,
    /// The bytes end inside a header.
    Cut { header: &'static str },
    TooSmall {
        field: &'static str,
        value: u32,
        least: u32,
    },
    TooLarge {
        field: &'static str,
        value: u32,
        most: u32,
    },
}

/// The end of a walk.
enum Found<'a> {
    Packet(Option<Network>, Option<Segment<'a>>),
    Datagram(Datagram),
}

/// The decoder of frames. Fragments are its only state between frames.
#[derive(Default)]
pub struct Layers {
    fragments: FragmentTable,
    /// Number of segments whose payload was captured only in part.
    cut_payloads: u64,
    unread: Unread,
}

impl Layers {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Return true if this link type is supported.
    #[must_use]
    pub fn supports(link_type: LinkType) -> bool {
        link::first_layer(link_type).is_some()
    }

    /// Decode one frame, and call `then` with its innermost IP header and its TCP segment.
    ///
    /// The decoder calls `notice` for each anomaly of the frame.
    #[inline(always)]
    pub fn decode<R>(
        &mut self,
        frame: &Frame<'_>,
        notice: &mut impl FnMut(AnomalyKind, String),
        then: impl FnOnce(Option<Network>, Option<Segment<'_>>) -> R,
    ) -> R {
        let Some((network, view)) = tcp_in_ipv4_in_ethernet(frame) else {
            return self.decode_by_layers(frame, notice, then);
        };
        match tcp::segment(view, notice) {
            Ok(segment) => {
                self.note_cut_payload(&segment, notice);
                then(Some(network), Some(segment))
            }
            Err(stop) => {
                report(stop, view, notice);
                then(Some(network), None)
            }
        }
    }

    #[inline(never)]
    fn decode_by_layers<R>(
        &mut self,
        frame: &Frame<'_>,
        notice: &mut impl FnMut(AnomalyKind, String),
        then: impl FnOnce(Option<Network>, Option<Segment<'_>>) -> R,
    ) -> R {
        let Some(layer) = link::first_layer(frame.link_type) else {
            return then(None, None);
        };
        let view = View::of_frame(frame.bytes, frame.wire_bytes);
        let mut datagram = match self.walk(frame, (layer, view), None, notice) {
            Found::Packet(network, segment) => return then(network, segment),
            Found::Datagram(datagram) => datagram,
        };
        for _ in 0..MAX_DATAGRAMS_PER_FRAME {
            let start = (
                Layer::Protocol(datagram.network.protocol),
                View::of_datagram(&datagram.bytes),
            );
            datagram = match self.walk(frame, start, Some(datagram.network), notice) {
                Found::Packet(network, segment) => return then(network, segment),
                Found::Datagram(inner) => inner,
            };
        }
        notice(
            AnomalyKind::TooDeeplyNested,
            format!("fragments nested {MAX_DATAGRAMS_PER_FRAME} levels deep"),
        );
        then(Some(datagram.network), None)
    }

    /// Report the protocols that were not decoded, if their share of the packets is notable.
    pub fn report_unread(
        &mut self,
        packets: u64,
        tcp_packets: u64,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) {
        std::mem::take(&mut self.unread).report(packets, tcp_packets, notice);
    }

    /// Report anomalies that only the end of the capture reveals.
    pub fn finish(&mut self, notice: &mut impl FnMut(AnomalyKind, String)) {
        self.fragments.finish(notice);
        if self.cut_payloads > 1 {
            let count = self.cut_payloads;
            notice(
                AnomalyKind::TruncatedPacket,
                format!("{count} segments were captured without the end of their payload"),
            );
        }
        self.cut_payloads = 0;
    }

    #[inline]
    fn walk<'a>(
        &mut self,
        frame: &Frame<'_>,
        (mut layer, mut view): (Layer, View<'a>),
        mut network: Option<Network>,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) -> Found<'a> {
        for _ in 0..MAX_LAYERS {
            let next = match layer {
                Layer::Link(link) => link::payload(link, view),
                Layer::EtherType(ether_type) => link::ether_type::payload(ether_type, view),
                Layer::Ip => ip::header(view).map(|header| {
                    report_overrun(header.total_bytes, view, notice);
                    network = Some(header.network);
                    (header.next, header.payload)
                }),
                Layer::Protocol(protocol) => {
                    if let Some(network) = &mut network {
                        network.protocol = protocol;
                    }
                    if protocol == ip::TCP {
                        return self.segment(network, view, notice);
                    }
                    ip::payload(protocol, view)
                }
                Layer::Fragment(fragment) => {
                    if let Some(network) = &mut network {
                        network.identification = fragment.identification;
                        network.protocol = fragment.protocol;
                        network.is_fragment = !fragment.is_whole();
                    }
                    if !fragment.is_whole() {
                        return self.fragment(frame, network, fragment, view, notice);
                    }
                    Ok((Layer::Protocol(fragment.protocol), view))
                }
            };
            match next {
                Ok(following) => (layer, view) = following,
                Err(stop) => {
                    if stop == Stop::Opaque {
                        self.unread.count(layer);
                    }
                    report(stop, view, notice);
                    return Found::Packet(network, None);
                }
            }
        }
        notice(
            AnomalyKind::TooDeeplyNested,
            format!("more than {MAX_LAYERS} headers in one frame"),
        );
        Found::Packet(network, None)
    }

    fn fragment<'a>(
        &mut self,
        frame: &Frame<'_>,
        network: Option<Network>,
        fragment: Fragment,
        view: View<'a>,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) -> Found<'a> {
        network
            .and_then(|network| self.fragments.add(frame, &network, fragment, view, notice))
            .map_or(Found::Packet(network, None), Found::Datagram)
    }

    #[inline]
    fn segment<'a>(
        &mut self,
        network: Option<Network>,
        view: View<'a>,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) -> Found<'a> {
        match tcp::segment(view, notice) {
            Ok(segment) => {
                self.note_cut_payload(&segment, notice);
                Found::Packet(network, Some(segment))
            }
            Err(stop) => {
                report(stop, view, notice);
                Found::Packet(network, None)
            }
        }
    }

    #[inline]
    fn note_cut_payload(
        &mut self,
        segment: &Segment<'_>,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) {
        if segment.payload.len() < segment.payload_bytes as usize {
            self.cut_payloads = self.cut_payloads.saturating_add(1);
            if self.cut_payloads == 1 {
                report_cut_payload(segment, notice);
            }
        }
    }
}

/// Report the first cut payload. The end of the capture reports the number of further ones, because with a
/// snap length every packet is cut.
#[cold]
fn report_cut_payload(segment: &Segment<'_>, notice: &mut impl FnMut(AnomalyKind, String)) {
    let (captured, sent) = (segment.payload.len(), segment.payload_bytes);
    notice(
        AnomalyKind::TruncatedPacket,
        format!("{captured} of {sent} payload bytes were captured"),
    );
}

/// Decode the most frequent kind of frame without the walk, which saves copies. The parsers are those of the
/// walk. Any unusual frame is left to the walk.
#[inline(always)]
fn tcp_in_ipv4_in_ethernet<'a>(frame: &Frame<'a>) -> Option<(Network, View<'a>)> {
    let view = View::of_frame(frame.bytes, frame.wire_bytes);
    let view = link::ipv4_in_ethernet(frame.link_type, view)?;
    let header = ip::ipv4::header(view).ok()?;
    (header.next == Layer::Protocol(ip::TCP) && header.total_bytes <= view.length())
        .then_some((header.network, header.payload))
}

#[inline]
fn report_overrun(total_bytes: u32, view: View<'_>, notice: &mut impl FnMut(AnomalyKind, String)) {
    if total_bytes > view.length() {
        report(
            Stop::TooLarge {
                field: "IP length",
                value: total_bytes,
                most: view.length(),
            },
            view,
            notice,
        );
    }
}

#[cold]
fn report(stop: Stop, view: View<'_>, notice: &mut impl FnMut(AnomalyKind, String)) {
    match stop {
        Stop::Opaque => {}
        Stop::Cut { header } if view.is_cut() => {
            let (captured, sent) = (view.bytes().len(), view.length());
            notice(
                AnomalyKind::TruncatedPacket,
                format!(
                    "cut inside the {header}: {captured} of the {sent} bytes from its start \
                     were captured"
                ),
            );
        }
        Stop::Cut { header } => {
            let left = view.length();
            notice(
                AnomalyKind::InconsistentLength,
                format!("{header} does not fit the {left} bytes left in its layer"),
            );
        }
        Stop::TooSmall {
            field,
            value,
            least,
        } => {
            notice(
                AnomalyKind::InconsistentLength,
                format!("{field} is {value}, less than {least}"),
            );
        }
        Stop::TooLarge { field, value, most } => {
            notice(
                AnomalyKind::InconsistentLength,
                format!("{field} is {value}, more than the available {most}"),
            );
        }
    }
}
