//! The truth as tables. reference_sim/truth.py declares their columns.

use reference_sim_engine::stack::Nanoseconds;
use reference_sim_engine::truth::{Drop, Limit, SendReason, Side, Truth};
use trace_model::column::{Column, Columns, Lists, Values};

/// Return a table of the truth, with times counted from `epoch_ns`. Return None if the table is unknown.
pub fn table(truth: &Truth, name: &str, epoch_ns: i64) -> Option<Columns> {
    Some(match name {
        "connections" => connections(truth, epoch_ns),
        "transactions" => transactions(truth, epoch_ns),
        "retrievals" => retrievals(truth, epoch_ns),
        "packets" => packets(truth, epoch_ns),
        "hops" => hops(truth, epoch_ns),
        "windows" => windows(truth, epoch_ns),
        "queues" => queues(truth, epoch_ns),
        "limits" => limits(truth, epoch_ns),
        "frames" => frames(truth, epoch_ns),
        "links" => links(truth),
        _ => return None,
    })
}

/// Return the words of an enumeration, in the order of their codes. Return None if the enumeration is
/// unknown.
pub fn words(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "sides" => SIDES,
        "limits" => LIMITS,
        "send_reasons" => SEND_REASONS,
        "drops" => DROPS,
        _ => return None,
    })
}

const SIDES: &[&str] = &["client", "server"];
const LIMITS: &[&str] = &[
    "application",
    "send_buffer",
    "handshake",
    "slow_start",
    "congestion_avoidance",
    "receive_window",
    "zero_window",
    "max_window",
    "nagle",
    "fast_recovery",
    "timeout",
    "pacing",
    "scheduler",
];
const SEND_REASONS: &[&str] = &[
    "new",
    "ack",
    "delayed_ack",
    "window_update",
    "retransmission_timeout",
    "fast_retransmit",
    "recovery",
    "tail_loss_probe",
    "window_probe",
    "reset",
];
const DROPS: &[&str] = &[
    "queue_full",
    "bit_error",
    "packet_loss",
    "burst_loss",
    "scripted",
    "codel",
];

fn side(side: Side) -> u8 {
    match side {
        Side::Client => 0,
        Side::Server => 1,
    }
}

fn limit(limit: Limit) -> u8 {
    match limit {
        Limit::Application => 0,
        Limit::SendBuffer => 1,
        Limit::Handshake => 2,
        Limit::SlowStart => 3,
        Limit::CongestionAvoidance => 4,
        Limit::ReceiveWindow => 5,
        Limit::ZeroWindow => 6,
        Limit::MaxWindow => 7,
        Limit::Nagle => 8,
        Limit::FastRecovery => 9,
        Limit::Timeout => 10,
        Limit::Pacing => 11,
        Limit::Scheduler => 12,
    }
}

fn send_reason(reason: SendReason) -> u8 {
    match reason {
        SendReason::New => 0,
        SendReason::Ack => 1,
        SendReason::DelayedAck => 2,
        SendReason::WindowUpdate => 3,
        SendReason::RetransmissionTimeout => 4,
        SendReason::FastRetransmit => 5,
        SendReason::Recovery => 6,
        SendReason::TailLossProbe => 7,
        SendReason::WindowProbe => 8,
        SendReason::Reset => 9,
    }
}

fn drop_code(drop: Drop) -> u8 {
    match drop {
        Drop::QueueFull => 0,
        Drop::BitError => 1,
        Drop::PacketLoss => 2,
        Drop::BurstLoss => 3,
        Drop::Scripted => 4,
        Drop::Codel => 5,
    }
}

/// A builder for the columns of a table of rows.
struct Builder<'a, R> {
    rows: &'a [R],
    epoch_ns: i64,
    columns: Vec<Column>,
}

impl<'a, R> Builder<'a, R> {
    fn new(rows: &'a [R], epoch_ns: i64) -> Self {
        Builder {
            rows,
            epoch_ns,
            columns: Vec::new(),
        }
    }

    fn add(mut self, name: &'static str, values: Values, validity: Option<Vec<bool>>) -> Self {
        self.columns.push(Column {
            name,
            json_name: None,
            values,
            validity,
        });
        self
    }

    fn each<T>(&self, value: impl Fn(&R) -> T) -> Vec<T> {
        self.rows.iter().map(value).collect()
    }

