//! Upper bound of the speed: `bare FILE…` reads captures, decodes every packet and finds its flow.

use std::io::Read;

use hashbrown::HashMap;
use tcptrace_capture::Decoder;
use tcptrace_tcp::{Endpoint, Key};
use trace_model::{Anomaly, Packet, PacketSink};

/// Chunk size, equal to `CHUNK_BYTES` of tcptrace_http/capture_stream.py.
const CHUNK_BYTES: usize = 256 * 1024;

type Failure = Box<dyn std::error::Error>;

/// Payload bytes of each flow.
#[derive(Default)]
struct Flows(HashMap<u64, u64>);

impl PacketSink for Flows {
    fn packet(&mut self, packet: &Packet<'_>) {
        let Some((network, segment)) = packet.network.zip(packet.segment.as_ref()) else {
            return;
        };
        let source = Endpoint {
            address: network.source,
            port: segment.source_port,
        };
        let destination = Endpoint {
            address: network.destination,
            port: segment.destination_port,
        };
        let (key, _) = Key::new(source, destination);
        let bytes = self.0.entry(key.hash()).or_default();
        *bytes = bytes.saturating_add(segment.payload_bytes.into());
    }

    fn anomaly(&mut self, _: Anomaly) {}
}

fn main() -> Result<(), Failure> {
    for path in std::env::args_os().skip(1) {
        let mut flows = Flows::default();
        let mut decoder = Decoder::new();
        let mut file = std::fs::File::open(&path)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            decoder.feed(chunk.get(..read).unwrap_or_default(), &mut flows)?;
        }
        decoder.finish(&mut flows)?;
        println!("{}: {} flows", path.display(), flows.0.len());
    }
    Ok(())
}
