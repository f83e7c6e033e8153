//! What packets without payload tell of the slowest link when a connection ends.

use trace_model::{flags, Segment};

use super::host_pair::HostPair;

impl HostPair {
    /// A packet of the server goes by: what headers take may agree with the answers before, or with the path's round
    /// trip, for which a handshake's packets are longer than a FIN and its ACK.
    pub(super) fn bare_comes(&mut self, time_ns: i64, segment: &Segment<'_>) {
        self.fin_answered(time_ns, segment);
        if !self.bare.comes(time_ns, segment) || self.is_at_server() {
            return;
        }
        let bare_way_ns = self.bare_way.map(|way| self.bare.way_ns(way));
        let way_ns = self.to_server_ns.zip(bare_way_ns);
        let longer_ns = way_ns.map_or(0, |(syn_ns, bare_ns)| syn_ns.saturating_sub(bare_ns));
        let bytes = self.headers.syn_longer_bytes();
        let by_options = self.bare.agrees_with_options(longer_ns, bytes);
        if let Some(byte_ps) = self.bare.agrees().or(by_options) {
            self.link.agree_on(byte_ps, byte_ps);
        }
        self.link_times_agree();
    }

    /// A host acknowledges a FIN at once: that measures the way without options.
    fn fin_answered(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let connection = self.connection(segment.destination_port, segment.source_port);
        let Some(connection) = connection.filter(|_| segment.payload_bytes == 0) else {
            return;
        };
        let is_single = connection.unheard_fin_ns.is_none() && !segment.has(flags::SYN);
        let mark = connection.mark.filter(|mark| {
            is_single && connection.fin_ns == Some(mark.time_ns) && mark.end == segment.ack
        });
        let ahead = connection.ahead_of_fin;
        let mark = mark.filter(|_| ahead.bytes == 0);
        if let Some(mark) = mark {
            let way_ns = time_ns.saturating_sub(mark.time_ns);
            let way = (ahead.packets, way_ns);
            self.bare_way = Some(self.bare_way.map_or(way, |least| least.min(way)));
        }
    }
}
