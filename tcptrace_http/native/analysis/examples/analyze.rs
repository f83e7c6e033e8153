//! Native core alone: `analyze FILE…` reads captures as the program does and drops the rows.
//!
//! Callgrind counts its instructions (`tests/instructions`), and perf shows their distribution.

use std::io::Read;

use tcptrace_analysis::{Analyzer, Objects, Options, ReturnedAnomalies};
use tcptrace_capture::Decoder;

/// Chunk size, equal to `CHUNK_BYTES` of tcptrace_http/capture_stream.py.
const CHUNK_BYTES: usize = 256 * 1024;
/// Rows per batch, equal to `ROWS_IN_A_BATCH` of tcptrace_http/capture.py.
const ROWS_IN_A_BATCH: usize = 24_576;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    for path in std::env::args_os().skip(1) {
        let mut core = Core::default();
        let mut file = std::fs::File::open(&path)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            core.feed(chunk.get(..read).unwrap_or_default())?;
        }
        core.finish()?;
        println!("{}: {} rows", path.display(), core.rows);
    }
    Ok(())
}

/// Work of one thread of the program for one capture.
struct Core {
    decoder: Decoder,
    analyzer: Analyzer,
    objects: Objects,
    anomalies_given: ReturnedAnomalies,
    rows: usize,
}

impl Default for Core {
    fn default() -> Self {
        let options = Options {
            exchanges: true,
            ..Options::default()
        };
        Core {
            decoder: Decoder::new(),
            analyzer: Analyzer::new(options),
            objects: Objects::default(),
            anomalies_given: ReturnedAnomalies::default(),
            rows: 0,
        }
    }
}

impl Core {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.decoder.feed(bytes, &mut self.analyzer)?;
        self.judge();
        if self.analyzer.tables.rows() >= ROWS_IN_A_BATCH {
            self.take();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.decoder.finish(&mut self.analyzer)?;
        self.analyzer.finish();
        self.judge();
        self.take();
        Ok(())
    }

    /// Pass finished exchanges on for judgement over all flows.
    fn judge(&mut self) {
        let exchanges = self.analyzer.tables.exchanges.as_mut();
        let finished = exchanges.map(std::mem::take).unwrap_or_default();
        self.objects.take(finished);
    }

    /// Convert the rows to columns and drop them.
    fn take(&mut self) {
        let tables = &mut self.analyzer.tables;
        self.rows = self.rows.saturating_add(tables.rows());
        drop(tables.take().into_columns(&mut self.anomalies_given, None));
    }
}
