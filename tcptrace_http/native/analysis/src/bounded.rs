//! Tables that take rows up to a memory limit and count the rows beyond it.
//!
//! The memory of the rows grows with the results: about 300 bytes per flow and 700 per transaction. The
//! limits apply to captures made to have millions of them.

use trace_model::column::Columns;
use trace_model::rows::{
    BodiesTable, BodyRow, EndingRow, EndingsTable, ExpectationRow, ExpectationsTable, FlawRow,
    FlawsTable, FlowRow, FlowsTable, H2ConnectionRow, H2ConnectionsTable, ProfileRow,
    ProfilesTable, QueueRow, QueuesTable, RecoveriesTable, RecoveryRow, RedirectRow,
    RedirectsTable, SegmentationRow, SegmentationTable, TlsHandshakeRow, TlsHandshakesTable,
    TransactionRow, TransactionsTable, WaitRow, WaitsTable,
};

/// Maximum size of a table: about 1.5 million rows with short texts.
///
/// A table may take twice this memory while its longest column grows or is sorted.
const TABLE_BYTES_MAX: usize = 1 << 30;
/// Maximum size of a candidates table: a finding with text and evidence takes ten times the memory of its
/// row.
const CANDIDATES_BYTES_MAX: usize = 32 << 20;

/// Table with a known memory per row.
pub trait Rows: Default {
    type Row;
    const NAME: &'static str;
    const BYTES_MAX: usize;
    fn push(&mut self, row: &Self::Row);
    fn into_columns(self) -> Columns;
    /// Return the memory of a row with its texts and lists.
    fn bytes_of(row: &Self::Row) -> usize;
}

macro_rules! rows {
    ($table:ty, $row:ty, $name:literal, $most:expr, $variable:expr) => {
        impl Rows for $table {
            type Row = $row;
            const NAME: &'static str = $name;
            const BYTES_MAX: usize = $most;
            fn push(&mut self, row: &$row) {
                <$table>::push(self, row);
            }
            fn into_columns(self) -> Columns {
                <$table>::into_columns(self)
            }
            fn bytes_of(row: &$row) -> usize {
                let variable: fn(&$row) -> usize = $variable;
                size_of::<$row>().saturating_add(variable(row))
            }
        }
    };
}

rows!(FlowsTable, FlowRow, "flows", TABLE_BYTES_MAX, |row| {
    row.client.len().saturating_add(row.server.len())
});
rows!(
    TransactionsTable,
    TransactionRow,
    "transactions",
    TABLE_BYTES_MAX,
    |row| {
        let texts = [
            &row.method,
            &row.target,
            &row.host,
            &row.content_type,
            &row.content_encoding,
            &row.server_software,
            &row.referer,
            &row.location,
            &row.etag,
            &row.last_modified,
            &row.cache_control,
            &row.vary,
            &row.accept_encoding,
        ];
        let lengths = texts.into_iter().flatten().map(String::len);
        lengths.fold(0, usize::saturating_add)
    }
);
rows!(WaitsTable, WaitRow, "waits", TABLE_BYTES_MAX, |_| 0);
rows!(QueuesTable, QueueRow, "queues", CANDIDATES_BYTES_MAX, |_| 0);
rows!(
    SegmentationTable,
    SegmentationRow,
    "segmentation",
    CANDIDATES_BYTES_MAX,
    |_| 0
);
rows!(
    RecoveriesTable,
    RecoveryRow,
    "recoveries",
    CANDIDATES_BYTES_MAX,
    |_| 0
);
rows!(
    ProfilesTable,
    ProfileRow,
    "profiles",
    TABLE_BYTES_MAX,
    |_| 0
);
rows!(
    H2ConnectionsTable,
    H2ConnectionRow,
    "h2_connections",
    TABLE_BYTES_MAX,
    |_| 0
);
rows!(
    TlsHandshakesTable,
    TlsHandshakeRow,
    "tls_handshakes",
    TABLE_BYTES_MAX,
    |row| {
        let texts = [
            &row.server_name,
            &row.alpn_offered,
            &row.alpn_chosen,
            &row.cipher,
        ];
        let lengths = texts.into_iter().flatten().map(String::len);
        lengths.fold(0, usize::saturating_add)
    }
);
rows!(
    EndingsTable,
    EndingRow,
    "endings",
    CANDIDATES_BYTES_MAX,
    |row| {
        let lengths = [&row.method, &row.target]
            .into_iter()
            .flatten()
            .map(String::len);
        lengths.fold(0, usize::saturating_add)
    }
);

