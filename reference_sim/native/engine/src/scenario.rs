//! What a simulation is made of, as Python hands it over (JSON): everything resolved, by index.

use serde::Deserialize;

use crate::http2::Http2;
use crate::stack::{Nanoseconds, Stack};
use crate::tls::Tls;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub seed: u64,
    /// The simulation stops here; none: when nothing is left to happen.
    pub duration_ns: Option<Nanoseconds>,
    /// Simulated time 0, in nanoseconds since the epoch: the clock of captures.
    pub epoch_ns: i64,
    /// Bytes that each link adds to an IP packet (14: Ethernet; 0: ns-2).
    pub framing_bytes: u32,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    pub stacks: Vec<Stack>,
    pub servers: Vec<Server>,
    pub browsers: Vec<Browser>,
    pub transfers: Vec<Transfer>,
    pub proxies: Vec<Proxy>,
    pub pages: Vec<Page>,
    pub plans: Vec<Plan>,
    /// Where frames are recorded.
    pub taps: Vec<Tap>,
    pub record: Record,
}

/// A host or a router.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    pub address: [u8; 4],
}

/// One direction of a link. Packets take the path with the fewest links.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    pub from: u32,
    pub to: u32,
    /// Bits a second; none: packets take no time to be sent.
    pub rate_bps: Option<u64>,
    pub delay_ns: Nanoseconds,
    /// What may wait besides the packet in service; more is dropped at the tail.
    pub queue: Queue,
    pub loss: Vec<Loss>,
    /// A client's SYN, and the request on it, is at the other end at once and takes no place: what
    /// ns-2's one-way agents do not send (Eggert 1999, section 4).
    #[serde(default)]
    pub opens_at_once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "limit")]
pub enum Queue {
    Unlimited,
    Packets(u32),
    Bytes(u64),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Loss {
    /// Each bit is wrong with this probability; a packet with a wrong bit is lost.
    BitErrors { rate: f64 },
    /// Each packet is lost with this probability.
    Packets { rate: f64 },
    /// Two states with a loss rate each, and the probabilities of leaving them, a packet at a
    /// time (Gilbert 1960; Elliott 1963).
    Bursts {
        good_to_bad: f64,
        bad_to_good: f64,
        loss_in_good: f64,
        loss_in_bad: f64,
    },
    /// These packets of the link, counted from 0, are lost.
    Numbered { packets: Vec<u64> },
    /// These data segments of each connection, counted from 0 in this direction, are lost once.
    DataSegments { segments: Vec<u64> },
    /// Segments of single connections are lost, as a capture showed them to be.
    Segments { segments: Vec<LostSegment> },
}

/// What carries this place of a connection's stream is lost the first times that it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct LostSegment {
    /// By the order in which connections are opened, from 0.
    pub connection: u32,
    /// The SYN is 0, the first byte 1.
    pub offset: u64,
    pub times: u32,
}

/// A number drawn anew each time, rounded to an integer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Law {
    Constant {
        value: u64,
    },
    Uniform {
        low: u64,
        high: u64,
    },
    Exponential {
        mean: f64,
    },
    /// `scale` is the least value; what exceeds `max` becomes `max`.
    Pareto {
        scale: f64,
        shape: f64,
        max: u64,
    },
}

/// An HTTP server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub node: u32,
    pub port: u16,
    pub stack: u32,
    pub product: String,
    /// From the end of a request to the first write of its response.
    pub processing: Law,
    pub writes: Writes,
    pub keep_alive: Option<KeepAlive>,
    /// Whether the sizes of objects are those of whole responses, heads included.
    pub sizes_include_heads: bool,
    /// The head is padded to at least this many bytes.
    pub min_head_bytes: u32,
    /// None: its connections are in clear.
    pub tls: Option<Tls>,
    /// None: its connections speak HTTP/1.
    pub http2: Option<Http2>,
}

/// How a response goes into the socket: write by write.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// The head is a write of its own.
    pub head_alone: bool,
    /// Writes of so many bytes, the head among them unless it is alone; none: one write.
    pub chunk_bytes: Option<u64>,
    /// Between one write that was taken and the next one.
    pub gap_ns: Nanoseconds,
}

/// None on a server: it closes after each response.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepAlive {
    pub max_requests: Option<u32>,
    pub timeout_ns: Option<Nanoseconds>,
}

/// Something that fetches pages, one visit after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Browser {
    pub node: u32,
    pub stack: u32,
    /// Index of a server, or of a proxy.
    pub origin: Origin,
    pub start_ns: Nanoseconds,
    pub visits: Vec<Visit>,
    /// After the last visit comes the first one again, until the simulation's end.
    pub forever: bool,
    /// Pause before the next visit (and before each fetch, if `thinks_before_fetches`).
    pub think: Law,
    pub thinks_before_fetches: bool,
    /// From what an object is known by to the request for it.
    pub parse_ns: Nanoseconds,
    /// The next visit waits until all connections of the last one are closed, looked for at
    /// whole multiples of this; none: it does not.
    pub waits_for_close_ns: Option<Nanoseconds>,
    /// Requests are padded to at least so many bytes.
    pub min_request_bytes: u32,
    pub http_version: HttpVersion,
    pub reading: Option<SlowReading>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum HttpVersion {
    #[serde(rename = "HTTP/1.0")]
    Http10,
    #[serde(rename = "HTTP/1.1")]
    Http11,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "index")]
