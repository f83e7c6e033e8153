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
const SEGMENTS: [usize; 9] = [0, 2, 40, 40, 20, 150, 2, 2, 2];

impl Talk {
    fn new() -> Talk {
        Talk {
            analyzer: Analyzer::new(Options::default()),
            frame: 0,
        }
    }

    /// What the transaction of a connection waited for, each cause and how many milliseconds.
    fn waits_of_flow(mut self, flow: u64) -> Vec<(String, i64)> {
        self.analyzer.finish();
        let waits: Columns = std::mem::take(&mut self.analyzer.tables)
            .waits
            .take()
            .into_columns();
        let flows = numbers(&waits, "flow");
        let of_flow = (0..flows.len()).filter(|row| flows[*row] == flow);
        of_flow
            .map(|row| {
                let time = |name| number(&waits, name, row).unwrap();
                let length_ns = time("end") - time("start");
                (text(&waits, "cause", row), length_ns / MS)
            })
            .collect()
    }
}

/// What a connection waited for whose response an ACK of another one lets begin. After its end two others go on for so
/// many rounds.
fn waits_of_first(rounds: usize) -> Vec<(String, i64)> {
    let mut talk = Talk::new();
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
    talk.waits_of_flow(1)
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

/// How many milliseconds of the first of two connections waited for a full buffer. On a link that is never idle a third
/// one is opened at these times, and each is answered behind 20 segments.
fn full_ms(opened_ms: &[i64]) -> i64 {
    const LINK_MS: i64 = 5;
    let mut talk = Talk::new();
    talk.opens(0, 4);
    talk.opens(5, 5);
    let mut sent = [0, 0];
    let mut opened = (6..).zip(opened_ms.iter().copied()).peekable();
    let mut answered = opened.clone();
    for time_ms in (210..910).step_by(LINK_MS as usize) {
        let all: usize = sent.iter().sum();
        let place = usize::from(sent[0] == SEGMENTS[4] || sent[0] * 200 > all * all);
        let port = [4, 5][place];
        if let Some((opens, ms)) = answered.next_if(|(_, ms)| ms + 100 <= time_ms) {
            let syn_ack = segment(flags::SYN | flags::ACK, (0, 1), b"");
            talk.packet(ms + 100, (false, opens), syn_ack);
        }
        talk.data(time_ms, port, sent[place]);
        talk.ack(time_ms, port, sent[place]);
        sent[place] += 1;
        if let Some((opens, ms)) = opened.next_if(|(_, ms)| *ms < time_ms + LINK_MS) {
            let syn = segment(flags::SYN, (0, 0), b"");
            talk.packet(ms, (true, opens), syn);
        }
    }
    let waits = talk.waits_of_flow(0);
    let full = waits
        .iter()
        .filter(|(cause, _)| cause == "send_limited.send_buffer");
    full.map(|(_, ms)| ms).sum()
}

#[test]
fn who_was_over_when_their_window_was_found_to_be_the_largest_of_its_stack_had_waited_for_that() {
    let (before, later) = (full_ms(&[301]), full_ms(&[301, 621]));
    assert!(later > before, "{before} {later}");
}
