//! Mutations of a pcap file that keep most of it valid. They reach the code after the file format and the
//! headers. Records are repeated, dropped, moved, cut and continued. TCP fields and payloads change, and the
//! enclosing lengths are corrected.

use crate::numbers::Numbers;

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const LITTLE_ENDIAN_MAGICS: [[u8; 4]; 2] = [[0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1]];
/// One of this many mutations is libFuzzer's own, applied to any bytes of the file.
const PLAIN_CHANGE_ONE_IN: usize = 8;

/// Building blocks of HTTP, and text that is not HTTP.
const TOKENS: &[&[u8]] = &[
    b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
    b"HEAD /b HTTP/1.0\r\n\r\n",
    b"POST /c HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
    b"PUT /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"CONNECT h:1 HTTP/1.1\r\n\r\n",
    b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\n\r\n",
    b"5\r\nhello\r\n",
    b"ffffffffffffffff\r\n",
    b"0\r\n\r\n",
    b"X: y\r\n",
    b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    &[b'x'; 1448],
    &[b'x'; 700],
    b"",
];
const FLAGS: [u8; 8] = [0x10, 0x18, 0x02, 0x12, 0x11, 0x14, 0x04, 0x00];
/// Distances in sequence numbers: zero, one byte, a segment, windows, half the circle.
const DISTANCES: [u32; 10] = [
    1,
    u32::MAX,
    1448,
    1448_u32.wrapping_neg(),
    65_535,
    1 << 20,
    1 << 30,
    1 << 31,
    0x7fff_ffff,
    7,
];
const NANOSECONDS: [i64; 8] = [
    1_000,
    200_000,
    3_000_000,
    45_000_000,
    210_000_000,
    1_500_000_000,
    300_000_000_000,
    -2_000_000,
];

#[derive(Clone)]
struct Record {
    header: [u8; RECORD_HEADER_BYTES],
    bytes: Vec<u8>,
}

struct Capture {
    header: Vec<u8>,
    nanoseconds_per_tick: i64,
    records: Vec<Record>,
}

/// Positions of a frame's headers.
struct Places {
    ip: usize,
    tcp: usize,
    payload: usize,
    is_v6: bool,
}

/// Mutate the first `size` bytes of `data`, whose length is the capacity. Return the new size. `plain` is a
/// mutation without knowledge of captures.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    plain: impl Fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut numbers = Numbers::new(seed.into());
    let max_size = max_size.min(data.len());
    let capture = data.get(..size).and_then(Capture::parse);
    let Some(mut capture) = capture.filter(|_| !numbers.one_in(PLAIN_CHANGE_ONE_IN)) else {
        return plain(data, size, max_size);
    };
    for _ in 0..=numbers.below(4) {
        capture.change(&mut numbers, &plain);
    }
    let written = capture.write(max_size);
    data[..written.len()].copy_from_slice(&written);
    written.len()
}

impl Capture {
    fn parse(file: &[u8]) -> Option<Capture> {
        let header = file.get(..FILE_HEADER_BYTES)?;
        let magic = LITTLE_ENDIAN_MAGICS
            .iter()
            .position(|magic| header.starts_with(magic))?;
        let mut records = Vec::new();
        let mut rest = &file[FILE_HEADER_BYTES..];
        while let Some((header, after)) = rest.split_first_chunk::<RECORD_HEADER_BYTES>() {
            let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
            let Some((bytes, later)) = after.split_at_checked(length as usize) else {
                break;
            };
            records.push(Record {
                header: *header,
                bytes: bytes.to_vec(),
            });
            rest = later;
        }
        (!records.is_empty()).then(|| Capture {
            header: header.to_vec(),
            nanoseconds_per_tick: [1_000, 1][magic],
            records,
        })
    }

    /// Write as many records as `max_size` permits.
    fn write(&self, max_size: usize) -> Vec<u8> {
        let mut file = self.header.clone();
        for record in &self.records {
            if file.len() + RECORD_HEADER_BYTES + record.bytes.len() > max_size {
                break;
            }
            file.extend(record.header);
            file.extend(&record.bytes);
        }
        file
    }

