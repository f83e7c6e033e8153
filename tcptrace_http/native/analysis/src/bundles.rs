//! Search for flows worth comparing: several flows between two hosts.

use std::collections::HashMap;

use trace_model::column::{Columns, Values};
use trace_model::rows::ClosedBy;

/// Minimum number of flows for connection-per-request, or for competing parallel connections.
const FLOWS_MIN: u32 = 3;

/// Addresses of two hosts.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// Return whether two hosts have enough HTTP flows for a finding over several flows.
///
/// Three flows are enough, or two if the server closed one of them or announced its close.
#[must_use]
pub fn has_bundle(flows: &Columns) -> bool {
    let texts = |name| flows.column(name).map(|column| &column.values);
    let (Some(Values::Text(clients)), Some(Values::Text(servers))) =
        (texts("client"), texts("server"))
    else {
        return false;
    };
    let transactions = flows.numbers("transactions").unwrap_or_default();
    let closed_by: &[u8] = match texts("closed_by") {
        Some(Values::Enum(codes, _)) => codes,
        _ => &[],
    };
    let persists = flows.column("response_persists");
    let mut seen: HashMap<Pair<'_>, (u32, bool)> = HashMap::new();
    (0..flows.rows)
        .filter(|row| transactions.get(*row).is_some_and(|count| *count > 0))
        .any(|row| {
            let pair = (clients.value(row), servers.value(row));
            let (count, server_closed) = seen.entry(pair).or_default();
            *count = count.saturating_add(1);
            *server_closed |= closed_by.get(row).is_some_and(|code| is_server(*code))
                || !persists.is_some_and(|persists| persists.is_true(row));
            *count >= FLOWS_MIN || (*count > 1 && *server_closed)
        })
}

fn is_server(code: u8) -> bool {
    code == ClosedBy::Server as u8 || code == ClosedBy::ServerReset as u8
}
