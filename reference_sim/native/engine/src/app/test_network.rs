//! A network for application tests: every connection is a pipe with a delay, without segments.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::app::exchange::{Exchanges, Timeline};
use crate::app::{AppEvent, AppId, Content, End, Network};
use crate::random::Random;
use crate::scenario::*;
use crate::simulation::applications;
use crate::stack::Nanoseconds;
use crate::truth::{Side, TransactionRow, Truth};

pub const MS: Nanoseconds = 1_000_000;
/// One-way delay.
pub const DELAY: Nanoseconds = 50 * MS;
pub const MSS: u32 = 1460;
const PORT: u16 = 80;
/// The first page under the first plan.
pub const FIRST: Visit = Visit {
    page: 0,
    plan: 0,
    think_ns: None,
};

/// One direction of a connection.
#[derive(Default)]
struct Direction {
    text: Vec<u8>,
    calls: Vec<(Nanoseconds, u64)>,
    last: Nanoseconds,
    is_closed: bool,
    /// Events held back while the reader does not read.
    held: VecDeque<AppEvent>,
    is_paused: bool,
    came: u64,
}

struct Pipe {
    apps: [AppId; 2],
    opened: Nanoseconds,
    directions: [Direction; 2],
    timeline: Timeline,
}

enum Due {
    Told(End, AppEvent),
    Woken(AppId, u64),
}

pub struct Pipes {
    now: Nanoseconds,
    counter: u64,
    due: BTreeMap<(Nanoseconds, u64), Due>,
    listeners: BTreeMap<(u32, u16), AppId>,
    pipes: Vec<Pipe>,
    randoms: Vec<Random>,
    exchanges: Exchanges,
    truth: Truth,
}

