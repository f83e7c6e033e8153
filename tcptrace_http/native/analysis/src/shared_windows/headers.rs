//! By how much a handshake's packets are longer than others without payload: options that only a SYN has (RFC 9293,
//! section 3.2) take their time on a slow link, so the round trip that a handshake measures is no bare packet's. And how
//! long the headers of data are, which take theirs.

use trace_model::{flags, Segment};

/// An IP header without options (RFC 791, section 3.1; RFC 8200, section 3).
const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;

/// What a packet has before its TCP header.
pub(super) fn ip_header_bytes(is_v6: bool) -> u32 {
    if is_v6 {
        IPV6_BYTES
    } else {
        IPV4_BYTES
    }
}

/// Headers of TCP of one host.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    syn_bytes: Option<u8>,
    least_bytes: Option<u8>,
    data_bytes: Option<u8>,
}

impl Header {
    fn syn_longer_bytes(self) -> u32 {
        let both = self.syn_bytes.zip(self.least_bytes);
        both.map_or(0, |(syn, least)| u32::from(syn.saturating_sub(least)))
    }
}

/// ... of both, the client first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Headers([Header; 2]);

impl Headers {
    pub(super) fn goes_by(&mut self, from_client: bool, segment: &Segment<'_>) {
        let [client, server] = &mut self.0;
        let header = if from_client { client } else { server };
        let bytes = segment.header_bytes;
        if segment.has(flags::SYN) {
            header.syn_bytes = Some(header.syn_bytes.map_or(bytes, |least| least.min(bytes)));
        } else {
            header.least_bytes = Some(header.least_bytes.map_or(bytes, |least| least.min(bytes)));
            if segment.payload_bytes > 0 {
                header.data_bytes = Some(bytes);
            }
        }
    }

    /// The headers of IP and TCP of the server's newest data.
    pub(super) fn of_data(self, is_v6: bool) -> Option<u32> {
        let [_, server] = self.0;
        let ip_bytes = ip_header_bytes(is_v6);
        let of_tcp = server.data_bytes.map(u32::from);
        of_tcp.map(|bytes| bytes.saturating_add(ip_bytes))
    }

    /// Bytes of a SYN that comes with data which the server's newest data lacks.
    pub(super) fn longer_than_data_bytes(self, segment: &Segment<'_>) -> u32 {
        let [_, server] = self.0;
        let syn_bytes = Some(segment.header_bytes).filter(|_| segment.has(flags::SYN));
        let both = syn_bytes.zip(server.data_bytes);
        both.map_or(0, |(syn, data)| u32::from(syn.saturating_sub(data)))
    }

    /// Bytes of a SYN and its answer that other packets lack.
    pub(super) fn syn_longer_bytes(self) -> u32 {
        self.0.into_iter().map(Header::syn_longer_bytes).sum()
    }

    /// ... of the SYN's answer alone.
    pub(super) fn syn_ack_longer_bytes(self) -> u32 {
        let [_, server] = self.0;
        server.syn_longer_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;

    #[test]
    fn what_only_a_handshakes_packets_have_is_what_they_are_longer_by() {
        let mut headers = Headers::default();
        for (from_client, flags, header_bytes) in [
            (true, flags::SYN, 40),
            (false, flags::SYN, 44),
            (true, flags::ACK, 32),
            (false, flags::ACK, 36),
            (false, flags::ACK, 32),
        ] {
            let packet = Segment {
                header_bytes,
                ..segment(flags, u32::MAX, 2, 0)
            };
            headers.goes_by(from_client, &packet);
        }
        assert_eq!(headers.syn_longer_bytes(), 8 + 12);
    }
}
