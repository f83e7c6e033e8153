//! What the server had heard when it sent, by the timestamps that it echoes.

use tcptrace_tcp::Side;
use trace_model::{flags, Segment};

use super::Flow;
use crate::echoes::HeardOf;

impl Flow {
    /// A segment that begins there goes by. The server echoes the client's timestamp if it has acknowledged all before.
    pub(super) fn note_echoes(
        &mut self,
        side: Side,
        time_ns: i64,
        (segment, start): (&Segment<'_>, i64),
    ) {
        let Some(stamps) = segment.options.timestamps else {
            self.server_had_heard = HeardOf::default();
            return;
        };
        if side != self.client {
            let echoes = self.echoes.as_mut();
            self.server_had_heard =
                echoes.map_or_else(HeardOf::default, |it| it.comes(time_ns, stamps));
            return;
        }
        // Of a connection that is no HTTP none are kept.
        let is_syn = segment.has(flags::SYN);
        if (is_syn || self.waits.is_some()) && start <= self.half(side).acked {
            let echoes = self.echoes.get_or_insert_default();
            echoes.goes(time_ns, stamps.value, segment.payload_bytes == 0);
        }
    }
}