    fn u16(self, name: &'static str, value: impl Fn(&R) -> u16) -> Self {
        let values = Values::U16(self.each(value));
        self.add(name, values, None)
    }

    fn u32(self, name: &'static str, value: impl Fn(&R) -> u32) -> Self {
        let values = Values::U32(self.each(value));
        self.add(name, values, None)
    }

    fn u64(self, name: &'static str, value: impl Fn(&R) -> u64) -> Self {
        let values = Values::U64(self.each(value));
        self.add(name, values, None)
    }

    fn maybe_u64(self, name: &'static str, value: impl Fn(&R) -> Option<u64>) -> Self {
        let values = Values::U64(self.each(|row| value(row).unwrap_or_default()));
        let validity = self.each(|row| value(row).is_some());
        self.add(name, values, Some(validity))
    }

    fn bool(self, name: &'static str, value: impl Fn(&R) -> bool) -> Self {
        let values = Values::Bool(self.each(value));
        self.add(name, values, None)
    }

    fn text(self, name: &'static str, value: impl Fn(&R) -> &str) -> Self {
        let mut lists = Lists::default();
        for row in self.rows {
            lists.push(value(row).as_bytes());
        }
        self.add(name, Values::Text(lists), None)
    }

    fn code(
        self,
        name: &'static str,
        words: &'static [&'static str],
        value: impl Fn(&R) -> u8,
    ) -> Self {
        let values = Values::Enum(self.each(value), words);
        self.add(name, values, None)
    }

    fn maybe_code(
        self,
        name: &'static str,
        words: &'static [&'static str],
        value: impl Fn(&R) -> Option<u8>,
    ) -> Self {
        let values = Values::Enum(self.each(|row| value(row).unwrap_or_default()), words);
        let validity = self.each(|row| value(row).is_some());
        self.add(name, values, Some(validity))
    }

    fn time(self, name: &'static str, value: impl Fn(&R) -> Nanoseconds) -> Self {
        let epoch = self.epoch_ns;
        let values = self.each(|row| epoch.saturating_add_unsigned(value(row)));
        self.add(name, Values::Time(values), None)
    }

    fn maybe_time(self, name: &'static str, value: impl Fn(&R) -> Option<Nanoseconds>) -> Self {
        let epoch = self.epoch_ns;
        let values = self.each(|row| value(row).map_or(0, |at| epoch.saturating_add_unsigned(at)));
        let validity = self.each(|row| value(row).is_some());
        self.add(name, Values::Time(values), Some(validity))
    }

    fn duration(self, name: &'static str, value: impl Fn(&R) -> Nanoseconds) -> Self {
        let values = self.each(|row| i64::try_from(value(row)).unwrap_or(i64::MAX));
        self.add(name, Values::Duration(values), None)
    }

    fn maybe_duration(self, name: &'static str, value: impl Fn(&R) -> Option<Nanoseconds>) -> Self {
        let nanoseconds = |row: &R| i64::try_from(value(row).unwrap_or_default());
        let values = self.each(|row| nanoseconds(row).unwrap_or(i64::MAX));
        let validity = self.each(|row| value(row).is_some());
        self.add(name, Values::Duration(values), Some(validity))
    }

    fn done(self) -> Columns {
        Columns {
            rows: self.rows.len(),
            columns: self.columns,
        }
    }
}

fn connections(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.connections, epoch_ns)
        .u32("connection", |row| row.connection)
        .u32("client_node", |row| row.client_node)
        .u32("server_node", |row| row.server_node)
        .u16("client_port", |row| row.client_port)
        .u16("server_port", |row| row.server_port)
        .time("opened", |row| row.opened)
        .maybe_time("established", |row| row.established)
        .maybe_time("closed", |row| row.closed)
        .done()
}

