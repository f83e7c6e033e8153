//! Input of pages from each transaction: its place, its times, its URL and its references.

use crate::documents::Document;
use crate::numbered::NumberMap;
use std::collections::HashMap;
use std::sync::Arc;

use trace_model::column::{Column, Columns};
use trace_model::rows::Protocol;

use super::following::FollowedLinks;
use super::reference::{normal, resolved};
use super::SILENCE_MIN_NS;

/// Status codes of redirects (RFC 9110, section 15.4).
const REDIRECTS: [i64; 5] = [301, 302, 303, 307, 308];

/// Transaction with a captured request; equal URLs have equal numbers.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Client number, in the order of the addresses as text.
    pub client: usize,
    pub flow: u32,
    pub transaction: u32,
    pub request_ns: i64,
    pub start_ns: i64,
    pub answer_ns: Option<i64>,
    pub end_ns: i64,
    pub status: Option<i64>,
    /// URL; none for a TLS exchange without keys.
    pub url: Option<usize>,
    pub referer: Option<usize>,
    /// Target of a redirect.
    pub leads_to: Option<usize>,
    pub is_html: bool,
    pub bytes: u64,
}

impl Request {
    pub(super) fn is_redirect(&self) -> bool {
        self.status
            .is_some_and(|status| REDIRECTS.contains(&status))
    }
}

/// Link of a document, by the row of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub row: usize,
    pub url: usize,
    pub known_ns: i64,
}

/// All requests by client and time.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub clients: Vec<String>,
    pub rows: Vec<Request>,
    /// Followed links.
    pub links: Vec<Link>,
    pub documents_left_out: usize,
    urls: Urls,
}

#[derive(Debug, Default)]
pub(super) struct Urls {
    numbers: HashMap<Arc<str>, usize>,
    texts: Vec<Arc<str>>,
}

impl Urls {
    pub(super) fn text(&self, number: usize) -> &str {
        self.texts.get(number).map_or("", |text| text)
    }

    /// Return the number of a known URL.
    pub(super) fn known(&self, url: &str) -> Option<usize> {
        self.numbers.get(url).copied()
    }

    fn number(&mut self, url: &str) -> usize {
        if let Some(number) = self.known(url) {
            return number;
        }
        let number = self.texts.len();
        let text: Arc<str> = url.into();
        self.numbers.insert(Arc::clone(&text), number);
        self.texts.push(text);
        number
    }
}

impl Requests {
    pub(super) fn of(
        transactions: &[Columns],
        flows: &[Columns],
        handshakes: &[Columns],
        documents: &[Document],
    ) -> Requests {
        let mut requests = Requests::default();
        let flows = Flows::of(flows, handshakes, &mut requests.clients);
        for part in transactions {
            let source = Source::of(part);
            let urls = &mut requests.urls;
            let rows = (0..part.rows).filter_map(|row| source.request(row, &flows, urls));
            requests.rows.extend(rows);
        }
        // Only time groups TLS exchanges: beside HTTP pages, they would be mixed in.
        if requests.rows.iter().any(|it| it.url.is_some()) {
            requests.rows.retain(|it| it.url.is_some());
        }
        let by_time = |it: &Request| (it.client, it.request_ns, it.flow, it.transaction);
        requests.rows.sort_unstable_by_key(by_time);
        let followed = FollowedLinks::of(documents, &requests.rows, &requests.urls);
        requests.links = followed.links;
        requests.documents_left_out = followed.left_out;
        requests
    }

    pub(super) fn url(&self, number: Option<usize>) -> Option<String> {
        number.map(|number| self.urls.text(number).to_owned())
    }
}

fn integer(table: &Columns, name: &str, row: usize) -> Option<i64> {
    table.column(name)?.integer(row)
}

fn text<'a>(table: &'a Columns, name: &str, row: usize) -> Option<&'a str> {
    table.column(name)?.text(row)
}

/// Facts of a flow that its transactions need.
struct Flow {
    client: usize,
    /// Server as part of a URL, used without a Host field.
    server: String,
    start_ns: i64,
    has_syn: bool,
    initial_rtt_ns: Option<i64>,
    /// End of the TLS handshake.
    secured_ns: Option<i64>,
}

struct Flows(NumberMap<u32, Flow>);

impl Flows {
    fn of(parts: &[Columns], handshakes: &[Columns], clients: &mut Vec<String>) -> Flows {
        let rows = || rows(parts);
        let secured: NumberMap<u32, Option<i64>> = numbered(handshakes)
            .map(|(flow, part, row)| (flow, integer(part, "done_time", row)))
            .collect();
        let mut names: Vec<&str> = rows().map(|(part, row)| client(part, row)).collect();
        names.sort_unstable();
        names.dedup();
        *clients = names.iter().map(|name| (*name).to_owned()).collect();
        let flows = numbered(parts).map(|(number, part, row)| {
            let secured_ns = secured.get(&number).copied().flatten();
            (number, Flow::of(part, row, &names, secured_ns))
        });
        Flows(flows.collect())
    }
}

fn rows(parts: &[Columns]) -> impl Iterator<Item = (&Columns, usize)> {
    parts
        .iter()
        .flat_map(|part| (0..part.rows).map(move |row| (part, row)))
}

