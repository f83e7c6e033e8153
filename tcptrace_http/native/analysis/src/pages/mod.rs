//! Pages of a capture, from all its batches: the transactions of a page may be in any batch.
//!
//! Theory of operation. [`Pages`] takes the source rows batch by batch. At the end it makes the tables `retrievals`,
//! `retrieval_transactions` and `critical_path`. It sorts the [`requests`] by client and time, and groups them by evidence
//! ([`grouping`]). The waits of the transactions give the [`critical_path`] of each page.

mod critical_path;
mod following;
mod grouping;
mod making;
mod reference;
mod requests;
mod waits_of;

use crate::documents::Document;
use crate::numbered::{NumberMap, NumberSet};
use std::collections::BTreeMap;

use trace_model::column::{Column, Columns};
use trace_model::rows::Cause;

use critical_path::{Place, Wait};
use following::FOLLOWED_BYTES_MAX;
use grouping::{members, Member};
use making::PageBuilder;
use requests::Requests;
use waits_of::TransactionWaits;

/// Silence of the client after which a transaction without other evidence begins a new page.
///
/// B. Mah, An Empirical Model of HTTP Network Traffic (INFOCOM 1997), separates pages at one second. P.
/// Barford and M. Crovella (SIGMETRICS 1998) separate the browser's off times from the user's.
const SILENCE_MIN_NS: i64 = 1_000_000_000;

/// Source tables of pages with the kept columns; detectors of pages have no others.
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

/// Wait that a detector replaced: transaction, cause, start and end.
pub type ReplacedWait = (u32, u32, String, i64, i64);

/// Collector of the source rows of pages.
#[derive(Debug, Default)]
pub struct Pages {
    /// Rows of each table per batch: joining them would need twice the memory.
    sources: BTreeMap<&'static str, Vec<Columns>>,
    documents: Vec<Document>,
    bytes: usize,
    /// Waits of transactions whose waits a detector replaced.
    stalled: NumberMap<Place, Vec<Wait>>,
    bytes_max: usize,
    /// Transactions that were omitted because of the memory limit.
    left_out: usize,
}

/// Tables of pages.
#[derive(Debug)]
pub struct PageTables {
    pub retrievals: Columns,
    pub retrieval_transactions: Columns,
    pub critical_path: Columns,
    /// Number of documents whose links were not searched.
    documents_left_out: usize,
}

impl PageTables {
    /// Return the message about links above the limit.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.documents_left_out > 0).then(|| {
            format!(
                "the links of {} documents were not followed: links reached their limit of {} MiB",
                self.documents_left_out,
                FOLLOWED_BYTES_MAX >> 20
            )
        })
    }
}

impl Pages {
    /// Create a collector for at most `bytes_max` of rows.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Pages {
            bytes_max,
            ..Pages::default()
        }
    }

    /// Add the rows and documents of a batch.
    ///
    /// `stalled` has all waits, in order, of the transactions whose waits a detector replaced. Above the memory limit there are
    /// no pages: pages from a part of a capture would be wrong.
    pub fn add(
        &mut self,
        tables: &BTreeMap<&'static str, Columns>,
        documents: &[Document],
        stalled: Vec<ReplacedWait>,
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

    /// Return the message about missing pages, if the limit was exceeded.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "no pages were made: the rows of {} transactions exceed the limit of {} MiB",
                self.left_out,
                self.bytes_max >> 20
            )
        })
    }

    /// Return a collected table.
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

    /// Return the tables of pages from all collected rows.
    #[must_use]
    pub fn tables(&self) -> PageTables {
        let requests = Requests::of(
            self.parts("transactions"),
            self.parts("flows"),
            self.parts("tls_handshakes"),
            &self.documents,
        );
        let members = members(&requests);
        let waits = TransactionWaits::of(self.parts("waits"), &self.stalled);
        let mut made = PageBuilder::default();
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

    /// Return whether a page of `tables` has enough transactions, with more than `of_flow_min` on one distant
    /// flow.
    ///
    /// The round trip of a distant flow is at least `rtt_min_ns`.
    #[must_use]
    pub fn has_chain(
        &self,
        tables: &PageTables,
        transactions_min: u32,
        of_flow_min: u32,
        rtt_min_ns: i64,
    ) -> bool {
        let far: NumberSet<u32> = self
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
        let mut of_flow: NumberMap<(u32, u32), u32> = NumberMap::default();
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

/// Return the flows whose round trip is at least `rtt_min_ns`.
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

/// Return the rows of each page, in the order of the pages.
fn pages(requests: &Requests, members: &[Member]) -> Vec<Vec<usize>> {
    let mut numbers: NumberMap<usize, usize> = NumberMap::default();
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
