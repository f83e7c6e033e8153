//! Prints the decoder's summary of capture files: `count [--anomalies] FILE…`. `-` is stdin.

use std::io::Read;

use tcptrace_capture::{link_type_name, Decoder};
use trace_model::{Anomaly, Packet, PacketSink};

const CHUNK_BYTES: usize = 1 << 20;

struct Counter {
    prints_anomalies: bool,
    payload_bytes: u64,
}

impl PacketSink for Counter {
    fn packet(&mut self, packet: &Packet<'_>) {
        let payload = packet.segment.map_or(0, |segment| segment.payload_bytes);
        self.payload_bytes = self.payload_bytes.saturating_add(payload.into());
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        if self.prints_anomalies {
            println!(
                "  {} frame {:?}: {}",
                anomaly.kind.word(),
                anomaly.frame,
                anomaly.detail
            );
        }
    }
}

fn count(path: &str, prints_anomalies: bool) -> Result<String, Box<dyn std::error::Error>> {
    let mut input: Box<dyn Read> = match path {
        "-" => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path)?),
    };
    let mut sink = Counter {
        prints_anomalies,
        payload_bytes: 0,
    };
    let mut decoder = Decoder::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = input.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        decoder.feed(chunk.get(..length).unwrap_or(&[]), &mut sink)?;
    }
    decoder.finish(&mut sink)?;
    let found = decoder.provenance();
    let link_types: Vec<&str> = found
        .link_types
        .iter()
        .map(|each| link_type_name(*each).unwrap_or("?"))
        .collect();
    Ok(format!(
        "{} packets={} tcp={} payload_bytes={} first_ns={:?} last_ns={:?} truncated={} damaged_at={:?} {}",
        found.format,
        found.packets,
        found.tcp_packets,
        sink.payload_bytes,
        found.first_time_ns,
        found.last_time_ns,
        found.truncated,
        found.damaged_at_offset,
        link_types.join(",")
    ))
}

fn main() {
    let (options, paths): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument == "--anomalies");
    for path in paths {
        match count(&path, !options.is_empty()) {
            Ok(line) => println!("{path}: {line}"),
            Err(error) => println!("{path}: error: {error}"),
        }
    }
}
