//! Connections that are over before others show that they had shared a window.

use trace_model::column::Columns;

use super::*;

const MS: i64 = 1_000_000;
const FULL: usize = 1000;

/// Connections of two hosts, each of which carries one response. A capture next to the client has a round trip of 100 ms.
struct Talk {
    analyzer: Analyzer,
    frame: u64,
}

impl Talk {
    fn packet(&mut self, time_ms: i64, (from_client, port): (bool, u16), what: Segment<'_>) {
        self.frame += 1;
        let ends = [
            (IpAddress::v4(CLIENT.0), port),
            (IpAddress::v4(SERVER.0), 80),
        ];
        let [from, to] = if from_client {
            ends
        } else {
            [ends[1], ends[0]]
        };
        let [own, other] = if from_client {
            [CLIENT_INITIAL, SERVER_INITIAL]
        } else {
            [SERVER_INITIAL, CLIENT_INITIAL]
        };
        let segment = Segment {
            source_port: from.1,
            destination_port: to.1,
            seq: SeqNumber(own.wrapping_add(what.seq.0)),
            ack: SeqNumber(other.wrapping_add(what.ack.0)),
            ..what
        };
        let hosts = (from.0, to.0);
        self.analyzer
            .packet(&packet(self.frame, time_ms * MS, hosts, segment));
    }

    /// Opens a connection, and asks for a response as it is open.
    fn opens(&mut self, time_ms: i64, port: u16) {
        self.packet(time_ms, (true, port), segment(flags::SYN, (0, 0), b""));
        let syn_ack = segment(flags::SYN | flags::ACK, (0, 1), b"");
        self.packet(time_ms + 100, (false, port), syn_ack);
        let request = segment(DATA, (1, 1), REQUEST);
        self.packet(time_ms + 100, (true, port), request);
    }

    /// The first two segments of its response come at once.
    fn begins(&mut self, time_ms: i64, port: u16) {
        for number in 0..2 {
            self.data(time_ms + number as i64, port, number);
        }
    }

    /// The segment of that number of its response.
    fn data(&mut self, time_ms: i64, port: u16, number: usize) {
        let segments = SEGMENTS[usize::from(port)];
        let head = |body: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {body:05}\r\n\r\n");
        let mut response = head(segments * FULL - head(0).len()).into_bytes();
        response.resize(segments * FULL, b'x');
        let start = number * FULL;
        let is_last = number + 1 == segments;
        let acked = 1 + REQUEST.len() as u32;
        let what = segment(
            if is_last { DATA } else { flags::ACK },
            (1 + start as u32, acked),
            &response[start..start + FULL],
        );
        self.packet(time_ms, (false, port), what);
    }

    fn ack(&mut self, time_ms: i64, port: u16, number: usize) {
        let acked = 1 + ((number + 1) * FULL) as u32;
        let next = 1 + REQUEST.len() as u32;
        self.packet(
            time_ms,
            (true, port),
            segment(flags::ACK, (next, acked), b""),
        );
    }

    /// Both ends of a connection close it, whose response has come.
    fn closes(&mut self, time_ms: i64, port: u16) {
        let segments = SEGMENTS[usize::from(port)];
        let fin = flags::FIN | flags::ACK;
        let (sent, asked) = (1 + (segments * FULL) as u32, 1 + REQUEST.len() as u32);
        self.packet(time_ms, (true, port), segment(fin, (asked, sent), b""));
        self.packet(
            time_ms + 100,
            (false, port),
            segment(fin, (sent, asked + 1), b""),
        );
        let last = segment(flags::ACK, (asked + 1, sent + 1), b"");
        self.packet(time_ms + 100, (true, port), last);
    }

    /// Of two connections each one's ACKs let data of the other one go.
    fn goes_on(&mut self, from_ms: i64, ports: [(u16, usize); 2], rounds: usize) {
        for round in 0..rounds {
            let at = from_ms + round as i64 * 200;
            for (place, [by, of]) in [(0, ports), (90, [ports[1], ports[0]])] {
                self.ack(at + place, by.0, by.1 + round);
                self.data(at + place + 100, of.0, of.1 + round + 1);
            }
        }
    }
}

/// Of the response of each connection, by its port.
const SEGMENTS: [usize; 4] = [0, 2, 40, 40];

/// What a connection waited for whose response an ACK of another one lets begin: each cause and how many milliseconds.
/// After its end two others go on for so many rounds.
fn waits_of_first(rounds: usize) -> Vec<(String, i64)> {
    let mut talk = Talk {
        analyzer: Analyzer::new(Options::default()),
        frame: 0,
    };
    talk.opens(0, 2);
    talk.opens(90, 1);
    talk.begins(200, 2);
    talk.ack(290, 2, 1);
    talk.begins(390, 1);
    talk.ack(391, 1, 1);
    talk.closes(395, 1);
    talk.opens(510, 3);
    talk.begins(710, 3);
    talk.goes_on(800, [(2, 1), (3, 1)], rounds);
    talk.analyzer.finish();
    let waits: Columns = std::mem::take(&mut talk.analyzer.tables)
        .waits
        .take()
        .into_columns();
    let flows = numbers(&waits, "flow");
    let of_first = (0..flows.len()).filter(|row| flows[*row] == 1);
    of_first
        .map(|row| {
            let time = |name| number(&waits, name, row).unwrap();
            let length_ns = time("end") - time("start");
            (text(&waits, "cause", row), length_ns / MS)
        })
        .collect()
}

#[test]
fn who_was_over_when_windows_were_found_to_be_shared_had_waited_for_theirs() {
    let held_by = |rounds| {
        let waits = waits_of_first(rounds);
        waits.into_iter().nth(2)
    };
    let of = |cause: &str| Some((cause.to_owned(), 99));
    assert_eq!(held_by(0), of("server.think"));
    assert_eq!(held_by(8), of("send_limited.slow_start"));
}