pub enum Origin {
    Server(u32),
    Proxy(u32),
}

/// The client leaves data in its socket: after `after_bytes` of a response it pauses once.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowReading {
    pub after_bytes: u64,
    pub pause_ns: Nanoseconds,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    pub page: u32,
    pub plan: u32,
    /// Pause between the visit before it and this one; none: as the browser thinks.
    pub think_ns: Option<Nanoseconds>,
}

/// A page; object 0 is the base document. Sizes are drawn anew at each visit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub name: String,
    pub host: String,
    pub objects: Vec<Object>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub target: String,
    pub content_type: String,
    /// Bytes of the body, or of the whole response (`sizes_include_heads`).
    pub size: Law,
    pub status: u16,
    /// More lines of the request, or of the response, without line ends.
    pub request_fields: Vec<String>,
    pub response_fields: Vec<String>,
    /// Taken by the server beyond its `processing` (making a delta, say).
    pub processing_ns: Nanoseconds,
}

/// How a page is fetched: the requests, what each waits for, and what it may travel on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// At most so many connections at once; none: as many as there are requests.
    pub connections: Option<u32>,
    /// A connection carries more than one request.
    pub persistent: bool,
    /// Requests that may be outstanding on a connection.
    pub pipelining: u32,
    /// Connections stay open for the next visit.
    pub keeps_connections: bool,
    /// The last request that a connection will carry asks the server to close it, where the
    /// plan tells which one that is; else the client closes when the visit is over.
    #[serde(default)]
    pub closes_with_last: bool,
    pub fetches: Vec<Fetch>,
}

/// One request; with several objects their bodies come as one response.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    pub method: String,
    pub objects: Vec<u32>,
    pub after: After,
    /// The connection it must use, by number from 0; none: the first that is free.
    pub lane: Option<u32>,
    /// The response is rounded to whole segments, the nearest number of at least one.
    pub whole_segments: bool,
    /// The request goes out in two writes: so many bytes, the rest one write and `split_gap_ns` later.
    pub split_after: Option<u32>,
    pub split_gap_ns: Nanoseconds,
}

/// What a fetch waits for; fetches are named by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum After {
    Start,
    /// All of the response has come.
    Complete {
        fetch: u32,
    },
    /// So many bytes of the response's body have come: the object is linked to there.
    Bytes {
        fetch: u32,
        bytes: u64,
    },
    /// Its request was written.
    Requested {
        fetch: u32,
    },
}

/// Files one after the other, from a server to this client (FTP).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub node: u32,
    pub stack: u32,
    /// The other end, and its stack.
    pub server_node: u32,
    pub server_stack: u32,
    pub start_ns: Nanoseconds,
    pub files: Vec<u64>,
    /// After the last file comes the first one again.
    pub forever: bool,
    /// With a control connection and its commands (RFC 959); else the data connections alone.
    pub control: bool,
    /// Each command waits for the reply to the one before (RFC 959, section 5.4); else they go
    /// out together, as Bhalekar 2003, figure 1.2, counts round trips.
    #[serde(default)]
    pub waits_for_replies: bool,
    /// All files over one data connection, each after the other is delivered.
    pub one_connection: bool,
}

/// Splits connections: requests come in by one stack and go out to a server by another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    pub node: u32,
    pub port: u16,
    /// Towards the browsers.
    pub stack: u32,
    pub server: u32,
    /// Towards the server.
    pub upstream_stack: u32,
    pub upstream_connections: Option<u32>,
    pub upstream_persistent: bool,
    /// The page is fetched by this plan as soon as its base document is asked for, and objects
    /// are pushed to the browser as answers to its requests.
    pub prefetch_plan: Option<u32>,
}

/// Where packets are seen: a node's interfaces, or a link's start.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "index")]
pub enum Tap {
    Node(u32),
    Link(u32),
}

/// What is kept beside the results; nothing of it is needed to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Every connection, transaction and retrieval; else only those that are not over.
    #[serde(default = "yes")]
    pub transactions: bool,
    /// Every packet: sent, queued, received or dropped.
    pub packets: bool,
    /// Every change of a sender's windows.
    pub windows: bool,
    /// Every change of a queue's length.
    pub queues: bool,
    /// What every sender waited for.
    pub limits: bool,
}

impl Default for Record {
    fn default() -> Self {
        Record {
            transactions: true,
            packets: false,
            windows: false,
            queues: false,
            limits: false,
        }
    }
}

fn yes() -> bool {
    true
}
