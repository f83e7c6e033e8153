//! One capture for several threads: each decodes all of it and follows its share of the flows.
//!
//! Decoding is a small part of the work, so that it costs less to do it again in each thread than to
//! hand every packet from one to another. The flows of a share are numbered by themselves; their
//! numbers in the capture follow from the frames that they start in. The rows are those that one
//! thread gives.

use std::collections::BTreeMap;

use pyo3::exceptions::PyRuntimeError;
use pyo3::PyResult;
use rayon::prelude::{IntoParallelRefMutIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tcptrace_analysis::{Analyzer, AnomaliesGiven, Batch, Share};
use tcptrace_capture::{CaptureError, Decoder, Provenance};
use trace_model::column::Columns;
use trace_model::rows::PacketsTable;
use trace_model::{Anomaly, Packet, PacketSink};

use crate::packets;

/// Where the decoder's packets go.
struct Sink {
    analyzer: Analyzer,
    packets: Option<PacketsTable>,
    /// Every share's decoder notices the same; one of them is asked.
    takes_decoders_anomalies: bool,
}

impl PacketSink for Sink {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        if let Some(table) = self.packets.as_mut() {
            packets::push(table, packet);
        }
        self.analyzer.packet(packet);
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        if self.takes_decoders_anomalies {
            self.analyzer.anomaly(anomaly);
        }
    }
}

struct Worker {
    decoder: Decoder,
    sink: Sink,
    /// Number in the capture of each flow of this share.
    numbers: Vec<u32>,
}

impl Worker {
    fn new(packets: bool, segments: bool, share: Share) -> Self {
        Worker {
            decoder: Decoder::new(),
            sink: Sink {
                analyzer: Analyzer::new(segments, share),
                packets: packets.then(PacketsTable::default),
                takes_decoders_anomalies: share.index == 0,
            },
            numbers: Vec::new(),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        self.decoder.feed(bytes, &mut self.sink)
    }

    fn finish(&mut self) -> Result<(), CaptureError> {
        let result = self.decoder.finish(&mut self.sink);
        self.sink.analyzer.finish();
        result
    }
}

/// The workers of one capture.
pub struct Shares {
    first: Worker,
    others: Vec<Worker>,
    /// None where one thread does it all.
    threads: Option<ThreadPool>,
    next_number: u32,
    anomalies_given: AnomaliesGiven,
}

impl Shares {
    /// Tables with a row for each packet are made by one thread, whatever `threads` says: they are
    /// in the order of the capture.
    pub fn new(packets: bool, segments: bool, threads: usize) -> PyResult<Self> {
        let count = if packets || segments {
            1
        } else {
            threads.clamp(1, Share::COUNT_MAX)
        };
        let worker = |index| Worker::new(packets, segments, Share { index, count });
        let threads = (count > 1)
            .then(|| ThreadPoolBuilder::new().num_threads(count).build())
            .transpose()
            .map_err(|error| PyRuntimeError::new_err(format!("no threads to be had: {error}")))?;
        Ok(Shares {
            first: worker(0),
            others: (1..count).map(worker).collect(),
            threads,
            next_number: 0,
            anomalies_given: AnomaliesGiven::default(),
        })
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let result = self.each(|worker| worker.feed(bytes));
        self.number_flows();
        result
    }

    pub fn finish(&mut self) -> Result<(), CaptureError> {
        let result = self.each(Worker::finish);
        self.number_flows();
        result
    }

    pub fn provenance(&self) -> Provenance {
        self.first.decoder.provenance()
    }

    pub fn rows(&self) -> usize {
        let workers = std::iter::once(&self.first).chain(&self.others);
        let rows = workers.map(|worker| worker.sink.analyzer.tables.rows());
        rows.fold(0, usize::saturating_add)
    }

    /// The rows of the flows that are finished.
    pub fn take(&mut self, is_finished: bool) -> BTreeMap<&'static str, Columns> {
        let mut whole = self.first.sink.analyzer.tables.take();
        if self.threads.is_some() {
            whole.renumber(&self.first.numbers);
        }
        for worker in &mut self.others {
            let mut batch = worker.sink.analyzer.tables.take();
            batch.renumber(&worker.numbers);
            whole.append(batch);
        }
        let mut tables = self.columns(whole, is_finished);
        if let Some(packets) = self.first.sink.packets.take() {
            tables.insert("packets", packets.into_columns());
        }
        tables
    }

    fn columns(&mut self, rows: Batch, is_finished: bool) -> BTreeMap<&'static str, Columns> {
        let mut counts = Vec::new();
        for worker in std::iter::once(&self.first).chain(&self.others) {
            let of_worker = worker.sink.analyzer.tables.anomalies.counts();
            counts.resize(of_worker.len().max(counts.len()), 0_u64);
            for (sum, count) in counts.iter_mut().zip(of_worker) {
                *sum = sum.saturating_add(*count);
            }
        }
        let counts = is_finished.then_some(counts.as_slice());
        rows.into_columns(&mut self.anomalies_given, counts)
    }

    /// Runs `work` for all workers. They read the same bytes, so that one fails as the others do.
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

    /// Numbers the flows that were opened since the last time, in the order of their first frames.
    fn number_flows(&mut self) {
        if self.threads.is_none() {
            return;
        }
        let workers = std::iter::once(&mut self.first).chain(&mut self.others);
        let mut opened: Vec<(u64, usize)> = Vec::new();
        for (index, worker) in workers.enumerate() {
            let starts = std::mem::take(&mut worker.sink.analyzer.tables.flow_starts);
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