fn index(side: Side) -> usize {
    match side {
        Side::Client => 0,
        Side::Server => 1,
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

impl Pipes {
    fn plan(&mut self, at: Nanoseconds, due: Due) {
        self.counter += 1;
        self.due.insert((at, self.counter), due);
    }

    fn tell(&mut self, at: Nanoseconds, connection: u32, side: Side, what: AppEvent) {
        self.plan(at, Due::Told(End { connection, side }, what));
    }

    /// Return the data that a side's application wrote.
    pub fn text(&self, connection: u32, side: Side) -> &[u8] {
        &self.pipes[connection as usize].directions[index(side)].text
    }

    /// Return time and length of each write call of a side.
    pub fn calls(&self, connection: u32, side: Side) -> &[(Nanoseconds, u64)] {
        &self.pipes[connection as usize].directions[index(side)].calls
    }

    pub fn opened(&self) -> Vec<Nanoseconds> {
        self.pipes.iter().map(|pipe| pipe.opened).collect()
    }

    pub fn truth_now(&self) -> &Truth {
        &self.truth
    }

    /// Return true if an event reaches its reader now, or hold it back and return false.
    fn pass(&mut self, at: End, what: AppEvent) -> bool {
        let now = self.now;
        let pipe = &mut self.pipes[at.connection as usize];
        let direction = &mut pipe.directions[index(other(at.side))];
        if let AppEvent::Received { total } = what {
            direction.came = total;
            let rows = &mut self.truth.transactions;
            pipe.timeline.came(at.side, total + 1, now, rows);
        }
        let waits = matches!(
            what,
            AppEvent::Received { .. } | AppEvent::Message { .. } | AppEvent::PeerClosed
        );
        if waits && direction.is_paused {
            direction.held.push_back(what);
            return false;
        }
        true
    }
}

impl Network for Pipes {
    fn now(&self) -> Nanoseconds {
        self.now
    }

    fn connect(&mut self, app: AppId, _: u32, _: u32, to_node: u32, to_port: u16) -> u32 {
        let connection = self.pipes.len() as u32;
        let server = self.listeners[&(to_node, to_port)];
        self.pipes.push(Pipe {
            apps: [app, server],
            opened: self.now,
            directions: [Direction::default(), Direction::default()],
            timeline: Timeline::default(),
        });
        let there = self.now + DELAY;
        self.tell(there, connection, Side::Server, AppEvent::Accepted);
        self.tell(there + DELAY, connection, Side::Client, AppEvent::Connected);
        connection
    }

    fn listen(&mut self, app: AppId, node: u32, port: u16, _: u32) {
        let before = self.listeners.insert((node, port), app);
        assert!(before.is_none(), "two listen at the same place");
    }

    fn write(&mut self, at: End, parts: Vec<Content>, message: Option<u64>, gap: Nanoseconds) {
        let now = self.now;
        let pipe = &mut self.pipes[at.connection as usize];
        let direction = &mut pipe.directions[index(at.side)];
        assert!(!direction.is_closed, "write after close");
        let from = direction.text.len() as u64 + 1;
        let bytes = parts.iter().map(Content::bytes).sum();
        for part in parts {
            part.copy(0, part.bytes(), &mut direction.text);
        }
        let total = direction.text.len() as u64;
        assert_eq!(total + 1, from + bytes, "contents have the bytes they say");
        let when = now.max(direction.last) + gap;
        direction.last = when;
        direction.calls.push((when, bytes));
        let rows = &mut self.truth.transactions;
        pipe.timeline.sent(at.side, total + 1, when, rows);
        let peer = other(at.side);
        self.tell(
            when + DELAY,
            at.connection,
            peer,
            AppEvent::Received { total },
        );
        if let Some(message) = message {
            self.tell(
                when + DELAY,
                at.connection,
                peer,
                AppEvent::Message { message },
            );
        }
        self.tell(when, at.connection, at.side, AppEvent::Written);
    }

    fn close(&mut self, at: End) {
        let now = self.now;
        let pipe = &mut self.pipes[at.connection as usize];
        let direction = &mut pipe.directions[index(at.side)];
        assert!(!direction.is_closed, "closed twice");
        direction.is_closed = true;
        let when = now.max(direction.last);
        let peer_too = pipe.directions[index(other(at.side))].is_closed;
        self.tell(
            when + DELAY,
            at.connection,
            other(at.side),
            AppEvent::PeerClosed,
        );
        if peer_too {
            for side in [Side::Client, Side::Server] {
                self.tell(when + DELAY, at.connection, side, AppEvent::Closed);
            }
        }
    }

    fn read(&mut self, at: End, is_reading: bool) {
        let now = self.now;
        let pipe = &mut self.pipes[at.connection as usize];
        let direction = &mut pipe.directions[index(other(at.side))];
        direction.is_paused = !is_reading;
        if is_reading {
            for what in std::mem::take(&mut direction.held) {
                self.tell(now, at.connection, at.side, what);
            }
        }
    }

    fn wake(&mut self, app: AppId, at: Nanoseconds, token: u64) {
        self.plan(at, Due::Woken(app, token));
    }

    fn random(&mut self, app: AppId) -> &mut Random {
        &mut self.randoms[app.0 as usize]
    }

    fn truth(&mut self) -> &mut Truth {
        &mut self.truth
    }

    fn exchanges(&mut self) -> &mut Exchanges {
        &mut self.exchanges
    }

    fn timeline(&mut self, connection: u32) -> &mut Timeline {
        &mut self.pipes[connection as usize].timeline
    }

    fn write_offset(&self, at: End) -> u64 {
        self.pipes[at.connection as usize].directions[index(at.side)]
            .text
            .len() as u64
            + 1
    }

    fn mss(&self, _: End) -> u32 {
        MSS
    }
}

/// Run all applications of a scenario until a time, or until no event remains.
pub fn run(scenario: &Scenario, until: Nanoseconds) -> Pipes {
    let scenario = Arc::new(scenario.clone());
    let mut apps = applications(&scenario);
    let mut pipes = Pipes {
        now: 0,
        counter: 0,
        due: BTreeMap::new(),
        listeners: BTreeMap::new(),
        pipes: Vec::new(),
        randoms: (0..apps.len() as u64)
            .map(|number| Random::new(7, number))
            .collect(),
        exchanges: Exchanges::default(),
        truth: Truth::default(),
    };
    for application in &mut apps {
        application.start(&mut pipes);
    }
    while let Some(((time, _), due)) = pipes.due.pop_first() {
        if time > until {
            break;
        }
        pipes.now = time;
        match due {
            Due::Woken(app, token) => apps[app.0 as usize].woken(&mut pipes, token),
            Due::Told(at, what) => {
                if pipes.pass(at, what) {
                    let app = pipes.pipes[at.connection as usize].apps[index(at.side)];
                    apps[app.0 as usize].on_event(&mut pipes, at, what);
                }
            }
        }
    }
    assert!(
        until < Nanoseconds::MAX || apps.iter().all(|application| application.is_done()),
        "an application waits for ever"
    );
    pipes
}

/// Return a law with one constant value.
pub fn constant(value: u64) -> Law {
    Law::Constant { value }
}

pub fn object(target: &str, content_type: &str, size: u64) -> Object {
    Object {
        target: target.into(),
        content_type: content_type.into(),
        size: constant(size),
        status: 200,
        request_fields: vec![],
        response_fields: vec![],
        processing_ns: 0,
    }
}

pub fn fetch(objects: &[u32], after: After) -> Fetch {
    Fetch {
        method: "GET".into(),
        objects: objects.into(),
        after,
        lane: None,
        whole_segments: false,
        split_after: None,
        split_gap_ns: 0,
    }
}

/// Return a plan: the base document, then the other objects after its arrival.
pub fn base_first(objects: u32) -> Vec<Fetch> {
    let others = (1..objects).map(|number| fetch(&[number], After::Complete { fetch: 0 }));
    [fetch(&[0], After::Start)]
        .into_iter()
        .chain(others)
        .collect()
}

/// Return a scenario with a browser on node 0 and a server on node 1. One visit fetches objects of 6651,
/// 3883, 1866 and 1128 bytes, with one connection per object.
pub fn scenario() -> Scenario {
    let gif = |number: u32, size| object(&format!("/{number}.gif"), "image/gif", size);
    let node = |name: &str, number| Node {
        name: name.into(),
        address: [10, 0, 0, number],
    };
    Scenario {
        seed: 1,
        duration_ns: None,
        // Fri, 01 May 1998 00:00:00 GMT.
        epoch_ns: 893_980_800_000_000_000,
        framing_bytes: 14,
        nodes: vec![node("client", 1), node("server", 2), node("hub", 3)],
        links: vec![],
        stacks: vec![],
        servers: vec![Server {
            node: 1,
            port: PORT,
            stack: 0,
            product: "reference_sim".into(),
            processing: constant(0),
            writes: Writes {
                head_alone: false,
                chunk_bytes: None,
                gap_ns: 0,
            },
            keep_alive: Some(KeepAlive {
                max_requests: None,
                timeout_ns: None,
            }),
            sizes_include_heads: false,
            min_head_bytes: 0,
            tls: None,
            http2: None,
        }],
        browsers: vec![browser()],
        transfers: vec![],
        proxies: vec![],
        pages: vec![Page {
            name: "page".into(),
            host: "www.example.com".into(),
            objects: vec![
                object("/", "text/html", 6651),
                gif(1, 3883),
                gif(2, 1866),
                gif(3, 1128),
            ],
        }],
        plans: vec![Plan {
            connections: None,
            persistent: false,
            pipelining: 1,
            keeps_connections: false,
            closes_with_last: false,
            fetches: base_first(4),
        }],
        taps: vec![],
        record: Record::default(),
    }
}

fn browser() -> Browser {
    Browser {
        node: 0,
        stack: 0,
        origin: Origin::Server(0),
        start_ns: 0,
        visits: vec![FIRST],
        forever: false,
        think: constant(0),
        thinks_before_fetches: false,
        parse_ns: 0,
        waits_for_close_ns: None,
        min_request_bytes: 0,
        http_version: HttpVersion::Http11,
        reading: None,
    }
}

/// Return the transactions with a response.
pub fn answered(pipes: &Pipes) -> Vec<&TransactionRow> {
    let rows = pipes.truth_now().transactions.iter();
    rows.filter(|row| row.response_last_received.is_some())
        .collect()
}
