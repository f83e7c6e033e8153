//! The pages of a capture, gathered from all its batches: a page may have transactions in any of them.
//!
//! Theory of operation. [`Pages`] takes the rows that pages are made of, batch by batch, and makes the tables
//! `retrievals`, `retrieval_transactions` and `critical_path` when all is there: the [`requests`] by client and
//! time, then [`grouping`] by evidence, then the [`critical_path`] of each page through the waits of its
//! transactions.

mod critical_path;
mod following;
mod grouping;
mod making;
mod reference;
mod requests;
mod waits_of;

use crate::documents::Document;
use crate::numbered::{Numbered, Numbers};
use std::collections::BTreeMap;

use trace_model::column::{Column, Columns};
use trace_model::rows::Cause;

use critical_path::{Place, Wait};
use following::FOLLOWED_BYTES_MAX;
use grouping::{members, Member};
use making::Making;
use requests::Requests;
use waits_of::WaitsOf;

/// A silence of the client from which on a transaction that nothing else explains begins a new page.
/// B. Mah, An Empirical Model of HTTP Network Traffic (INFOCOM 1997) divides pages at one second, and
/// P. Barford and M. Crovella (SIGMETRICS 1998) the off times of the browser from those of the user.
const SILENCE_MIN_NS: i64 = 1_000_000_000;

/// What pages are made from, and the columns that are kept of each. Detectors of pages have no others.
const SOURCES: [(&str, &[&str]); 5] = [
    (
        "flows",
        &[
            "flow",
            "client",
            "server",
            "server_port",
            "start",
            "has_syn",
            "initial_rtt",
            "server_path_rtt",
            "client_path_rtt",
            "initial_window_segments",
            "largest_window_segments",
            "segment_bytes",
        ],
    ),
    (
        "transactions",
        &[
            "flow",
            "index",
            "protocol",
            "method",
            "target",
            "host",
            "referer",
            "status",
            "request_frame",
            "response_first_frame",
            "request_time",
            "request_last_time",
            "response_first_time",
            "response_last_time",
            "response_wire_bytes",
            "end_time",
            "content_type",
            "location",
        ],
    ),
    ("tls_handshakes", &["flow", "done_time"]),
    ("waits", &["flow", "transaction", "cause", "start", "end"]),
    ("flaws", &["flow", "flaw"]),
];

/// A wait that a detector has put in place of those of the core: its transaction, cause, start and end.
pub type Stalled = (u32, u32, String, i64, i64);

/// Gathers what pages are made of.
#[derive(Debug, Default)]
pub struct Pages {
    /// Of each table the rows of each batch: joined, they would take twice the memory as they grow.
    sources: BTreeMap<&'static str, Vec<Columns>>,
    documents: Vec<Document>,
    bytes: usize,
    /// The waits of transactions that are not those of the core.
    stalled: Numbered<Place, Vec<Wait>>,
    bytes_max: usize,
    /// Transactions that were left out because all of them take too much.
    left_out: usize,
}

/// The tables of pages.
#[derive(Debug)]
pub struct PageTables {
    pub retrievals: Columns,
    pub retrieval_transactions: Columns,
    pub critical_path: Columns,
    /// Documents whose links were not looked at.
    documents_left_out: usize,
}

impl PageTables {
    /// What to say where the links of all documents were too many.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.documents_left_out > 0).then(|| {
            format!(
                "the links of {} documents are not followed: those before have reached {} MiB",
                self.documents_left_out,
                FOLLOWED_BYTES_MAX >> 20
            )
        })
    }
}

