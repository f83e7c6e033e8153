//! The waits of a transaction that is over, from its start to the last ACK of its response.

use trace_model::rows::{Cause, Framing, TransactionRow, WaitRow};

use super::partition::{Moment, Partition, ASSUMED, INFERRED, SEEN};
use super::server_time::{Answer, Asked};
use super::spans::Spans;
use super::{half_offset, Path, Setup, Waits};

impl Waits {
    /// The waits of a transaction that is over; they are asked for in order. `response_start` is its
    /// offset in the server's stream. Fills in when the transaction starts and ends.
    pub fn of_transaction(
        &mut self,
        row: &mut TransactionRow,
        response_start: Option<u64>,
        setup: &Setup,
        path: Path,
    ) -> Vec<WaitRow> {
        let spans = Spans::of(row, setup);
        row.start_time = spans.start.time_ns;
        row.end_time = spans.end.time_ns;
        let mut partition = Partition::new(row.flow, row.index, spans.start, spans.end);
        if let Some((first, last)) = spans.request {
            if spans.opens_connection {
                setup.give(&mut partition);
            }
            partition.until(first, Cause::ClientThink, SEEN);
            self.give_request(last, &mut partition);
            self.requests.forget_before(last.time_ns);
        }
        self.responses.settle_waiting(path.of_responses());
        if let Some((first, last)) = spans.response {
            let extent =
                response_start.and_then(|start| self.responses.take_extent(half_offset(start)));
            let came = extent.and_then(|it| it.first).unwrap_or(first);
            // What comes behind a hole in the response before is not there until that is.
            let came = self.previous_end.map_or(came, |end| came.later(end));
            let had = match extent {
                Some(extent) => extent.last.unwrap_or(spans.end),
                None => self.last_byte(row, last),
            };
            let asked = Asked::of(row, &spans, &mut self.behind);
            self.note_answer(asked, &spans, path);
            let asked_ns = spans.request.map(|(_, last)| last.time_ns);
            let held = response_start.zip(asked_ns).and_then(|(start, asked_ns)| {
                self.responses
                    .take_held_opening(half_offset(start), asked_ns)
            });
            let answer = Answer { first, came, held };
            self.give_server(answer, asked, path, &mut partition);
            self.give_response(came, had, &mut partition);
            let closed = if is_ended_by_close(row) {
                spans.end
            } else {
                last
            };
            partition.until(closed, Cause::Close, INFERRED);
            self.give_last_ack(spans.end, extent.is_some(), path, &mut partition);
            self.previous_end = Some(had);
            self.responses.forget_before(had.time_ns);
        }
        partition.finish()
    }

    /// When the last byte of a response came that is complete at `last`: if its connection's end is the
    /// end of it, that is the FIN, and the byte came before.
    fn last_byte(&self, row: &TransactionRow, last: Moment) -> Moment {
        let latest = self.responses.latest().filter(|_| is_ended_by_close(row));
        latest.map_or(last, |latest| latest.earlier(last))
    }

    /// The request, from its first byte to its last.
    fn give_request(&self, last: Moment, partition: &mut Partition) {
        for piece in self.requests.between(partition.time_ns(), last.time_ns) {
            partition.until(piece.start, Cause::RequestSend, SEEN);
            partition.until(piece.end.earlier(last), piece.cause, piece.confidence);
        }
        partition.until(last, Cause::RequestSend, SEEN);
    }

    /// The response, as it came to the client.
    fn give_response(&self, came: Moment, had: Moment, partition: &mut Partition) {
        if let Some(time_ns) = self.responses.forgotten_until_ns() {
            let until = Moment { time_ns, ..came };
            partition.until(until.earlier(had), Cause::Unexplained, ASSUMED);
        }
        let mut pieces = self.responses.between(came.time_ns, had.time_ns).peekable();
        let mut begun = None;
        while let Some(piece) = pieces.next() {
            let start = begun.take().unwrap_or(piece.start);
            if pieces.peek().is_some_and(|next| piece.is_one_with(next)) {
                begun = Some(start);
                continue;
            }
            let piece = &piece.since(start);
            if let Some(paced) = self.responses.paced_until(piece) {
                partition.until(paced.earlier(had), Cause::SendLimitedBottleneck, INFERRED);
            }
            let cause = self.responses.cause_by_now(piece);
            self.give_held(
                piece.end.earlier(had),
                (cause, piece.confidence),
                piece.later_ns,
                partition,
            );
        }
        partition.until(had, Cause::SendLimitedBottleneck, ASSUMED);
    }

    /// The client had it all: what is left is its last ACK.
    fn give_last_ack(&self, end: Moment, by_ack: bool, path: Path, partition: &mut Partition) {
        for piece in self.responses.between(partition.time_ns(), end.time_ns) {
            if piece.is_repair() {
                partition.until(piece.end.earlier(end), piece.cause, piece.confidence);
            }
        }
        if !by_ack {
            let way = path.of_responses().to_receiver_ns;
            partition.at_most(way, end, Cause::NetworkPropagation, INFERRED);
        }
        partition.until(end, Cause::ClientDelayedAck, INFERRED);
    }
}

fn is_ended_by_close(row: &TransactionRow) -> bool {
    row.response_framing == Some(Framing::UntilClose)
}
