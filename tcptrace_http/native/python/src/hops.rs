//! A quick test for proxies. Most captures have none, so the search for both legs of a proxy's exchanges is
//! skipped.

use std::collections::{HashMap, HashSet};

use trace_model::column::{Columns, Lists, Values};
use trace_model::rows::ObservationPoint;

/// Key for the host that took the capture. All addresses of this host map to this key.
const LOCAL: &[u8] = b"";

/// Address and port of a server.
type Endpoint<'a> = (&'a [u8], u16);

/// Return true if the host of any HTTP server is also the client of another server. Hosts are distinguished
/// as in `tcptrace_http/hops.py`.
pub fn has_proxy(flows: &Columns) -> bool {
    let values = |name| flows.column(name).map(|column| &column.values);
    let (Some(Values::Text(clients)), Some(Values::Text(servers)), Some(Values::U16(ports))) =
        (values("client"), values("server"), values("server_port"))
    else {
        return false;
    };
    let local = local_addresses(flows, clients, servers);
    let host = |address| {
        if local.contains(address) {
            LOCAL
        } else {
            address
        }
    };
    let transactions = flows.numbers("transactions").unwrap_or_default();
    let rows =
        || (0..flows.rows).filter(|row| transactions.get(*row).is_some_and(|count| *count > 0));
    let endpoint = |row| {
        (
            servers.value(row),
            ports.get(row).copied().unwrap_or_default(),
        )
    };
    // Per client host: one server that it asked, and a flag for further servers.
    let mut asked: HashMap<&[u8], (Endpoint<'_>, bool)> = HashMap::new();
    for row in rows() {
        let (first, has_others) = asked
            .entry(host(clients.value(row)))
            .or_insert_with(|| (endpoint(row), false));
        *has_others |= *first != endpoint(row);
    }
    rows().any(|row| {
        asked
            .get(host(servers.value(row)))
            .is_some_and(|(first, has_others)| *has_others || *first != endpoint(row))
    })
}

/// Return the visible addresses of the host that took the capture.
fn local_addresses<'a>(
    flows: &Columns,
    clients: &'a Lists<u8>,
    servers: &'a Lists<u8>,
) -> HashSet<&'a [u8]> {
    let points: &[u8] = match flows
        .column("observation_point")
        .map(|column| &column.values)
    {
        Some(Values::Enum(codes, _)) => codes,
        _ => &[],
    };
    let is_seen_at = |row: usize, point: ObservationPoint| points.get(row) == Some(&(point as u8));
    (0..flows.rows)
        .flat_map(|row| {
            let client = clients.value(row);
            let server = servers.value(row);
            let of_client = is_seen_at(row, ObservationPoint::Client) || is_loopback(client);
            let of_server = is_seen_at(row, ObservationPoint::Server) || is_loopback(server);
            [of_client.then_some(client), of_server.then_some(server)]
        })
        .flatten()
        .collect()
}

fn is_loopback(address: &[u8]) -> bool {
    address.starts_with(b"127.") || address == b"::1"
}
