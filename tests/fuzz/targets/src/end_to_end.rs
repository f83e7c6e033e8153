//! A capture file, through decoder and analyzer, to the tables.

use std::collections::BTreeMap;

use tcptrace_analysis::{link_rows, Analyzer, Options, ReturnedAnomalies, Segments};
use tcptrace_capture::{CaptureError, Decoder, Provenance};
use trace_model::column::{Column, Columns, Values};
use trace_model::{Anomaly, AnomalyKind, Packet, PacketSink};

use crate::numbers::Numbers;

/// Maximum number of rows per anomaly kind: those of decoder and analyzer, and two counts.
const ANOMALIES_OF_A_KIND_MAX: usize = 1002;

/// An analyzer, and counters of its input.
struct Counted {
    analyzer: Analyzer,
    segments: usize,
}

impl PacketSink for Counted {
    fn packet(&mut self, packet: &Packet<'_>) {
        let has_segment = packet.network.is_some() && packet.segment.is_some();
        self.segments += usize::from(has_segment);
        self.analyzer.packet(packet);
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        self.analyzer.anomaly(anomaly);
    }
}

struct Analysis {
    error: Option<CaptureError>,
    provenance: Provenance,
    segments: usize,
    tables: BTreeMap<&'static str, Columns>,
}

fn analyze(file: &[u8], with_segments: bool, mut chunk: impl FnMut() -> usize) -> Analysis {
    let mut decoder = Decoder::new();
    let mut sink = Counted {
        analyzer: Analyzer::new(Options {
            segments: with_segments.then(Segments::default),
            statistics: with_segments,
            // The exchanges cover body inspection and document parsing.
            exchanges: true,
            ..Options::default()
        }),
        segments: 0,
    };
    let (mut rest, mut result) = (file, Ok(()));
    while !rest.is_empty() && result.is_ok() {
        let (now, later) = rest.split_at(chunk().clamp(1, rest.len()));
        result = decoder.feed(now, &mut sink);
        rest = later;
    }
    let result = result.and_then(|()| decoder.finish(&mut sink));
    sink.analyzer.finish();
    Analysis {
        error: result.err(),
        provenance: decoder.provenance(),
        segments: sink.segments,
        tables: tables(sink.analyzer),
    }
}

/// Return the tables by name. The table of flows comes without statistics, which are optional.
fn tables(mut analyzer: Analyzer) -> BTreeMap<&'static str, Columns> {
    let batch = analyzer.tables.take();
    let counts = analyzer.tables.anomalies.counts().to_vec();
    let (mut tables, documents) =
        batch.into_columns(&mut ReturnedAnomalies::default(), Some(&counts));
    tables.insert("links", link_rows(&documents));
    if let Some(segments) = analyzer.tables.segments.take() {
        let mut rest = segments.into_rest();
        tables.insert("segments", rest.pop_front().unwrap_or_default());
    }
    tables
}

/// One table with its columns by name.
struct View(Columns);

impl View {
    fn column(&self, name: &str) -> &Column {
        self.0
            .column(name)
            .unwrap_or_else(|| panic!("no column {name}"))
    }

    fn number(&self, name: &str, row: usize) -> Option<i128> {
        let column = self.column(name);
        if column.validity.as_ref().is_some_and(|valid| !valid[row]) {
            return None;
        }
        Some(match &column.values {
            Values::U8(values) | Values::Enum(values, _) => values[row].into(),
            Values::U16(values) => values[row].into(),
            Values::U32(values) => values[row].into(),
            Values::U64(values) => values[row].into(),
            Values::I64(values) | Values::Time(values) | Values::Duration(values) => {
                values[row].into()
            }
            Values::Bool(values) => values[row].into(),
            Values::F64(_) | Values::Text(_) | Values::ListU32(_) | Values::ListU64(_) => {
                panic!("{name} is no number")
            }
        })
    }

    fn certain(&self, name: &str, row: usize) -> i128 {
        self.number(name, row)
            .unwrap_or_else(|| panic!("{name} is null"))
    }

