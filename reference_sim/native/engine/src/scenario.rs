//! The input of a simulation, as Python passes it (JSON). All references are resolved to indices.

use serde::Deserialize;

use crate::http2::Http2;
use crate::stack::{Nanoseconds, Stack};
use crate::tls::Tls;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub seed: u64,
    /// End of the simulation. None: run until no event remains.
    pub duration_ns: Option<Nanoseconds>,
    /// Simulated time 0, in nanoseconds since the epoch: the clock of captures.
    pub epoch_ns: i64,
    /// Bytes that each link adds to an IP packet (Ethernet: 14; ns-2: 0).
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
    /// Places where frames are recorded.
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
    /// Bits per second. None: serialization takes no time.
    pub rate_bps: Option<u64>,
    pub delay_ns: Nanoseconds,
    /// Queue limit besides the packet in service. The queue drops further packets at its tail.
    pub queue: Queue,
    pub loss: Vec<Loss>,
    /// True if a client's SYN and its request arrive at once and use no capacity. The one-way agents of ns-2
    /// do not send them (Eggert 1999, section 4).
    #[serde(default)]
    pub opens_at_once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "limit")]
pub enum Queue {
    Unlimited,
    Packets(u32),
    Bytes(u64),
    Codel(CodelLimits),
}

/// A queue with controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelLimits {
    /// Maximum number of packets. The queue drops further packets at its tail.
    pub packets: u32,
    /// True if ECN-capable packets are marked instead of dropped (RFC 3168).
    pub marks: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Loss {
    /// Bit errors with this probability per bit. A packet with a bit error is lost.
    BitErrors { rate: f64 },
    /// Packet losses with this probability per packet.
    Packets { rate: f64 },
    /// Two states, each with a loss rate and a leaving probability per packet (Gilbert 1960; Elliott 1963).
    Bursts {
        good_to_bad: f64,
        bad_to_good: f64,
        loss_in_good: f64,
        loss_in_bad: f64,
    },
    /// Loss of these packets of the link, counted from 0.
    Numbered { packets: Vec<u64> },
    /// One loss of these data segments of each connection, counted from 0 per direction.
    DataSegments { segments: Vec<u64> },
    /// Losses of single connections' segments, taken from a capture.
    Segments { segments: Vec<LostSegment> },
}

/// A place in a connection's stream. Its first `times` carriers are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct LostSegment {
    /// Number of the connection in opening order, counted from 0.
    pub connection: u32,
    /// Stream offset: the SYN is 0, the first byte 1.
    pub offset: u64,
    pub times: u32,
}

/// A distribution of numbers, drawn each time and rounded to an integer.
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
    /// `scale` is the minimum. Values above `max` become `max`.
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
    /// Delay from the end of a request to the first write of its response.
    pub processing: Law,
    pub writes: Writes,
    pub keep_alive: Option<KeepAlive>,
    /// True if object sizes are sizes of whole responses with heads.
    pub sizes_include_heads: bool,
    /// Minimum length of the head, reached by padding.
    pub min_head_bytes: u32,
    /// None for clear-text connections.
    pub tls: Option<Tls>,
    /// None for HTTP/1.
    pub http2: Option<Http2>,
}

/// The write calls of a response.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// True if the head is a separate write.
    pub head_alone: bool,
    /// Length of a write, with the head unless it is separate. None: one write.
    pub chunk_bytes: Option<u64>,
    /// Delay between a taken write and the next one.
    pub gap_ns: Nanoseconds,
}

/// Keep-alive limits. A server without them closes after each response.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepAlive {
    pub max_requests: Option<u32>,
    pub timeout_ns: Option<Nanoseconds>,
}

/// A client that fetches pages, visit after visit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Browser {
    pub node: u32,
    pub stack: u32,
    /// Index of a server or a proxy.
    pub origin: Origin,
    pub start_ns: Nanoseconds,
    pub visits: Vec<Visit>,
    /// True if the visits repeat until the simulation's end.
    pub forever: bool,
    /// Pause before the next visit, and before each fetch with `thinks_before_fetches`.
    pub think: Law,
    pub thinks_before_fetches: bool,
    /// Delay from the discovery of an object to its request.
    pub parse_ns: Nanoseconds,
    /// Interval of the check for closed connections. The next visit waits until all connections of the last
    /// one are closed. None: no wait.
    pub waits_for_close_ns: Option<Nanoseconds>,
    /// Minimum length of a request, reached by padding.
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

