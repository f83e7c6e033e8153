//! One capture on several threads. Each thread decodes the whole capture and follows its share of the flows.
//!
//! Decoding is a small part of the work. Decoding again in each thread costs less than a transfer of every
//! packet between threads. Each share numbers its own flows. A flow's number in the capture follows from the
//! frame that starts the flow. The rows equal the rows of one thread.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Seek};

use pyo3::exceptions::PyRuntimeError;
use pyo3::PyResult;
use rayon::prelude::{IntoParallelRefMutIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tcptrace_analysis::{
    Analyzer, Batch, Document, Objects, Options, RequestedFrame, ReturnedAnomalies, Segments, Share,
};
use tcptrace_capture::{each_key_log, CaptureError, Decoder, Provenance};
use trace_model::blocks::Blocks;
use trace_model::column::Columns;
use trace_model::rows::{H2WindowsTable, PacketsTable, TlsRecordsTable};
use trace_model::{Anomaly, AnomalyKind};

use crate::key_file::KeyFile;
use crate::sink::Sink;

/// The selection of tables.
pub struct Wanted {
    pub packets: Option<Blocks<PacketsTable>>,
    pub segments: Option<Segments>,
    pub tls_records: Option<Blocks<TlsRecordsTable>>,
    pub h2_windows: Option<Blocks<H2WindowsTable>>,
    /// The statistics of flows.
    pub statistics: bool,
    /// All other tables.
    pub others: bool,
    /// The frame of a segment to explain in full. Supported with one thread only.
    pub asked_frame: Option<u64>,
    pub follows: bool,
    pub key_log: Option<KeyFile>,
}

impl Wanted {
    /// Return true if a table of segments, TLS records or HTTP/2 windows is wanted.
    fn is_by_flow(&self) -> bool {
        self.segments.is_some() || self.tls_records.is_some() || self.h2_windows.is_some()
    }
}

struct Worker {
    decoder: Decoder,
    sink: Sink,
    /// The number in the capture of each flow of this share.
    numbers: Vec<u32>,
    keeps_rows: bool,
    is_decoded: bool,
    is_finished: bool,
}

impl Worker {
    fn new(wanted: Wanted, share: Share) -> Self {
        let is_analyzed = wanted.others || wanted.is_by_flow();
        let key_log = wanted.key_log;
        let mut worker = Worker {
            decoder: Decoder::new(),
            sink: Sink {
                analyzer: is_analyzed.then(|| {
                    Analyzer::new(Options {
                        segments: wanted.segments,
                        tls_records: wanted.tls_records,
                        h2_windows: wanted.h2_windows,
                        statistics: wanted.statistics,
                        exchanges: wanted.others,
                        share,
                        asked_frame: wanted.asked_frame,
                        follows: wanted.follows,
                    })
                }),
                packets: wanted.packets,
                takes_decoder_anomalies: share.index == 0,
                has_reported_late_secrets: false,
            },
            numbers: Vec::new(),
            keeps_rows: wanted.others,
            is_decoded: false,
            is_finished: false,
        };
        if let Some(file) = key_log {
            worker.sink.take_secrets(&file.text, &file.name);
        }
        worker
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let result = self.decoder.feed(bytes, &mut self.sink);
        if let Some(analyzer) = self.sink.analyzer.as_mut().filter(|_| !self.keeps_rows) {
            analyzer.drop_rows();
        }
        result
    }

    /// Restart the decoder. Frames count from the first frame of the window.
    fn begin_window(&mut self) {
        self.decoder = Decoder::new();
        if let Some(analyzer) = self.sink.analyzer.as_mut() {
            analyzer.begin_window();
        }
    }

    /// Finish flows until `rows` rows are pending; see [`Analyzer::finish_some`].
    fn finish(&mut self, rows: usize) -> Result<(), CaptureError> {
        if !self.is_decoded {
            self.is_decoded = true;
            self.decoder.finish(&mut self.sink)?;
        }
        if !self.is_finished {
            let analyzer = self.sink.analyzer.as_mut();
            self.is_finished = analyzer.is_none_or(|it| it.finish_some(rows));
        }
        Ok(())
    }

    fn take(&mut self) -> Batch {
        let taken = self.sink.analyzer.as_mut().map(|it| it.tables.take());
        taken.unwrap_or_default()
    }
}

/// The workers of one capture.
pub struct Shares {
    first: Worker,
    others: Vec<Worker>,
    /// None if one thread does all the work.
    threads: Option<ThreadPool>,
    next_number: u32,
    anomalies_given: ReturnedAnomalies,
    /// State that spans all flows, kept in one thread.
    objects: Objects,
    /// The remaining blocks of the block tables, once the capture has ended.
    blocks_left: BTreeMap<&'static str, VecDeque<Columns>>,
}

impl Shares {
    /// Create the workers. Tables with a row per packet or record are in capture order and use one thread,
    /// regardless of `threads`.
    pub fn new(wanted: Wanted, threads: usize) -> PyResult<Self> {
        let is_by_packet = wanted.packets.is_some() || wanted.is_by_flow();
        let count = if is_by_packet {
            1
        } else {
            threads.clamp(1, Share::COUNT_MAX)
        };
        let threads = (count > 1)
            .then(|| ThreadPoolBuilder::new().num_threads(count).build())
            .transpose()
            .map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))?;
        let (statistics, follows) = (wanted.statistics, wanted.follows);
        let key_log = wanted.key_log.clone();
        let of_another = |index| {
            let wanted = Wanted {
                packets: None,
                segments: None,
                tls_records: None,
                h2_windows: None,
                statistics,
                others: true,
                asked_frame: None,
                follows,
                key_log: key_log.clone(),
            };
            Worker::new(wanted, Share { index, count })
        };
        Ok(Shares {
            first: Worker::new(wanted, Share { index: 0, count }),
            others: (1..count).map(of_another).collect(),
            threads,
            next_number: 0,
            anomalies_given: ReturnedAnomalies::default(),
            objects: Objects::default(),
            blocks_left: BTreeMap::new(),
        })
    }

    /// Take the secrets of a whole capture that supports a second read. The reader of each block reports its
    /// bad lines.
    pub fn take_secrets<F: Read + Seek>(&mut self, capture: &mut F) -> io::Result<()> {
        each_key_log(capture, |text| {
            let workers = std::iter::once(&mut self.first).chain(&mut self.others);
            for analyzer in workers.filter_map(|worker| worker.sink.analyzer.as_mut()) {
                drop(analyzer.add_key_log(text));
            }
        })
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let result = self.each(|worker| worker.feed(bytes));
        self.number_flows();
        self.take_exchanges();
        result
    }

    /// End one file and begin the next file of the same stream. Return true if the file was read to its end.
    pub fn next_file(&mut self) -> Result<bool, CaptureError> {
        let whole = self.first.decoder.next_file(&mut self.first.sink);
        for worker in &mut self.others {
            // All workers read the same bytes, so an error of one is the error of all.
            drop(worker.decoder.next_file(&mut worker.sink));
        }
        whole
    }

    /// Start the lead-in: the files fed first belong to the previous window.
    pub fn lead_in(&mut self) {
        self.each_analyzer(Analyzer::lead_in);
    }

    /// Begin the window at the next file.
    pub fn begin_window(&mut self) {
        self.first.begin_window();
        self.others.iter_mut().for_each(Worker::begin_window);
    }

    /// End the window after the last file.
    pub fn end_window(&mut self) {
        self.each_analyzer(Analyzer::end_window);
    }

    fn each_analyzer(&mut self, work: impl Fn(&mut Analyzer)) {
        let workers = std::iter::once(&mut self.first).chain(&mut self.others);
        workers
            .filter_map(|worker| worker.sink.analyzer.as_mut())
            .for_each(work);
    }

    /// Finish flows until `rows` rows are pending. Return true if all flows are finished; if false, the next
    /// call continues.
    pub fn finish(&mut self, rows: usize) -> Result<bool, CaptureError> {
        let rows_of_one = rows / self.others.len().saturating_add(1);
        let result = self.each(|worker| worker.finish(rows_of_one));
        self.number_flows();
        self.take_exchanges();
        result?;
        let is_over = self.first.is_finished && self.others.iter().all(|worker| worker.is_finished);
        if is_over {
            self.complain();
        }
        Ok(is_over)
    }

    pub fn provenance(&self) -> Provenance {
        self.first.decoder.provenance()
    }

    /// Return the explained segment.
    pub fn asked(&self) -> Option<&RequestedFrame> {
        let analyzer = self.first.sink.analyzer.as_ref()?;
        Some(&analyzer.tables.asked)
    }

    pub fn rows(&self) -> usize {
        let rows = self.analyzers().map(|analyzer| analyzer.tables.rows());
        rows.fold(0, usize::saturating_add)
    }

    fn analyzers(&self) -> impl Iterator<Item = &Analyzer> {
        let workers = std::iter::once(&self.first).chain(&self.others);
        workers.filter_map(|worker| worker.sink.analyzer.as_ref())
    }

    /// Take the final rows. After the end of the capture, the result includes the rows that span all flows.
    /// Each table with a row per packet is then one piece.
    pub fn take(&mut self, is_finished: bool) -> (BTreeMap<&'static str, Columns>, Vec<Document>) {
        let mut whole = self.first.take();
        if self.threads.is_some() {
            whole.renumber(&self.first.numbers);
        }
        for worker in &mut self.others {
            let mut batch = worker.take();
            batch.renumber(&worker.numbers);
            whole.append(batch);
        }
        let counts = is_finished.then(|| self.anomaly_counts());
        let (mut tables, documents) =
            whole.into_columns(&mut self.anomalies_given, counts.as_deref());
        let judged_together = if is_finished {
            self.objects.tables()
        } else {
            Objects::default().tables()
        };
        tables.extend(judged_together);
        if is_finished {
            for (name, blocks) in self.rest_in_blocks() {
                let mut all = Columns::default();
                blocks.into_iter().for_each(|block| all.append(block));
                tables.insert(name, all);
            }
        }
        (tables, documents)
    }

    /// Return the names of the tables that lack rows. Counts from these tables are lower bounds.
    pub fn cut(&self) -> Vec<&'static str> {
        let of_flows = self.analyzers().flat_map(|it| it.tables.of_flows.cut());
        of_flows.chain(self.objects.cut()).collect()
    }

    /// Take the next block of a table with a row per packet.
    pub fn take_block(&mut self, name: &str, is_finished: bool) -> Option<Columns> {
        if is_finished {
            let rest = self.rest_in_blocks();
            self.blocks_left.extend(rest);
            return self.blocks_left.get_mut(name)?.pop_front();
        }
        match name {
            "packets" => self.first.sink.packets.as_mut()?.take(),
            "segments" => self.first.sink.analyzer.as_mut()?.take_segments(),
            "tls_records" => {
                let analyzer = self.first.sink.analyzer.as_mut()?;
                analyzer.tables.tls_records.as_mut()?.take()
            }
            "h2_windows" => {
                let analyzer = self.first.sink.analyzer.as_mut()?;
                analyzer.tables.h2_windows.as_mut()?.take()
            }
            _ => None,
        }
    }

    /// Take the remaining blocks of the tables with a row per packet.
    fn rest_in_blocks(&mut self) -> BTreeMap<&'static str, VecDeque<Columns>> {
        let sink = &mut self.first.sink;
        let packets = sink.packets.take().map(Blocks::into_rest);
        let mut tables = sink.analyzer.as_mut().map(|it| &mut it.tables);
        let segments = tables.as_mut().and_then(|it| it.segments.take());
        let records = tables.as_mut().and_then(|it| it.tls_records.take());
        let windows = tables.and_then(|it| it.h2_windows.take());
        let named = [
            ("packets", packets),
            ("segments", segments.map(Segments::into_rest)),
            ("tls_records", records.map(Blocks::into_rest)),
            ("h2_windows", windows.map(Blocks::into_rest)),
        ];
        named
            .into_iter()
            .filter_map(|(name, rest)| Some((name, rest?)))
            .collect()
    }

    fn anomaly_counts(&self) -> Vec<u64> {
        let mut counts = Vec::new();
        for analyzer in self.analyzers() {
            let more = analyzer.tables.anomalies.counts();
            counts.resize(more.len().max(counts.len()), 0_u64);
            for (sum, count) in counts.iter_mut().zip(more) {
                *sum = sum.saturating_add(*count);
            }
        }
        counts
    }

    /// Pass on the newly finished exchanges, which are compared over all flows.
    fn take_exchanges(&mut self) {
        let mut all = Vec::new();
        let workers = std::iter::once(&mut self.first).chain(&mut self.others);
        for worker in workers {
            let analyzer = worker.sink.analyzer.as_mut();
            let exchanges = analyzer.and_then(|it| it.tables.exchanges.as_mut());
            let numbers = &worker.numbers;
            for mut exchange in exchanges.into_iter().flat_map(std::mem::take) {
                let place = usize::try_from(exchange.flow).unwrap_or(usize::MAX);
                // With one thread, flow numbers need no change.
                let number = numbers.get(place).copied();
                exchange.flow = number.unwrap_or(exchange.flow);
                all.push(exchange);
            }
        }
        self.objects.take(all);
    }

    /// Report rows that were dropped from the tables over all flows.
    fn complain(&mut self) {
        let Some(analyzer) = self.first.sink.analyzer.as_mut() else {
            return;
        };
        for detail in self.objects.complaints() {
            analyzer.tables.push_anomaly(Anomaly {
                kind: AnomalyKind::LimitReached,
                frame: None,
                flow: None,
                offset: None,
                detail,
            });
        }
    }

    /// Run `work` for all workers. All workers read the same bytes, so an error of one is the error of all.
    fn each(
        &mut self,
        work: impl Fn(&mut Worker) -> Result<(), CaptureError> + Sync,
    ) -> Result<(), CaptureError> {
        let (first, others) = (&mut self.first, &mut self.others);
        let Some(threads) = &self.threads else {
            return work(first);
        };
        let (result, _) = threads.join(
            || work(first),
            || others.par_iter_mut().for_each(|worker| drop(work(worker))),
        );
        result
    }

    /// Number the newly opened flows in the order of their first frames.
    fn number_flows(&mut self) {
        if self.threads.is_none() {
            return;
        }
        let workers = std::iter::once(&mut self.first).chain(&mut self.others);
        let mut opened: Vec<(u64, usize)> = Vec::new();
        for (index, worker) in workers.enumerate() {
            let Some(analyzer) = worker.sink.analyzer.as_mut() else {
                continue;
            };
            let starts = std::mem::take(&mut analyzer.tables.flow_starts);
            opened.extend(starts.into_iter().map(|frame| (frame, index)));
        }
        // A frame starts at most one flow.
        opened.sort_unstable();
        for (_, index) in opened {
            let worker = match index.checked_sub(1) {
                None => Some(&mut self.first),
                Some(other) => self.others.get_mut(other),
            };
            if let Some(worker) = worker {
                worker.numbers.push(self.next_number);
                self.next_number = self.next_number.saturating_add(1);
            }
        }
    }
}
