//! Captured handshake of a flow.

use tcptrace_attribution::{Handshake, Moment};

#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Times of the last SYN and the last SYN-ACK.
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    /// Time from the SYN to the client's ACK of the SYN-ACK.
    pub initial_rtt_ns: Option<i64>,
    /// First SYN of the client.
    begun: Option<Moment>,
    /// Last retransmission of a SYN or SYN-ACK.
    resent: Option<Moment>,
    /// The client's ACK of the SYN-ACK.
    done: Option<Moment>,
    /// Bytes of the largest handshake packet.
    packet_bytes: u32,
}

impl Setup {
    /// Take a SYN or SYN-ACK in a packet of `packet_bytes`.
    pub fn syn(&mut self, at: Moment, is_syn_ack: bool, packet_bytes: u32) {
        let slot = if is_syn_ack {
            &mut self.syn_ack_ns
        } else {
            &mut self.syn_ns
        };
        let was_sent = slot.replace(at.time_ns).is_some();
        if was_sent && self.done.is_none() {
            self.resent = Some(at);
        } else if !is_syn_ack {
            self.begun.get_or_insert(at);
        }
        self.packet_bytes = self.packet_bytes.max(packet_bytes);
    }

    /// Take the client's ACK of the SYN-ACK.
    pub fn done(&mut self, at: Moment) {
        self.done.get_or_insert(at);
        if let (None, Some(syn_ns), Some(_)) = (self.initial_rtt_ns, self.syn_ns, self.syn_ack_ns) {
            let rtt_ns = at.time_ns.saturating_sub(syn_ns);
            self.initial_rtt_ns = Some(rtt_ns).filter(|rtt_ns| *rtt_ns >= 0);
        }
    }

    /// Return the time from SYN to SYN-ACK; `None` if either was retransmitted.
    #[must_use]
    pub fn syn_to_syn_ack_ns(&self) -> Option<i64> {
        let took_ns = self.syn_ack_ns?.saturating_sub(self.syn_ns?);
        Some(took_ns).filter(|took_ns| *took_ns >= 0 && !self.was_resent())
    }

    /// Return whether a SYN or a SYN-ACK was retransmitted.
    #[must_use]
    pub fn was_resent(&self) -> bool {
        self.resent.is_some()
    }

    /// Return the bytes of the largest handshake packet; 0 without one.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        self.packet_bytes
    }

    #[must_use]
    pub fn handshake(&self) -> Handshake {
        Handshake {
            begun: self.begun,
            resent: self.resent,
            done: self.done,
            secured: None,
            is_http_client: false,
            settings: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn at_ms(ms: i64) -> Moment {
        Moment {
            frame: 1,
            time_ns: ms * MS,
        }
    }

    #[test]
    fn retransmitted_syn_gives_no_round_trip() {
        let mut setup = Setup::default();
        setup.syn(at_ms(0), false, 60);
        setup.syn(at_ms(200), true, 60);
        assert_eq!(setup.syn_to_syn_ack_ns(), Some(200 * MS));
        let mut setup = Setup::default();
        setup.syn(at_ms(0), false, 60);
        setup.syn(at_ms(1000), false, 60);
        setup.syn(at_ms(1200), true, 60);
        assert_eq!(setup.syn_to_syn_ack_ns(), None);
    }
}