    /// Assert that the columns with a value in this row are in ascending order.
    fn assert_ascending(&self, names: &[&str], row: usize) {
        let values: Vec<i128> = names
            .iter()
            .filter_map(|name| self.number(name, row))
            .collect();
        assert!(values.is_sorted(), "{names:?} are {values:?}");
    }

    fn assert_columns_are_whole(&self) {
        for column in &self.0.columns {
            let length = match &column.values {
                Values::U8(values) | Values::Enum(values, _) => values.len(),
                Values::U16(values) => values.len(),
                Values::U32(values) => values.len(),
                Values::U64(values) => values.len(),
                Values::I64(values) | Values::Time(values) | Values::Duration(values) => {
                    values.len()
                }
                Values::Bool(values) => values.len(),
                Values::F64(values) => values.len(),
                Values::Text(lists) => lists.ends.len(),
                Values::ListU32(lists) => lists.ends.len(),
                Values::ListU64(lists) => lists.ends.len(),
            };
            assert_eq!(length, self.0.rows, "{}", column.name);
            assert!(column
                .validity
                .as_ref()
                .is_none_or(|valid| valid.len() == length));
        }
    }
}

pub fn run(input: &[u8]) {
    let mut numbers = Numbers::new(input.len() as u64);
    let whole = analyze(input, false, || usize::MAX);
    let cut = analyze(input, true, || 1 + numbers.below(4096));
    assert_eq!(whole.error, cut.error);
    assert_eq!(whole.segments, cut.segments);
    let (mut whole_tables, mut cut_tables) = (whole.tables, cut.tables);
    let rows = cut_tables.remove("segments").map(View);
    if let Some(flows) = cut_tables.get_mut("flows") {
        View(flows.clone()).assert_columns_are_whole();
        let always = whole_tables["flows"].columns.len();
        flows.columns.truncate(always);
    }
    let (first, second) = (views(&mut whole_tables), views(&mut cut_tables));
    for (one, other) in first.iter().zip(&second) {
        // The fixed tables depend neither on the optional table nor on the cuts.
        assert_eq!(one.0, other.0);
        one.assert_columns_are_whole();
    }
    let [flows, transactions, profiles, endings, segmentation, flaws, anomalies] = &first;
    check_flows(flows, whole.segments, &whole.provenance);
    check_transactions(transactions, flows, &whole.provenance);
    check_candidates(segmentation, transactions);
    assert!(profiles.0.rows <= flows.0.rows.saturating_mul(2));
    check_flaws(flaws, flows);
    check_endings(endings, flows);
    check_anomalies(anomalies, flows, &whole.provenance);
    if let Some(rows) = rows {
        let is_told = has_copies(anomalies);
        assert!(rows.0.rows <= whole.segments);
        assert!(
            is_told || rows.0.rows == whole.segments,
            "a row for each segment, but for copies of packets"
        );
        check_segments(&rows, flows);
    }
}

fn views(tables: &mut BTreeMap<&'static str, Columns>) -> [View; 7] {
    [
        "flows",
        "transactions",
        "profiles",
        "endings",
        "segmentation",
        "flaws",
        "anomalies",
    ]
    .map(|name| View(tables.remove(name).unwrap_or_default()))
}

fn check_endings(endings: &View, flows: &View) {
    let mut before = -1;
    for row in 0..endings.0.rows {
        let flow = endings.certain("flow", row);
        assert!(before < flow, "one row a flow, in order");
        assert!(flow < flows.0.rows as i128);
        assert!(endings.certain("first_frame", row) >= 1);
        assert!(endings.certain("close_frame", row) >= 1);
        before = flow;
    }
}

