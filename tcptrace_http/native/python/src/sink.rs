//! The receiver of the decoder's packets, anomalies and key logs.

use tcptrace_analysis::{bad_lines_anomaly, Analyzer};
use trace_model::blocks::Blocks;
use trace_model::packets;
use trace_model::rows::PacketsTable;
use trace_model::{Anomaly, AnomalyKind, Packet, PacketSink};

pub struct Sink {
    /// None if only the packets are wanted.
    pub analyzer: Option<Analyzer>,
    pub packets: Option<Blocks<PacketsTable>>,
    /// True for one share only, because every share's decoder reports the same anomalies.
    pub takes_decoder_anomalies: bool,
    pub has_reported_late_secrets: bool,
}

impl Sink {
    fn secrets(&self) -> usize {
        self.analyzer.as_ref().map_or(0, Analyzer::secrets)
    }

    pub fn take_secrets(&mut self, text: &[u8], place: &str) {
        let Some(analyzer) = self.analyzer.as_mut() else {
            return;
        };
        if let Err(bad) = analyzer.add_key_log(text) {
            self.anomaly(bad_lines_anomaly(place, &bad));
        }
    }
}

impl PacketSink for Sink {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        if let Some(table) = self.packets.as_mut() {
            packets::push(table, packet);
        }
        if let Some(analyzer) = self.analyzer.as_mut() {
            analyzer.packet(packet);
        }
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        if let Some(analyzer) = self.analyzer.as_mut() {
            if self.takes_decoder_anomalies {
                analyzer.anomaly(anomaly);
            }
        }
    }

    fn key_log(&mut self, text: &[u8]) {
        let known = self.secrets();
        self.take_secrets(text, "a block of secrets");
        let last = self.analyzer.as_ref().map_or(0, |it| it.tables.last_frame);
        let is_late = last > 0 && self.secrets() > known;
        if is_late && !std::mem::replace(&mut self.has_reported_late_secrets, true) {
            self.anomaly(of_late_secrets(last));
        }
    }
}

fn of_late_secrets(last: u64) -> Anomaly {
    Anomaly {
        kind: AnomalyKind::UndecryptedTls,
        frame: Some(last),
        flow: None,
        offset: None,
        detail: format!(
            "secrets come after frame {last}: in a compressed or growing capture they decrypt only later records"
        ),
    }
}