rows!(
    BodiesTable,
    BodyRow,
    "bodies",
    CANDIDATES_BYTES_MAX,
    |row| {
        let texts = [
            &row.content_type,
            &row.content_encoding,
            &row.accept_encoding,
            &row.twin_url,
        ];
        let lengths = texts.into_iter().flatten().map(String::len);
        let always = [row.client.len(), row.host.len(), row.target.len()];
        lengths.chain(always).fold(0, usize::saturating_add)
    }
);
rows!(
    RedirectsTable,
    RedirectRow,
    "redirects",
    CANDIDATES_BYTES_MAX,
    |row| {
        let texts = [
            &row.client,
            &row.method,
            &row.host,
            &row.target,
            &row.next_host,
            &row.next_target,
        ];
        texts
            .into_iter()
            .map(String::len)
            .fold(0, usize::saturating_add)
    }
);
rows!(
    ExpectationsTable,
    ExpectationRow,
    "expectations",
    CANDIDATES_BYTES_MAX,
    |row| {
        let texts = [&row.client, &row.host, &row.target, &row.method];
        texts
            .into_iter()
            .map(String::len)
            .fold(0, usize::saturating_add)
    }
);
rows!(FlawsTable, FlawRow, "flaws", CANDIDATES_BYTES_MAX, |_| 0);

#[derive(Debug, Default)]
pub struct BoundedTable<T> {
    table: T,
    bytes: usize,
    /// Memory of rows that were taken and are kept elsewhere.
    bytes_behind: usize,
    left_out: u64,
}

impl<T: Rows> BoundedTable<T> {
    pub fn push(&mut self, row: &T::Row) {
        if self.bytes.saturating_add(self.bytes_behind) > T::BYTES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.bytes = self.bytes.saturating_add(T::bytes_of(row));
        self.table.push(row);
    }

    /// Return the memory of the rows in the table.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Take the rows of the table; the table then has room for the same number.
    #[must_use]
    pub fn take(&mut self) -> T {
        self.bytes = 0;
        std::mem::take(&mut self.table)
    }

    /// Set the number of taken rows that are kept elsewhere; each counts as a row with short texts.
    pub fn set_rows_kept(&mut self, rows: usize) {
        self.bytes_behind = rows.saturating_mul(size_of::<T::Row>());
    }

    /// Return whether rows were omitted.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.left_out > 0
    }

    /// Return the message about omitted rows.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        self.is_cut().then(|| {
            format!(
                "{} rows of {} omitted: the table reached its limit of {} MiB",
                self.left_out,
                T::NAME,
                T::BYTES_MAX >> 20
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_the_limit_are_counted_including_rows_kept_elsewhere() {
        let limit = QueuesTable::BYTES_MAX / size_of::<QueueRow>();
        let mut queues = BoundedTable::<QueuesTable>::default();
        queues.set_rows_kept(limit - 10);
        for _ in 0..30 {
            queues.push(&QueueRow::default());
        }
        let message = queues.complaint().unwrap_or_default();
        let kept = queues.take().len();
        assert!(kept < 30);
        let left_out = 30 - kept;
        assert!(message.starts_with(&format!("{left_out} rows of queues omitted")));
        queues.set_rows_kept(0);
        queues.push(&QueueRow::default());
        assert_eq!(queues.take().len(), 1);
    }
}