/// Return the rows with their flows.
fn numbered(parts: &[Columns]) -> impl Iterator<Item = (u32, &Columns, usize)> {
    rows(parts).filter_map(|(part, row)| Some((*part.numbers("flow")?.get(row)?, part, row)))
}

fn client(flows: &Columns, row: usize) -> &str {
    text(flows, "client", row).unwrap_or_default()
}

impl Flow {
    fn of(table: &Columns, row: usize, clients: &[&str], secured_ns: Option<i64>) -> Flow {
        Flow {
            client: clients
                .binary_search(&client(table, row))
                .unwrap_or_default(),
            server: format!(
                "{}:{}",
                text(table, "server", row).unwrap_or_default(),
                integer(table, "server_port", row).unwrap_or_default()
            ),
            start_ns: integer(table, "start", row).unwrap_or_default(),
            has_syn: table.column("has_syn").is_some_and(|it| it.is_true(row)),
            initial_rtt_ns: integer(table, "initial_rtt", row),
            secured_ns,
        }
    }
}

/// Columns of the transactions, looked up once.
struct Source<'a> {
    flows: &'a [u32],
    numbers: &'a [u32],
    protocol: Option<&'a Column>,
    method: Option<&'a Column>,
    target: Option<&'a Column>,
    host: Option<&'a Column>,
    referer: Option<&'a Column>,
    location: Option<&'a Column>,
    content_type: Option<&'a Column>,
    status: Option<&'a Column>,
    bytes: Option<&'a Column>,
    request: Option<&'a Column>,
    /// Candidates of the transaction's end, the best first.
    ends: [Option<&'a Column>; 3],
}

impl<'a> Source<'a> {
    fn of(table: &'a Columns) -> Source<'a> {
        let column = |name| table.column(name);
        Source {
            flows: table.numbers("flow").unwrap_or_default(),
            numbers: table.numbers("index").unwrap_or_default(),
            protocol: column("protocol"),
            method: column("method"),
            target: column("target"),
            host: column("host"),
            referer: column("referer"),
            location: column("location"),
            content_type: column("content_type"),
            status: column("status"),
            bytes: column("response_wire_bytes"),
            request: column("request_time"),
            ends: [
                "response_last_time",
                "response_first_time",
                "request_last_time",
            ]
            .map(column),
        }
    }

    fn request(&self, row: usize, flows: &Flows, urls: &mut Urls) -> Option<Request> {
        let integer = |column: Option<&Column>| column.and_then(|it| it.integer(row));
        let text = |column: Option<&'a Column>| column.and_then(|it| it.text(row));
        let request_ns = integer(self.request)?;
        let is_opaque = integer(self.protocol) == Some(Protocol::Tls as i64);
        if !is_opaque {
            text(self.method).filter(|method| *method != "CONNECT")?;
        }
        let (flow, transaction) = (*self.flows.get(row)?, *self.numbers.get(row)?);
        let of_flow = flows.0.get(&flow)?;
        let target = text(self.target).unwrap_or_default();
        let authority = text(self.host).unwrap_or(&of_flow.server);
        let url = if target.contains("://") {
            normal(target)
        } else {
            normal(&format!("http://{authority}{target}"))
        };
        let status = integer(self.status);
        let [_, answer, _] = self.ends;
        let seen_last = self.ends.into_iter().find_map(integer);
        let mut request = Request {
            client: of_flow.client,
            flow,
            transaction,
            request_ns,
            start_ns: start(request_ns, transaction, of_flow),
            answer_ns: integer(answer),
            end_ns: seen_last.map_or(request_ns, |end| end.max(request_ns)),
            status,
            url: None,
            referer: text(self.referer).map(|referer| urls.number(&normal(referer))),
            leads_to: None,
            is_html: text(self.content_type).is_some_and(is_html),
            bytes: integer(self.bytes)
                .and_then(|it| u64::try_from(it).ok())
                .unwrap_or(0),
        };
        if is_opaque {
            return Some(request);
        }
        if request.is_redirect() {
            let location = text(self.location).map(|it| normal(&resolved(&url, it)));
            request.leads_to = location.map(|it| urls.number(&it));
        }
        request.url = Some(urls.number(&url));
        Some(request)
    }
}

/// Return the SYN of a connection opened for the transaction; a preconnect waited longer for a request.
fn start(request_ns: i64, transaction: u32, flow: &Flow) -> i64 {
    let opened_ns = flow
        .initial_rtt_ns
        .map(|rtt| flow.start_ns.saturating_add(rtt));
    let spare = flow
        .secured_ns
        .or(opened_ns)
        .map(|ready_ns| request_ns.saturating_sub(ready_ns));
    let is_opened =
        transaction == 0 && flow.has_syn && spare.is_some_and(|spare| spare < SILENCE_MIN_NS);
    if is_opened {
        flow.start_ns
    } else {
        request_ns
    }
}

fn is_html(content_type: &str) -> bool {
    let name = content_type.trim_start();
    ["text/html", "application/xhtml+xml"].iter().any(|html| {
        let (Some(start), Some(rest)) = (name.get(..html.len()), name.get(html.len()..)) else {
            return false;
        };
        let is_word = |it: char| it.is_alphanumeric() || it == '_';
        start.eq_ignore_ascii_case(html) && !rest.starts_with(is_word)
    })
}