impl Pages {
    /// Of rows that take no more than so much memory.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Pages {
            bytes_max,
            ..Pages::default()
        }
    }

    /// Adds the rows and documents of a batch. `stalled` are all waits of those transactions whose waits are others than
    /// the core's, in order.
    ///
    /// Where all rows take too much, there are no pages: those of a part of a capture would be wrong.
    pub fn add(
        &mut self,
        tables: &BTreeMap<&'static str, Columns>,
        documents: &[Document],
        stalled: Vec<Stalled>,
    ) {
        let bytes = documents.iter().map(Document::bytes);
        self.bytes = self.bytes.saturating_add(bytes.sum());
        self.documents.extend_from_slice(documents);
        for (name, wanted) in SOURCES {
            let Some(columns) = tables.get(name) else {
                continue;
            };
            let part = columns.part(|column| wanted.contains(&column), None::<fn(usize) -> bool>);
            let bytes = part.columns.iter().map(Column::bytes);
            self.bytes = self.bytes.saturating_add(bytes.sum());
            self.sources.entry(name).or_default().push(part);
        }
        for (flow, transaction, cause, start_ns, end_ns) in stalled {
            let cause = Cause::ALL.iter().find(|it| it.word() == cause);
            self.stalled
                .entry((flow, transaction))
                .or_default()
                .push(Wait {
                    cause: cause.copied().unwrap_or(Cause::Unexplained),
                    start_ns,
                    end_ns,
                });
        }
        if self.bytes > self.bytes_max {
            let here = self.parts("transactions").iter().map(|part| part.rows);
            self.left_out = self.left_out.saturating_add(here.sum());
            self.sources.clear();
            self.documents.clear();
            self.stalled.clear();
        }
    }

    /// What to say where there are no pages because there were too many.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "pages are not made of {} transactions: what is needed of them has reached {} MiB",
                self.left_out,
                self.bytes_max >> 20
            )
        })
    }

    /// A table that was gathered.
    #[must_use]
    pub fn source(&self, name: &str) -> Columns {
        let mut all = Columns::default();
        let parts = self.parts(name).iter();
        parts.for_each(|part| all.append(part.clone()));
        all
    }

    fn parts(&self, name: &str) -> &[Columns] {
        self.sources.get(name).map_or(&[], Vec::as_slice)
    }

    /// The tables of pages, of all that was gathered.
    #[must_use]
    pub fn tables(&self) -> PageTables {
        let requests = Requests::of(
            self.parts("transactions"),
            self.parts("flows"),
            self.parts("tls_handshakes"),
            &self.documents,
        );
        let members = members(&requests);
        let waits = WaitsOf::of(self.parts("waits"), &self.stalled);
        let mut made = Making::default();
        for rows in pages(&requests, &members) {
            made.page(&requests, &members, &rows, &waits);
        }
        PageTables {
            retrievals: made.retrievals.into_columns(),
            retrieval_transactions: made.transactions.into_columns(),
            critical_path: made.path.into_columns(),
            documents_left_out: requests.documents_left_out,
        }
    }

    /// Whether a page of `tables` has so many transactions, and more than `of_flow_min` of them on a flow whose
    /// round trip is at least `rtt_min_ns`.
    #[must_use]
    pub fn has_chain(
        &self,
        tables: &PageTables,
        transactions_min: u32,
        of_flow_min: u32,
        rtt_min_ns: i64,
    ) -> bool {
        let far: Numbers<u32> = self
            .parts("flows")
            .iter()
            .flat_map(|flows| far_flows(flows, rtt_min_ns))
            .collect();
        let counts = tables
            .retrievals
            .numbers("transactions")
            .unwrap_or_default();
        let of_pages = &tables.retrieval_transactions;
        let retrievals = of_pages.numbers("retrieval").unwrap_or_default();
        let flows = of_pages.numbers("flow").unwrap_or_default();
        let mut of_flow: Numbered<(u32, u32), u32> = Numbered::default();
        retrievals.iter().zip(flows).any(|(retrieval, flow)| {
            let count = counts.get(usize::try_from(*retrieval).unwrap_or(usize::MAX));
            if !far.contains(flow) || count < Some(&transactions_min) {
                return false;
            }
            let count = of_flow.entry((*retrieval, *flow)).or_default();
            *count = count.saturating_add(1);
            *count > of_flow_min
        })
    }
}

/// The flows whose round trip is at least so long.
fn far_flows(flows: &Columns, rtt_min_ns: i64) -> impl Iterator<Item = u32> + '_ {
    let rtt_ns = |row| {
        let integer = |name| flows.column(name)?.integer(row);
        let both = integer("server_path_rtt").zip(integer("client_path_rtt"));
        both.map(|(server, client)| server.saturating_add(client))
            .or_else(|| integer("initial_rtt"))
    };
    let numbers = flows.numbers("flow").unwrap_or_default().iter().enumerate();
    numbers
        .filter(move |(row, _)| rtt_ns(*row).is_some_and(|rtt_ns| rtt_ns >= rtt_min_ns))
        .map(|(_, flow)| *flow)
}

/// The rows of each page, in the order of the pages.
fn pages(requests: &Requests, members: &[Member]) -> Vec<Vec<usize>> {
    let mut numbers: Numbered<usize, usize> = Numbered::default();
    let mut pages: Vec<Vec<usize>> = Vec::new();
    for (row, member) in members.iter().enumerate() {
        let number = *numbers.entry(member.group).or_insert_with(|| {
            pages.push(Vec::new());
            pages.len().saturating_sub(1)
        });
        if let Some(page) = pages.get_mut(number) {
            page.push(row);
        }
    }
    let by_start = |rows: &Vec<usize>| {
        let first = rows.first().and_then(|row| requests.rows.get(*row));
        first.map(|it| (it.start_ns, it.flow, it.transaction))
    };
    pages.sort_by_key(by_start);
    pages
}