/// A client that leaves data in its socket. The client pauses once after `after_bytes` of a response.
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
    /// Pause between the previous visit and this one. None: the browser's `think`.
    pub think_ns: Option<Nanoseconds>,
}

/// A page. Object 0 is the base document. Sizes are redrawn at each visit.
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
    /// Length of the body, or of the whole response (`sizes_include_heads`).
    pub size: Law,
    pub status: u16,
    /// Additional request lines, without line ends.
    pub request_fields: Vec<String>,
    /// Additional response lines, without line ends.
    pub response_fields: Vec<String>,
    /// Server time beyond `processing`, such as the computation of a delta.
    pub processing_ns: Nanoseconds,
}

/// The fetching of a page: requests, their conditions, and their connections.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Maximum number of concurrent connections. None: as many as requests.
    pub connections: Option<u32>,
    /// True if a connection carries more than one request.
    pub persistent: bool,
    /// Maximum number of outstanding requests per connection.
    pub pipelining: u32,
    /// True if connections stay open for the next visit.
    pub keeps_connections: bool,
    /// True if the last request of a connection asks the server to close. If the plan does not identify the
    /// last request, the client closes after the visit.
    #[serde(default)]
    pub closes_with_last: bool,
    pub fetches: Vec<Fetch>,
}

/// One request. With several objects, their bodies form one response.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    pub method: String,
    pub objects: Vec<u32>,
    pub after: After,
    /// Number of the required connection, counted from 0. None: the first free connection.
    pub lane: Option<u32>,
    /// True if the response is rounded to the nearest number of whole segments, at least one.
    pub whole_segments: bool,
    /// Length of the first of two writes of the request. The second write follows `split_gap_ns` later.
    pub split_after: Option<u32>,
    pub split_gap_ns: Nanoseconds,
}

/// The condition of a fetch. Fetches are identified by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum After {
    Start,
    /// The complete response of the fetch.
    Complete {
        fetch: u32,
    },
    /// A number of body bytes of the response, which contain the link to the object.
    Bytes {
        fetch: u32,
        bytes: u64,
    },
    /// The written request of the fetch.
    Requested {
        fetch: u32,
    },
}

/// Files in sequence from a server to this client (FTP).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub node: u32,
    pub stack: u32,
    /// Node of the server.
    pub server_node: u32,
    /// Stack of the server.
    pub server_stack: u32,
    pub start_ns: Nanoseconds,
    pub files: Vec<u64>,
    /// True if the files repeat.
    pub forever: bool,
    /// True with a control connection and its commands (RFC 959), false for data connections alone.
    pub control: bool,
    /// True if each command waits for the previous reply (RFC 959, section 5.4). Otherwise the commands go
    /// out together, as Bhalekar 2003, figure 1.2, counts round trips.
    #[serde(default)]
    pub waits_for_replies: bool,
    /// True if one data connection carries all files, each after the previous delivery.
    pub one_connection: bool,
}

/// A proxy that splits connections: requests arrive by one stack and go to a server by another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    pub node: u32,
    pub port: u16,
    /// Stack towards the browsers.
    pub stack: u32,
    pub server: u32,
    /// Stack towards the server.
    pub upstream_stack: u32,
    pub upstream_connections: Option<u32>,
    pub upstream_persistent: bool,
    /// Plan of the prefetch, which starts with the request for the base document. Objects go to the browser
    /// as responses to its requests.
    pub prefetch_plan: Option<u32>,
}

/// A place where packets are seen: a node's interfaces, or the start of a link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "index")]
pub enum Tap {
    Node(u32),
    Link(u32),
}

/// The records kept besides the results. The simulation needs none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// True to keep every connection, transaction and retrieval, false to keep only unfinished ones.
    #[serde(default = "yes")]
    pub transactions: bool,
    /// True to keep the sending, queueing, reception or drop of every packet.
    pub packets: bool,
    /// True to keep every change of a sender's windows.
    pub windows: bool,
    /// True to keep every change of a queue's length.
    pub queues: bool,
    /// True to keep the limits of every sender.
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