    fn change(&mut self, numbers: &mut Numbers, plain: impl Fn(&mut [u8], usize, usize) -> usize) {
        let at = numbers.below(self.records.len());
        let other = numbers.below(self.records.len());
        match numbers.below(16) {
            0 => self.records.insert(other, self.records[at].clone()),
            1 if self.records.len() > 1 => drop(self.records.remove(at)),
            2 => self.records.swap(at, other),
            3 => {
                let to = (at + 1 + numbers.below(20)).min(self.records.len());
                self.records[at..to].reverse();
            }
            4 => self.records.truncate(at + 1),
            5 => self.shift_times(at, *numbers.pick(&NANOSECONDS)),
            6 => self.records[at].cut(numbers),
            7 => self.fragment(at, numbers),
            8 | 9 => self.carry_on(at, numbers),
            10 => self.records[at].change_bytes(numbers, plain),
            11 => self.records[at].turn_round(),
            12 => self.records[at].other_port(numbers),
            13 => self.records[at].set_payload(&text(numbers)),
            _ => self.records[at].change_tcp(numbers),
        }
    }

    /// Shift the times of all records from an index on.
    fn shift_times(&mut self, at: usize, by_ns: i64) {
        for record in &mut self.records[at..] {
            record.shift_time(by_ns, self.nanoseconds_per_tick);
        }
    }

    /// Append the next segment of the same sender.
    fn carry_on(&mut self, at: usize, numbers: &mut Numbers) {
        let mut next = self.records[at].clone();
        let Some(places) = next.places() else { return };
        let payload = next.bytes.len().saturating_sub(places.payload) as u32;
        let flags = next.bytes[places.tcp + 13];
        let syn_and_fin = u32::from(flags & 2 != 0) + u32::from(flags & 1 != 0);
        next.add_to(places.tcp + 4, payload + syn_and_fin);
        next.bytes[places.tcp + 13] = 0x18;
        next.set_payload(&text(numbers));
        next.shift_time(*numbers.pick(&NANOSECONDS), self.nanoseconds_per_tick);
        let to = (at + 1 + numbers.below(3)).min(self.records.len());
        self.records.insert(to, next);
    }

    /// Split an IPv4 packet into two fragments.
    fn fragment(&mut self, at: usize, numbers: &mut Numbers) {
        let record = &self.records[at];
        let Some(places) = record.places().filter(|places| !places.is_v6) else {
            return;
        };
        let body = record.bytes.len() - places.tcp;
        let first = (8 * (1 + numbers.below(body / 8))).min(body);
        let part = |from: usize, to: usize, field: u16| {
            let mut part = record.clone();
            part.bytes.truncate(places.tcp);
            part.bytes
                .extend(&record.bytes[places.tcp + from..places.tcp + to]);
            part.bytes[places.ip + 6..places.ip + 8].copy_from_slice(&field.to_be_bytes());
            part.fix_lengths(&places);
            part
        };
        let parts = [
            part(0, first, 0x2000),
            part(first, body, (first / 8) as u16),
        ];
        self.records.splice(at..=at, parts);
    }
}

impl Record {
    /// Return the header positions of a TCP frame on Ethernet (with at most one tag), cooked or raw.
    fn places(&self) -> Option<Places> {
        let bytes = &self.bytes;
        [14, 16, 18, 20, 0, 4].into_iter().find_map(|ip| {
            let (tcp, is_v6) = match (bytes.get(ip)?, bytes.get(ip + 9), bytes.get(ip + 6)) {
                (0x45, Some(6), _) => (ip + 20, false),
                (0x60, _, Some(6)) => (ip + 40, true),
                _ => return None,
            };
            let payload = tcp + usize::from(bytes.get(tcp + 12)? >> 4) * 4;
            (payload <= bytes.len() && bytes.len() >= tcp + 20).then_some(Places {
                ip,
                tcp,
                payload,
                is_v6,
            })
        })
    }

    fn fix_lengths(&mut self, places: &Places) {
        let captured = (self.bytes.len() as u32).to_le_bytes();
        self.header[8..12].copy_from_slice(&captured);
        self.header[12..16].copy_from_slice(&captured);
        let (at, from) = if places.is_v6 { (4, 40) } else { (2, 0) };
        let length = (self.bytes.len() - places.ip - from) as u16;
        let at = places.ip + at;
        self.bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }

    fn set_payload(&mut self, payload: &[u8]) {
        let Some(places) = self.places() else { return };
        self.bytes.truncate(places.payload);
        self.bytes.extend(payload);
        self.fix_lengths(&places);
    }

