//! Row of a transaction.

use tcptrace_http_messages::{Framing, Message, Opaque, StreamFacts, Transaction};
use trace_model::rows::{Framing as FramingWord, HttpVersion, Protocol, TransactionRow};

/// Return the row of transaction `index` of `flow`; its last ACK is added later.
#[must_use]
pub fn transaction_row(
    flow: u32,
    index: u32,
    transaction: Transaction,
    stream: Option<&StreamFacts>,
) -> TransactionRow {
    let complete = transaction.is_complete();
    let either = transaction
        .request
        .as_deref()
        .or(transaction.response.as_deref());
    let opaque = transaction.opaque;
    let mut row = TransactionRow {
        flow,
        index,
        version: either.map(|it| version(it.minor_version)),
        missing_bytes: missing(transaction.request.as_deref())
            .saturating_add(missing(transaction.response.as_deref())),
        continue_time: transaction
            .interim
            .filter(|interim| interim.status == 100)
            .map(|interim| interim.first.time_ns),
        interim_responses: transaction.interim.map_or(0, |interim| interim.count),
        reused_connection: index > 0,
        pipelined: transaction.pipelined,
        complete,
        ..TransactionRow::default()
    };
    if let Some(request) = transaction.request {
        row.take_request(*request);
    }
    if let Some(response) = transaction.response {
        row.take_response(*response);
    }
    if let Some(opaque) = opaque {
        row.take_opaque(opaque);
    }
    if let Some(stream) = stream {
        row.take_stream(stream);
    }
    row
}

/// Setters of the columns of one half of a transaction.
trait Halves {
    fn take_request(&mut self, request: Message);
    fn take_response(&mut self, response: Message);
    fn take_opaque(&mut self, opaque: Opaque);
    fn take_stream(&mut self, stream: &StreamFacts);
}

impl Halves for TransactionRow {
    fn take_request(&mut self, request: Message) {
        self.method = request.method.map(String::from);
        self.target = request.target.map(String::from);
        self.host = request.fields.host.map(String::from);
        self.referer = request.fields.referer.map(String::from);
        self.request_frame = Some(request.first.frame);
        self.request_last_frame = Some(request.last.frame);
        self.request_time = Some(request.first.time_ns);
        self.request_last_time = Some(request.last.time_ns);
        self.request_header_bytes = Some(request.header_bytes);
        self.request_body_bytes = Some(request.body.bytes);
        self.request_body_time = request.body.first.map(|first| first.time_ns);
        self.accept_encoding = request.fields.accept_encoding.map(String::from);
        self.is_conditional = request.fields.is_conditional;
        self.expects_continue = request.fields.expects_continue;
        self.request_close = request.has_close;
        self.request_keep_alive = request.has_keep_alive;
    }

    fn take_response(&mut self, response: Message) {
        self.status = response.status;
        self.response_first_frame = Some(response.first.frame);
        self.response_last_frame = Some(response.last.frame);
        self.response_first_time = Some(response.first.time_ns);
        self.response_last_time = Some(response.last.time_ns);
        self.response_header_bytes = Some(response.header_bytes);
        self.response_body_bytes = Some(response.body.bytes);
        self.response_header_wire_bytes = Some(response.header_wire_bytes());
        self.response_wire_bytes = Some(response.wire_bytes());
        self.first_record_time = (response.first_record)
            .and_then(|it| it.last)
            .map(|it| it.time_ns);
        self.first_record_bytes =
            (response.first_record).and_then(|it| u32::try_from(it.bytes).ok());
        self.response_framing = Some(framing_word(response.body.framing));
        self.content_type = response.fields.content_type.map(String::from);
        self.content_encoding = response.fields.content_encoding.map(String::from);
        self.server_software = response.fields.server.map(String::from);
        self.location = response.fields.location.map(String::from);
        self.etag = response.fields.etag.map(String::from);
        self.last_modified = response.fields.last_modified.map(String::from);
        self.cache_control = response.fields.cache_control.map(String::from);
        self.vary = response.fields.vary.map(String::from);
        self.response_close = response.has_close;
        self.response_keep_alive = response.has_keep_alive;
        self.body_digest = response.body.kept.map(|body| body.digest);
    }

    /// Set the columns of a transaction without HTTP: HTTP columns are null.
    fn take_opaque(&mut self, opaque: Opaque) {
        self.protocol = Protocol::Tls;
        self.version = None;
        self.request_header_bytes = None;
        self.response_header_bytes = None;
        self.response_framing = None;
        self.is_group = opaque.is_group;
    }

    /// Set the columns specific to HTTP/2.
    fn take_stream(&mut self, stream: &StreamFacts) {
        self.protocol = Protocol::H2;
        self.version = Some(HttpVersion::Http2);
        self.reused_connection = !stream.is_first;
        self.stream = Some(stream.id);
        self.is_pushed = stream.is_pushed;
        self.urgency = stream.urgency;
        self.has_trailers = stream.has_trailers;
        self.reset_by = stream.reset.map(|it| it.by);
        self.reset_code = stream.reset.map(|it| it.code);
        self.grpc_status = stream.grpc.and_then(|it| it.status);
        self.grpc_request_messages = stream.grpc.map(|it| it.request_messages);
        self.grpc_response_messages = stream.grpc.map(|it| it.response_messages);
        self.response_framing = None;
        self.response_wire_bytes = self.response_wire_bytes.map(|_| stream.response.bytes());
    }
}

fn version(minor: u8) -> HttpVersion {
    match minor {
        0 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}

fn missing(message: Option<&Message>) -> u64 {
    message.map_or(0, |it| it.missing_bytes)
}

fn framing_word(framing: Framing) -> FramingWord {
    match framing {
        Framing::NoBody => FramingWord::None,
        Framing::ContentLength(_) => FramingWord::ContentLength,
        Framing::Chunked => FramingWord::Chunked,
        Framing::UntilClose => FramingWord::UntilClose,
        Framing::Tunnel => FramingWord::Tunnel,
        Framing::Unknown => FramingWord::Unknown,
    }
}
