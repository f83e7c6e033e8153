//! End of a flow, and evidence that an RST did not end it.

use std::collections::VecDeque;

use tcptrace_http_messages::End;
use tcptrace_tcp::{Half, Side, ACK_AHEAD_MAX};
use trace_model::rows::ClosedBy;
use trace_model::{flags, AnomalyKind, Mark, Packet, Segment};

use super::closing::{Close, Closing};
use super::Flow;
use crate::tables::Tables;

/// Longest time for which data may be on its way to the resetting host, if no round trip is known.
///
/// The value is the initial RTO (RFC 6298, section 2.1).
const ON_ITS_WAY_MAX_NS: i64 = 1_000_000_000;

impl Flow {
    /// Record a FIN or RST, and notify HTTP at the end of a direction.
    pub(super) fn close(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        tables: &mut Tables,
    ) {
        let mark = Mark {
            frame: packet.frame,
            time_ns: packet.time_ns,
        };
        let is_client = side == self.client();
        if segment.has(flags::RST) {
            if !self.is_credible_reset(side, segment) {
                return;
            }
            if !self.was_reset() {
                self.closing.reset_ns = packet.time_ns;
            }
            self.note_close(mark, is_client, true);
            if self.closing.by == ClosedBy::Open {
                self.closing.by = if is_client {
                    ClosedBy::ClientReset
                } else {
                    ClosedBy::ServerReset
                };
            }
            self.end_direction(Side::First, End::Reset, mark, tables);
            self.end_direction(Side::Second, End::Reset, mark, tables);
            self.carried.is_opaque = true;
            return;
        }
        if segment.has(flags::FIN) {
            self.note_fin(side, mark);
        }
        let is_ending =
            self.first.sequence.fin_end.is_some() || self.second.sequence.fin_end.is_some();
        if is_ending {
            self.end_delivered(side, mark, tables);
        }
    }

    /// Record the FIN that ends the data of `side`.
    pub(super) fn note_fin(&mut self, side: Side, mark: Mark) {
        let is_client = side == self.client();
        self.note_close(mark, is_client, false);
        if self.closing.by == ClosedBy::Open {
            self.closing.by = if is_client {
                ClosedBy::Client
            } else {
                ClosedBy::Server
            };
        }
        let (sender, _) = self.halves(side);
        sender.sequence.fin_end.get_or_insert(sender.sequence.next);
    }

    fn note_close(&mut self, mark: Mark, by_client: bool, is_reset: bool) {
        let acked = self.client_half().sequence.acked;
        self.closing.note(Close {
            mark,
            by_client,
            is_reset,
            client_acked: u64::try_from(acked.saturating_sub(1)).unwrap_or(0),
        });
    }

    /// End the directions whose FIN has arrived and whose last byte was delivered.
    fn end_delivered(&mut self, side: Side, mark: Mark, tables: &mut Tables) {
        for side in [side, side.other()] {
            let half = self.half(side);
            // The FIN takes one number after the last byte; streams count bytes from 0. A flow that is no
            // longer read delivers nothing.
            let is_delivered = half.sequence.fin_end.is_some_and(|end| {
                self.carried.is_opaque || half.reassembler.delivered() >= end.saturating_sub(2)
            });
            if is_delivered && !half.has_ended {
                self.end_direction(side, End::Fin, mark, tables);
            }
        }
        if self.is_over() {
            self.carried.is_opaque = true;
            self.release();
        }
    }

    pub(super) fn was_reset(&self) -> bool {
        matches!(
            self.closing.by,
            ClosedBy::ClientReset | ClosedBy::ServerReset
        )
    }

    /// Return whether the number of an RST may lie in the receiver's window.
    ///
    /// Receivers discard all other RSTs (RFC 9293, section 3.10.7.4): they are forged or very old.
    fn is_credible_reset(&mut self, side: Side, segment: &Segment<'_>) -> bool {
        let (sender, _) = self.halves(side);
        let start = sender.sequence.offset_of(segment.seq, false);
        start.saturating_sub(sender.sequence.next).abs() <= ACK_AHEAD_MAX
    }

    /// Return whether a segment shows that the previous RST did not end the connection.
    ///
    /// Its sender sends more data, or its receiver sends new data after it must know of the RST. Data already
    /// on its way is no evidence.
    pub(super) fn disproves_reset(
        &self,
        side: Side,
        time_ns: i64,
        segment: &Segment<'_>,
        is_new: bool,
    ) -> bool {
        let is_client = side == self.client();
        let has_reset = is_client == (self.closing.by == ClosedBy::ClientReset);
        let elapsed = time_ns.saturating_sub(self.closing.reset_ns);
        let is_continued = is_new && segment.payload_bytes > 0 && !segment.has(flags::RST);
        if has_reset {
            is_continued || segment.has(flags::SYN)
        } else {
            is_continued && elapsed > self.path_rtt_ns().unwrap_or(ON_ITS_WAY_MAX_NS)
        }
    }

    /// Reopen the flow after an RST that did not end it.
    pub(super) fn reopen(&mut self) {
        self.closing = Closing::default();
        self.carried.is_opaque = false;
        self.carried.drop_reader();
        for half in [&mut self.first, &mut self.second] {
            half.has_ended = false;
            half.sequence.fin_end = None;
        }
    }

    /// Release the memory of a finished flow once all data is acknowledged; later packets are still counted.
    pub(super) fn release(&mut self) {
        let is_acked = |half: &Half| half.sequence.acked >= half.sequence.next;
        if !is_acked(&self.first) || !is_acked(&self.second) {
            return;
        }
        self.carried.drop_reader();
        if self.unacknowledged.is_empty() {
            if let Some(messages) = self.messages.as_mut() {
                messages.release();
            }
            self.end_record();
        }
        self.unacknowledged.shrink();
        self.first.outstanding = VecDeque::new();
        self.second.outstanding = VecDeque::new();
    }

    pub(super) fn end_direction(&mut self, side: Side, end: End, mark: Mark, tables: &mut Tables) {
        let is_opaque = self.carried.is_opaque;
        let (half, _) = self.halves(side);
        if std::mem::replace(&mut half.has_ended, true) || is_opaque {
            half.early = None;
            half.into_closed_window = None;
            return;
        }
        self.finish_early(side, tables);
        self.deliver_kept(side, tables);
        self.deliver(side, mark, tables, |reassembler, deliver| {
            reassembler.finish(deliver)
        });
        let direction = self.direction_of(side);
        if let Some(reader) = self.carried.reader.as_mut() {
            reader.end(direction, end, mark, &mut tables.http_output);
            // A message head that breaks off here may be the flow's only one.
            self.carried.note();
        }
        self.collect(tables);
    }

    /// Finish the flow at the end of the capture or of this use of the ports.
    pub fn finish(&mut self, tables: &mut Tables) {
        let mark = Mark {
            frame: tables.last_frame,
            time_ns: self.end_ns,
        };
        self.end_direction(Side::First, End::EndOfCapture, mark, tables);
        self.end_direction(Side::Second, End::EndOfCapture, mark, tables);
        self.carried.drop_reader();
        self.flush_unacknowledged(tables);
        self.finish_queues(tables);
        self.end_record();
        self.write_recoveries(self.end_ns, true, tables);
        self.losses.recoveries = None;
        self.release_held(tables);
        if !self.client_half().has_syn && !self.server_half().has_syn {
            let detail = "the handshake was not captured".to_owned();
            tables.anomaly(AnomalyKind::MidStreamStart, None, self.id.number, detail);
        }
    }
}
