//! Rows of a page: its facts, its transactions, and its critical path.

use trace_model::rows::{
    CriticalPathRow, CriticalPathTable, Membership, RetrievalRow, RetrievalTransactionRow,
    RetrievalTransactionsTable, RetrievalsTable,
};

use super::critical_path::{stretches, Step, Stretch};
use super::grouping::Member;
use super::requests::{Request, Requests};
use super::waits_of::TransactionWaits;
use crate::numbered::NumberSet;

/// Tables of pages during construction.
#[derive(Default)]
pub(super) struct PageBuilder {
    count: u32,
    pub(super) retrievals: RetrievalsTable,
    pub(super) transactions: RetrievalTransactionsTable,
    pub(super) path: CriticalPathTable,
}

impl PageBuilder {
    /// Add the rows of the page with these requests; the first is its base.
    pub(super) fn page(
        &mut self,
        requests: &Requests,
        members: &[Member],
        rows: &[usize],
        waits: &TransactionWaits<'_>,
    ) {
        let all = || {
            let rows = rows.iter();
            rows.filter_map(|row| Some((requests.rows.get(*row)?, members.get(*row)?)))
        };
        let Some((base, _)) = all().next() else {
            return;
        };
        let retrieval = self.count;
        self.count = retrieval.saturating_add(1);
        let steps: Vec<Step> = all()
            .map(|(it, member)| step(requests, it, member))
            .collect();
        for ((_, member), step) in all().zip(&steps) {
            self.transactions.push(&RetrievalTransactionRow {
                retrieval,
                flow: step.place.0,
                transaction: step.place.1,
                how: member.how,
                initiator_flow: step.initiator.map(|it| it.0),
                initiator_transaction: step.initiator.map(|it| it.1),
                known: step.known_ns,
                start: step.start_ns,
                request_time: step.request_ns,
                end: step.end_ns,
            });
        }
        let end = all().map(|(it, _)| it.end_ns).max().unwrap_or(base.end_ns);
        let elapsed = end.saturating_sub(base.start_ns);
        let flows: NumberSet<u32> = all().map(|(it, _)| it.flow).collect();
        self.retrievals.push(&RetrievalRow {
            retrieval,
            client: requests
                .clients
                .get(base.client)
                .cloned()
                .unwrap_or_default(),
            flow: base.flow,
            transaction: base.transaction,
            url: requests.url(base.url),
            start: base.start_ns,
            end,
            elapsed,
            transactions: u32::try_from(steps.len()).unwrap_or(u32::MAX),
            flows: u32::try_from(flows.len()).unwrap_or(u32::MAX),
            bytes: all().map(|(it, _)| it.bytes).fold(0, u64::saturating_add),
            how_grouped: all()
                .map(|(_, member)| member.how)
                .max()
                .unwrap_or_default(),
            confidence: mean(all().map(|(_, member)| confidence(member.how))),
        });
        self.path(retrieval, elapsed, stretches(steps), waits);
    }

    fn path(
        &mut self,
        retrieval: u32,
        elapsed: i64,
        mut stretches: Vec<Stretch>,
        waits: &TransactionWaits<'_>,
    ) {
        stretches.reverse();
        let pieces = stretches.iter().flat_map(|stretch| {
            let pieces = waits.pieces(stretch);
            pieces.into_iter().map(|piece| (stretch.place, piece))
        });
        for (step, ((flow, transaction), piece)) in (0_u32..).zip(pieces) {
            self.path.push(&CriticalPathRow {
                retrieval,
                step,
                flow,
                transaction,
                cause: piece.cause,
                start: piece.start_ns,
                end: piece.end_ns,
                share: piece.end_ns.saturating_sub(piece.start_ns) as f64 / elapsed as f64,
            });
        }
    }
}

/// Return the confidence that a transaction belongs to the retrieval, by its evidence.
///
/// Location and Referer are statements of the peers. A later page may follow a link again. Time is a guess,
/// and Mah found no better one.
fn confidence(how: Membership) -> f64 {
    match how {
        Membership::Base => 1.0,
        Membership::Redirect | Membership::Referer => 0.95,
        Membership::Link => 0.9,
        Membership::Time => 0.6,
    }
}

fn step(requests: &Requests, request: &Request, member: &Member) -> Step {
    let initiator = member.cause.and_then(|it| requests.rows.get(it.initiator));
    Step {
        place: (request.flow, request.transaction),
        initiator: initiator.map(|it| (it.flow, it.transaction)),
        known_ns: member.cause.map(|it| it.known_ns),
        is_named: member.cause.is_some_and(|it| it.is_named),
        start_ns: request.start_ns,
        request_ns: request.request_ns,
        end_ns: request.end_ns,
    }
}

/// Return the mean with a compensated sum (Kahan), so that long sums lose no digits.
fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost, mut count) = (0.0, 0.0, 0.0);
    for number in numbers {
        let more: f64 = number - lost;
        let next: f64 = sum + more;
        lost = (next - sum) - more;
        sum = next;
        count += 1.0;
    }
    sum / count
}
