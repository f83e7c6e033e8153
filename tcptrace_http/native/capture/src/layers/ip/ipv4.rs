//! IPv4 headers (RFC 791, section 3.1).

use super::fragments::Fragment;
use super::Header;
use crate::layers::view::View;
use crate::layers::{Layer, Stop};
use trace_model::{IpAddress, Network};

const MIN_HEADER_BYTES: u32 = 20;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// Inlined by force: this is where every packet passes.
#[inline(always)]
pub(in crate::layers) fn header(view: View<'_>) -> Result<Header<'_>, Stop> {
    let [first, traffic_class, len0, len1, id0, id1, frag0, frag1, ttl, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] =
        *view.header::<20>("IPv4 header")?;
    let header_bytes = u32::from(first & 0x0f) << 2;
    if header_bytes < MIN_HEADER_BYTES {
        return Err(Stop::TooSmall {
            field: "IPv4 header length",
            value: header_bytes,
            least: MIN_HEADER_BYTES,
        });
    }
    let total_bytes = total_bytes(u16::from_be_bytes([len0, len1]), view);
    let Some(payload_bytes) = total_bytes.checked_sub(header_bytes) else {
        return Err(Stop::TooSmall {
            field: "IPv4 total length",
            value: total_bytes,
            least: header_bytes,
        });
    };
    let payload = view
        .after(usize::from(first & 0x0f) << 2, "IPv4 options")?
        .until(payload_bytes);
    let identification = u32::from(u16::from_be_bytes([id0, id1]));
    let fragment_field = u16::from_be_bytes([frag0, frag1]);
    let is_fragment = fragment_field & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0;
    let next = if is_fragment {
        Layer::Fragment(Fragment {
            // The field counts in units of 8 bytes.
            offset: u32::from(fragment_field & FRAGMENT_OFFSET) << 3,
            more_follow: fragment_field & MORE_FRAGMENTS != 0,
            identification,
            protocol,
        })
    } else {
        Layer::Protocol(protocol)
    };
    let network = Network {
        source: IpAddress::v4([s0, s1, s2, s3]),
        destination: IpAddress::v4([d0, d1, d2, d3]),
        protocol,
        ttl,
        identification,
        header_offset: view.offset(),
        is_fragment,
        ecn: traffic_class & 0b11,
    };
    Ok(Header {
        network,
        total_bytes,
        next,
        payload,
    })
}

/// A total length of 0 stands in packets captured before segmentation offload cut them, and in
/// those of more than 65,535 bytes (Linux BIG TCP): they fill the frame.
#[inline]
fn total_bytes(field: u16, view: View<'_>) -> u32 {
    if field == 0 {
        view.length()
    } else {
        u32::from(field)
    }
}