fn transactions(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.transactions, epoch_ns)
        .u32("connection", |row| row.connection)
        .u32("index", |row| row.index)
        .u32("browser", |row| row.browser)
        .u32("visit", |row| row.visit)
        .u32("fetch", |row| row.fetch)
        .text("method", |row| &row.method)
        .text("target", |row| &row.target)
        .u16("status", |row| row.status)
        .u64("request_bytes", |row| row.request_bytes)
        .u64("response_head_bytes", |row| row.response_head_bytes)
        .u64("response_body_bytes", |row| row.response_body_bytes)
        .u64("request_offset", |row| row.request_offset)
        .maybe_u64("response_offset", |row| row.response_offset)
        .time("wanted", |row| row.wanted)
        .time("written", |row| row.written)
        .maybe_time("request_first_sent", |row| row.request_first_sent)
        .maybe_time("request_received", |row| row.request_received)
        .maybe_time("response_written", |row| row.response_written)
        .maybe_time("response_first_received", |row| row.response_first_received)
        .maybe_time("response_last_received", |row| row.response_last_received)
        .done()
}

fn retrievals(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.retrievals, epoch_ns)
        .u32("client", |row| row.client)
        .bool("is_transfer", |row| row.is_transfer)
        .u32("visit", |row| row.visit)
        .time("start", |row| row.start)
        .maybe_time("end", |row| row.end)
        .u64("bytes", |row| row.bytes)
        .done()
}

fn packets(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.packets, epoch_ns)
        .u64("packet", |row| row.packet)
        .u32("connection", |row| row.connection)
        .code("side", SIDES, |row| side(row.side))
        .u64("seq", |row| row.seq)
        .u64("ack", |row| row.ack)
        .u32("payload_bytes", |row| row.payload)
        .u16("flags", |row| row.flags)
        .u32("packet_bytes", |row| row.bytes)
        .u32("window_bytes", |row| row.window)
        .code("reason", SEND_REASONS, |row| send_reason(row.reason))
        .bool("is_retransmission", |row| row.is_retransmission)
        .time("sent", |row| row.sent)
        .maybe_time("received", |row| row.received)
        .done()
}

fn hops(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.hops, epoch_ns)
        .u64("packet", |row| row.packet)
        .u32("link", |row| row.link)
        .time("enqueued", |row| row.enqueued)
        .maybe_time("dequeued", |row| row.dequeued)
        .maybe_code("drop", DROPS, |row| row.drop.map(drop_code))
        .done()
}

fn windows(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.windows, epoch_ns)
        .time("time", |row| row.time)
        .u32("connection", |row| row.connection)
        .code("side", SIDES, |row| side(row.side))
        .u64("cwnd", |row| row.cwnd)
        .u64("ssthresh", |row| row.ssthresh)
        .u64("flight_bytes", |row| row.flight)
        .u64("receive_window", |row| row.receive_window)
        .maybe_duration("smoothed_rtt", |row| row.smoothed_rtt)
        .duration("retransmission_timeout", |row| row.retransmission_timeout)
        .done()
}

fn queues(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.queues, epoch_ns)
        .time("time", |row| row.time)
        .u32("link", |row| row.link)
        .u32("packets", |row| row.packets)
        .u64("bytes", |row| row.bytes)
        .done()
}

fn limits(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.limits, epoch_ns)
        .time("time", |row| row.time)
        .u32("connection", |row| row.connection)
        .code("side", SIDES, |row| side(row.side))
        .code("limit", LIMITS, |row| limit(row.limit))
        .u64("next", |row| row.next)
        .done()
}

fn frames(truth: &Truth, epoch_ns: i64) -> Columns {
    Builder::new(&truth.frames, epoch_ns)
        .u32("connection", |row| row.connection)
        .u32("index", |row| row.index)
        .u64("offset", |row| row.offset)
        .u64("end", |row| row.end)
        .time("ready", |row| row.ready)
        .time("written", |row| row.written)
        .bool("is_held_by_stream", |row| {
            row.hold.is_some_and(|hold| hold.is_of_stream)
        })
        .maybe_time("held_since", |row| row.hold.map(|hold| hold.since))
        .maybe_time("held_until", |row| row.hold.and_then(|hold| hold.until))
        .done()
}

fn links(truth: &Truth) -> Columns {
    let numbered: Vec<_> = (0..).zip(&truth.links).collect();
    Builder::new(&numbered, 0)
        .u32("link", |(number, _)| *number)
        .u64("packets", |(_, row)| row.packets)
        .u64("bytes", |(_, row)| row.bytes)
        .u64("drops", |(_, row)| row.drops)
        .duration("busy", |(_, row)| row.busy)
        .done()
}