fn check_flows(flows: &View, segments: usize, provenance: &Provenance) {
    let mut packets = 0;
    for row in 0..flows.0.rows {
        assert_eq!(
            flows.certain("flow", row),
            row as i128,
            "flows are numbered from 0"
        );
        let of = |name: &str| flows.certain(name, row);
        assert!(of("packets") >= 1);
        assert_eq!(of("packets"), of("client_packets") + of("server_packets"));
        for side in ["client", "server"] {
            assert!(of(&format!("{side}_retransmissions")) <= of(&format!("{side}_packets")));
            assert!(of(&format!("{side}_out_of_order")) <= of(&format!("{side}_packets")));
            assert!(of(&format!("{side}_duplicate_acks")) <= of(&format!("{side}_packets")));
        }
        for name in ["initial_rtt", "server_path_rtt", "client_path_rtt"] {
            assert!(flows.number(name, row).is_none_or(|rtt| rtt >= 0));
        }
        packets += of("packets");
    }
    assert_eq!(
        packets, segments as i128,
        "each segment belongs to one flow"
    );
    assert!(packets <= i128::from(provenance.tcp_packets));
}

fn check_transactions(transactions: &View, flows: &View, provenance: &Provenance) {
    let mut expected = (0, 0);
    for row in 0..transactions.0.rows {
        let of = |name| transactions.certain(name, row);
        let (flow, index) = (of("flow"), of("index"));
        expected = (flow, if flow == expected.0 { expected.1 } else { 0 });
        assert_eq!((flow, index), expected, "indices have no holes");
        expected.1 += 1;
        assert!(flow < flows.0.rows as i128);
        assert!(flows.number("protocol", flow as usize).is_some());
        transactions.assert_ascending(&["request_frame", "request_last_frame"], row);
        transactions.assert_ascending(&["response_first_frame", "response_last_frame"], row);
        for name in ["request_frame", "response_first_frame", "last_ack_frame"] {
            let is_frame = |frame| (1..=i128::from(provenance.packets)).contains(&frame);
            assert!(
                transactions.number(name, row).is_none_or(is_frame),
                "{name}"
            );
        }
        if of("complete") == 1 {
            assert!(transactions.number("request_frame", row).is_some());
            assert!(transactions.number("response_last_frame", row).is_some());
        }
    }
}

fn check_candidates(candidates: &View, transactions: &View) {
    let keys: std::collections::BTreeSet<(i128, i128)> = (0..transactions.0.rows)
        .map(|row| {
            (
                transactions.certain("flow", row),
                transactions.certain("index", row),
            )
        })
        .collect();
    for row in 0..candidates.0.rows {
        let key = (
            candidates.certain("flow", row),
            candidates.certain("transaction", row),
        );
        assert!(keys.contains(&key), "a candidate belongs to a transaction");
    }
}

fn check_flaws(flaws: &View, flows: &View) {
    let mut told = std::collections::BTreeSet::new();
    for row in 0..flaws.0.rows {
        let of = |name| flaws.certain(name, row);
        let flow = usize::try_from(of("flow")).unwrap_or(usize::MAX);
        let has_messages = flows.number("protocol", flow).is_some();
        assert_eq!(of("has_messages"), i128::from(has_messages));
        assert!(told.insert((flow, of("flaw"))), "a flaw is told once");
    }
}

fn check_anomalies(anomalies: &View, flows: &View, provenance: &Provenance) {
    let mut counts = [0; 256];
    for row in 0..anomalies.0.rows {
        let kind = anomalies.certain("kind", row) as usize;
        counts[kind] += 1;
        assert!(counts[kind] <= ANOMALIES_OF_A_KIND_MAX);
        let flow = anomalies.number("flow", row);
        assert!(flow.is_none_or(|flow| flow < flows.0.rows as i128));
        let frame = anomalies.number("frame", row);
        assert!(frame.is_none_or(|frame| frame <= i128::from(provenance.packets)));
    }
}

/// Return true if the anomalies report duplicate packets in the capture.
fn has_copies(anomalies: &View) -> bool {
    let copies = AnomalyKind::DuplicatePackets as i128;
    (0..anomalies.0.rows).any(|row| anomalies.certain("kind", row) == copies)
}

fn check_segments(rows: &View, flows: &View) {
    for row in 0..rows.0.rows {
        assert!(rows.certain("flow", row) < flows.0.rows as i128);
        let acked_by = rows.number("acked_by_frame", row);
        assert!(acked_by.is_none_or(|frame| frame > rows.certain("frame", row)));
        assert!(rows.number("rtt", row).is_none_or(|rtt| rtt >= 0));
    }
}
