//! Upper bound of the speed at which a capture can be processed: `ceiling [--one-shot] FILE…`.
//!
//! The plain run reads chunks of the program's size. It decodes the fixed headers of Ethernet, IPv4 and TCP,
//! and finds the flow of each packet. `--one-shot` also keeps fourteen columns per packet and parses message
//! heads: the minimum work of any analysis. The benchmark compares the native core with both.

use std::collections::HashMap;
use std::io::Read;

use foldhash::fast::FixedState;

/// Chunk size, equal to `CHUNK_BYTES` of tcptrace_http/capture.py.
const CHUNK_BYTES: usize = 256 * 1024;
const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
const TCP: u8 = 6;
const HEADERS_MAX: usize = 64;

/// Minimum state of a flow table: the next sequence number, and counts.
#[derive(Default)]
struct Direction {
    next_seq: u32,
    packets: u64,
    payload_bytes: u64,
}

/// Fourteen columns per packet.
#[derive(Default)]
struct Columns {
    frame: Vec<u64>,
    time: Vec<(u32, u32)>,
    flow: Vec<u32>,
    is_low: Vec<bool>,
    addresses: Vec<(u32, u32)>,
    ports: Vec<u32>,
    seq: Vec<u32>,
    ack: Vec<u32>,
    flags: Vec<u8>,
    window: Vec<u16>,
    payload_bytes: Vec<u32>,
    captured_bytes: Vec<u32>,
}

#[derive(Default)]
struct Ceiling {
    places: HashMap<(u32, u32, u32), usize, FixedState>,
    flows: Vec<[Direction; 2]>,
    packets: u64,
    heads: u64,
    columns: Option<Columns>,
}

impl Ceiling {
    /// Process the whole records at the start of `bytes`, and return their length.
    fn records(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(record) = self.record(bytes.get(at..).unwrap_or(&[])) {
            at = at.saturating_add(record);
        }
        at
    }

    fn record(&mut self, bytes: &[u8]) -> Option<usize> {
        let captured = usize::try_from(u32::from_le_bytes(array(bytes, 8)?)).ok()?;
        let end = RECORD_HEADER_BYTES.saturating_add(captured);
        let frame = bytes.get(RECORD_HEADER_BYTES..end)?;
        self.packets = self.packets.saturating_add(1);
        let time = (
            u32::from_le_bytes(array(bytes, 0)?),
            u32::from_le_bytes(array(bytes, 4)?),
        );
        self.packet(time, frame);
        Some(end)
    }

    /// Process a packet; return `None` unless it is TCP over IPv4.
    fn packet(&mut self, time: (u32, u32), frame: &[u8]) -> Option<()> {
        let ip = frame.get(ETHERNET_BYTES..)?;
        if *ip.get(9)? != TCP {
            return None;
        }
        let source = u32::from_be_bytes(array(ip, 12)?);
        let destination = u32::from_be_bytes(array(ip, 16)?);
        let total = usize::from(u16::from_be_bytes(array(ip, 2)?));
        let tcp = ip.get(IPV4_BYTES..)?;
        let source_port = u32::from(u16::from_be_bytes(array(tcp, 0)?));
        let destination_port = u32::from(u16::from_be_bytes(array(tcp, 2)?));
        let seq = u32::from_be_bytes(array(tcp, 4)?);
        let header = usize::from(tcp.get(12)? >> 4).saturating_mul(4);
        let payload = total.saturating_sub(IPV4_BYTES.saturating_add(header));
        let is_low = (source, source_port) <= (destination, destination_port);
        let key = if is_low {
            (source, destination, (source_port << 16) | destination_port)
        } else {
            (destination, source, (destination_port << 16) | source_port)
        };
        let flows = &mut self.flows;
        let place = *self.places.entry(key).or_insert_with(|| {
            flows.push(Default::default());
            flows.len().saturating_sub(1)
        });
        let direction = flows.get_mut(place)?.get_mut(usize::from(is_low))?;
        let payload_bytes = u32::try_from(payload).ok()?;
        direction.next_seq = seq.wrapping_add(payload_bytes);
        direction.packets = direction.packets.saturating_add(1);
        direction.payload_bytes = direction.payload_bytes.saturating_add(payload_bytes.into());
        if let Some(columns) = self.columns.as_mut() {
            columns.frame.push(self.packets);
            columns.time.push(time);
            columns.flow.push(u32::try_from(place).ok()?);
            columns.is_low.push(is_low);
            columns.addresses.push((source, destination));
            columns.ports.push(key.2);
            columns.seq.push(seq);
            columns.ack.push(u32::from_be_bytes(array(tcp, 8)?));
            columns.flags.push(*tcp.get(13)?);
            columns.window.push(u16::from_be_bytes(array(tcp, 14)?));
            columns.payload_bytes.push(payload_bytes);
            columns
                .captured_bytes
                .push(u32::try_from(frame.len()).ok()?);
            self.head(tcp.get(header..)?);
        }
        Some(())
    }

    fn head(&mut self, payload: &[u8]) {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let is_head = if payload.starts_with(b"HTTP/1.") {
            httparse::Response::new(&mut headers).parse(payload).is_ok()
        } else if payload.first().is_some_and(u8::is_ascii_uppercase) {
            httparse::Request::new(&mut headers).parse(payload).is_ok()
        } else {
            false
        };
        self.heads = self.heads.saturating_add(u64::from(is_head));
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn go_through(path: &str, columns: Option<Columns>) -> std::io::Result<Ceiling> {
    let mut file = std::fs::File::open(path)?;
    file.read_exact(&mut [0; FILE_HEADER_BYTES])?;
    let mut ceiling = Ceiling {
        columns,
        ..Ceiling::default()
    };
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut kept = 0;
    loop {
        let Some(free) = buffer.get_mut(kept..) else {
            return Ok(ceiling);
        };
        let length = file.read(free)?;
        if length == 0 {
            return Ok(ceiling);
        }
        let filled = kept.saturating_add(length);
        let done = ceiling.records(buffer.get(..filled).unwrap_or(&[]));
        buffer.copy_within(done..filled, 0);
        kept = filled.saturating_sub(done);
    }
}

fn main() -> std::io::Result<()> {
    let (options, paths): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument == "--one-shot");
    for path in paths {
        let ceiling = go_through(&path, (!options.is_empty()).then(Columns::default))?;
        let directions = ceiling.flows.iter().flatten();
        // Print the sum so that the compiler cannot remove the work.
        let next: u32 = directions.fold(0, |sum, one| sum.wrapping_add(one.next_seq));
        println!(
            "{path}: {} packets, {} flows, {} heads, {next}",
            ceiling.packets,
            ceiling.flows.len(),
            ceiling.heads
        );
    }
    Ok(())
}