    fn add_to(&mut self, at: usize, by: u32) {
        if let Some(field) = self
            .bytes
            .get_mut(at..)
            .and_then(<[u8]>::first_chunk_mut::<4>)
        {
            *field = u32::from_be_bytes(*field).wrapping_add(by).to_be_bytes();
        }
    }

    fn change_tcp(&mut self, numbers: &mut Numbers) {
        let Some(Places { tcp, .. }) = self.places() else {
            return;
        };
        match numbers.below(5) {
            0 => self.add_to(tcp + 4, *numbers.pick(&DISTANCES)),
            1 => self.add_to(tcp + 8, *numbers.pick(&DISTANCES)),
            2 => self.bytes[tcp + 13] = *numbers.pick(&FLAGS),
            3 => self.bytes[tcp + 14..tcp + 16].fill(*numbers.pick(&[0, 1, 0xff])),
            _ => {
                let at = tcp + 20 + numbers.below(20);
                if let Some(option) = self.bytes.get_mut(at) {
                    *option = numbers.number() as u8;
                }
            }
        }
    }

    /// Swap sender and receiver.
    fn turn_round(&mut self) {
        let Some(Places { ip, tcp, is_v6, .. }) = self.places() else {
            return;
        };
        let (at, length) = if is_v6 { (ip + 8, 16) } else { (ip + 12, 4) };
        let (source, destination) = self.bytes[at..at + 2 * length].split_at_mut(length);
        source.swap_with_slice(destination);
        let (source, destination) = self.bytes[tcp..tcp + 4].split_at_mut(2);
        source.swap_with_slice(destination);
    }

    fn other_port(&mut self, numbers: &mut Numbers) {
        let Some(Places { tcp, .. }) = self.places() else {
            return;
        };
        self.bytes[tcp + 1 + 2 * numbers.below(2)] ^= 1 << numbers.below(4);
    }

    /// Truncate the captured bytes.
    fn cut(&mut self, numbers: &mut Numbers) {
        self.bytes.truncate(numbers.below(self.bytes.len()));
        let captured = (self.bytes.len() as u32).to_le_bytes();
        self.header[8..12].copy_from_slice(&captured);
    }

    fn shift_time(&mut self, by_ns: i64, nanoseconds_per_tick: i64) {
        let field = |at: usize| {
            let bytes = &self.header[at..at + 4];
            i64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let time = field(0) * 1_000_000_000 + field(4) * nanoseconds_per_tick + by_ns;
        let seconds = time.div_euclid(1_000_000_000) as u32;
        let ticks = (time.rem_euclid(1_000_000_000) / nanoseconds_per_tick) as u32;
        self.header[..4].copy_from_slice(&seconds.to_le_bytes());
        self.header[4..8].copy_from_slice(&ticks.to_le_bytes());
    }

    /// Apply libFuzzer's own mutation to the frame, at constant length.
    fn change_bytes(
        &mut self,
        numbers: &mut Numbers,
        plain: impl Fn(&mut [u8], usize, usize) -> usize,
    ) {
        let from = match self.places() {
            Some(places) if numbers.one_in(2) => places.payload,
            _ => 0,
        };
        let length = self.bytes.len() - from;
        if length > 0 {
            plain(&mut self.bytes[from..], length, length);
        }
    }
}

fn text(numbers: &mut Numbers) -> Vec<u8> {
    let parts: Vec<&[u8]> = (0..=numbers.below(3))
        .map(|_| *numbers.pick(TOKENS))
        .collect();
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> Vec<u8> {
        let sample = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../sample_traces/heidemann_1996_figure4.pcap"
        );
        std::fs::read(sample).expect("the sample is there")
    }

    #[test]
    fn test_a_mutation_is_still_a_capture_and_mostly_tcp() {
        let file = capture();
        let (mut valid, mut changed) = (0, 0);
        for seed in 0..2_000 {
            let mut data = file.clone();
            data.resize(file.len() + 4_000, 0);
            let max_size = data.len();
            let size = mutate(&mut data, file.len(), max_size, seed, |_, size, _| size);
            let capture = Capture::parse(&data[..size]).expect("a capture");
            assert_eq!(
                capture.write(usize::MAX).len(),
                size,
                "nothing is left over"
            );
            valid += capture
                .records
                .iter()
                .filter(|record| record.places().is_some())
                .count();
            changed += usize::from(data[..size] != file);
        }
        assert!(changed > 1_500, "{changed}");
        assert!(valid > 2_000 * 7, "{valid}");
    }
}
