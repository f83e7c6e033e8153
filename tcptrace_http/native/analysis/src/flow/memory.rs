//! Memory of a flow, and its release when all flows exceed the limit.

use tcptrace_tcp::Side;
use trace_model::{AnomalyKind, Mark, Packet};

use super::Flow;
use crate::tables::Tables;

impl Flow {
    /// Add the flow's memory to the sum of all flows, and release it if the sum exceeds the limit.
    #[inline]
    pub(super) fn account(&mut self, packet: &Packet<'_>, tables: &mut Tables) {
        let before = self.held_bytes;
        self.update_held(tables);
        if self.held_bytes > before && tables.held.is_over() {
            self.give_up_held(packet, tables);
        }
    }

    #[inline]
    fn update_held(&mut self, tables: &mut Tables) {
        let reader = self.carried.reader.as_ref();
        let parts = [
            reader.map_or(0, |reader| reader.held_bytes()),
            self.first.held_bytes(),
            self.second.held_bytes(),
            self.messages.as_ref().map_or(0, |it| it.held_bytes()),
            self.unacknowledged.held_bytes(),
            self.losses
                .recoveries
                .as_ref()
                .map_or(0, |it| it.held_bytes()),
            self.record.as_ref().map_or(0, |record| record.held_bytes()),
        ];
        let now = parts.into_iter().fold(0, u64::saturating_add);
        tables.held.change(self.held_bytes, now);
        self.held_bytes = now;
    }

    /// Remove a finished flow's memory from the sum.
    pub(super) fn release_held(&mut self, tables: &mut Tables) {
        tables.held.change(self.held_bytes, 0);
        self.held_bytes = 0;
    }

    /// Release the memory of the flow, the least important parts first; later data is still read.
    fn give_up_held(&mut self, packet: &Packet<'_>, tables: &mut Tables) {
        let mark = Mark {
            frame: packet.frame,
            time_ns: packet.time_ns,
        };
        if tables.held.give_up(self.held_bytes) {
            let detail = format!(
                "the flows together exceed the memory limit for waiting data; this flow drops {} bytes, \
                 and other flows follow as they grow",
                self.held_bytes
            );
            tables.anomaly(
                AnomalyKind::LimitReached,
                Some(packet.frame),
                self.id.number,
                detail,
            );
        }
        self.give_up_holes(mark, tables);
        self.update_held(tables);
        if tables.held.is_over() {
            self.give_up_messages(mark, tables);
            self.update_held(tables);
        }
    }

    /// Deliver the data that waits behind holes.
    fn give_up_holes(&mut self, mark: Mark, tables: &mut Tables) {
        for side in [Side::First, Side::Second] {
            self.finish_early(side, tables);
            self.deliver_kept(side, tables);
            if self.half(side).reassembler.is_waiting() {
                self.deliver(side, mark, tables, |reassembler, deliver| {
                    reassembler.finish(deliver)
                });
            }
        }
    }

    /// Emit the known parts of messages, and drop unacknowledged segments.
    fn give_up_messages(&mut self, mark: Mark, tables: &mut Tables) {
        if let Some(reader) = self.carried.reader.as_mut() {
            reader.give_up_held(mark, &mut tables.http_output);
            self.carried.note();
        }
        self.collect(tables);
        self.flush_unacknowledged(tables);
        self.finish_queues(tables);
        self.write_recoveries(self.end_ns, true, tables);
        self.losses.recoveries = None;
        if let Some(messages) = self.messages.as_mut() {
            messages.release();
        }
        if let Some(record) = self.record.as_mut() {
            record.give_up();
        }
        self.first.outstanding.clear();
        self.second.outstanding.clear();
    }
}
