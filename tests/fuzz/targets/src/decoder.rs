//! The capture decoder: arbitrary bytes, fed in arbitrary chunks.
//!
//! The last four bytes of an input define the chunks. All bytes before them are the file.

use std::hash::{DefaultHasher, Hash, Hasher};

use tcptrace_capture::{CaptureError, Decoder, Provenance};
use trace_model::{Anomaly, AnomalyKind, Packet, PacketSink};

use crate::numbers::Numbers;

/// Maximum number of decoder rows per anomaly kind, including the row with the count of the rest.
const ROWS_OF_A_KIND_MAX: usize = 101;
/// Maximum chunk length. Shorter chunks cover parts of a header, longer ones a whole file.
const CHUNK_MAX: usize = 97;

/// The decoder's whole output for a file.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    packets: Vec<Seen>,
    anomalies: Vec<Anomaly>,
    segments: u64,
    provenance: Provenance,
    error: Option<CaptureError>,
}

#[derive(Debug, PartialEq)]
struct Seen {
    frame: u64,
    time_ns: i64,
    interface: u32,
    wire_bytes: u32,
    captured_bytes: u32,
    /// Digest of the packet's other fields.
    digest: u64,
}

impl PacketSink for Reading {
    fn packet(&mut self, packet: &Packet<'_>) {
        let mut digest = DefaultHasher::new();
        packet.link_type.hash(&mut digest);
        format!("{:?}", packet.network).hash(&mut digest);
        if let Some(segment) = &packet.segment {
            self.segments += 1;
            assert!(packet.network.is_some());
            assert!(segment.payload.len() as u64 <= u64::from(segment.payload_bytes));
            assert!((20..=60).contains(&segment.header_bytes));
            format!("{segment:?}").hash(&mut digest);
        }
        self.packets.push(Seen {
            frame: packet.frame,
            time_ns: packet.time_ns,
            interface: packet.interface,
            wire_bytes: packet.wire_bytes,
            captured_bytes: packet.captured_bytes,
            digest: digest.finish(),
        });
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        self.anomalies.push(anomaly);
    }
}

fn read(file: &[u8], mut chunk: impl FnMut() -> usize) -> Reading {
    let (mut decoder, mut reading) = (Decoder::new(), Reading::default());
    let mut rest = file;
    let mut result = Ok(());
    while !rest.is_empty() && result.is_ok() {
        let (now, later) = rest.split_at(chunk().clamp(1, rest.len()));
        result = decoder.feed(now, &mut reading);
        rest = later;
    }
    let result = result.and_then(|()| decoder.finish(&mut reading));
    reading.provenance = decoder.provenance();
    match result {
        Ok(()) => assert_eq!(reading.provenance.bytes_read, file.len() as u64),
        // The decoder stops at an error, and the number of bytes fed by then depends on the chunks.
        Err(_) => reading.provenance.bytes_read = 0,
    }
    reading.error = result.err();
    reading
}

pub fn run(input: &[u8]) {
    let (file, cuts) = input.split_at(input.len().saturating_sub(4));
    let seed = cuts
        .iter()
        .fold(0, |seed, byte| (seed << 8) | u64::from(*byte));
    let mut numbers = Numbers::new(seed);
    let whole = read(file, || usize::MAX);
    let cut = read(file, || 1 + numbers.below(CHUNK_MAX));
    assert_eq!(whole, cut, "how the file is cut changes what is read");
    check(&whole);
}

fn check(reading: &Reading) {
    let provenance = &reading.provenance;
    assert!(reading.packets.len() as u64 <= provenance.packets);
    assert!(provenance.tcp_packets <= provenance.packets);
    assert!(reading.segments <= provenance.tcp_packets);
    let mut last = 0;
    for packet in &reading.packets {
        assert!(packet.frame > last, "frames are numbered in order");
        last = packet.frame;
        assert!(packet.captured_bytes <= packet.wire_bytes);
        assert!(packet.interface < provenance.interfaces);
    }
    assert!(last <= provenance.packets);
    for anomaly in &reading.anomalies {
        assert!(anomaly
            .frame
            .is_none_or(|frame| (1..=provenance.packets).contains(&frame)));
        assert!(!anomaly.detail.is_empty() && anomaly.flow.is_none());
    }
    for kind in reading.anomalies.iter().map(|anomaly| anomaly.kind) {
        assert!(count(reading, kind) <= ROWS_OF_A_KIND_MAX);
    }
}

fn count(reading: &Reading, kind: AnomalyKind) -> usize {
    reading
        .anomalies
        .iter()
        .filter(|it| it.kind == kind)
        .count()
}
