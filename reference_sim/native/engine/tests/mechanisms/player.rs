//! A player of scripts: feeds a [`Connection`] with a script's input, and compares the output.

use std::collections::VecDeque;
use std::sync::Arc;

use reference_sim_engine::segment::{flags, Segment};
use reference_sim_engine::sharing::fast_open::{Cookies, FastOpen, Kept};
use reference_sim_engine::sharing::HostPair;
use reference_sim_engine::stack::{Nanoseconds, Stack};
use reference_sim_engine::tcp::Connection;
use reference_sim_engine::truth::SendReason;

use crate::script::{Action, Expected, Script, Step};

/// Limit of repeated timeouts at one moment. More of them are a fault.
const TIMEOUTS_AT_ONCE: u32 = 100;

struct Sent {
    time: Nanoseconds,
    segment: Segment,
    reason: SendReason,
}

struct Player<'a> {
    stack: &'a Arc<Stack>,
    connection: Option<Connection>,
    now: Nanoseconds,
    /// True if the application acts first: no segment is sent before its turn at this moment.
    holds: bool,
    sent: VecDeque<Sent>,
    events: VecDeque<String>,
    /// End of the peer's last segment.
    peer: u64,
    /// True once the peer's SYN arrived.
    was_opened: bool,
}

/// Play a script. Return the first difference as an error.
pub fn play(script: &Script) -> Result<(), String> {
    let mut player = Player {
        stack: &script.stack,
        connection: None,
        now: 0,
        holds: false,
        sent: VecDeque::new(),
        events: VecDeque::new(),
        peer: 0,
        was_opened: false,
    };
    for step in &script.steps {
        let told = player.step(step);
        told.map_err(|problem| format!("line {}: {problem}", step.line))?;
    }
    player.nothing_more()
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Action::Expect(expected) = &step.action {
            self.run_until(step.time + step.tolerance, true)?;
            return self.expect(step, expected);
        }
        let joins = self.holds && step.time == self.now && step.action.is_by_the_application();
        if !joins {
            self.run_until(step.time, false)?;
        }
        match &step.action {
            Action::Event(name) => return self.expect_event(name),
            Action::State(state) => return self.expect_state(state),
            Action::Quiet => return self.nothing_more(),
            _ => self.nothing_more()?,
        }
        self.now = step.time;
        self.act(&step.action)?;
        let tells_first = self.connection()?.tells_before_sending();
        self.holds = match step.action {
            Action::Inject { .. } => tells_first,
            // A SYN waits for data that the application writes at once.
            Action::Connect(kept) => kept.is_some(),
            _ => false,
        };
        if self.holds {
            self.collect_events();
        } else {
            self.collect();
        }
        Ok(())
    }

    /// Apply an external event.
    fn act(&mut self, action: &Action) -> Result<(), String> {
        let now = self.now;
        match action {
            Action::Connect(kept) => self.connection = Some(self.connect(*kept)),
            Action::Accept => self.connection = Some(Connection::accept(self.stack)),
            Action::Write { bytes, taken } => {
                let took = self.write(*bytes)?;
                if taken.is_some_and(|taken| taken != took) {
                    return Err(format!("{took} bytes were taken"));
                }
            }
            Action::SetReading(is_reading) => self.connection()?.set_reading(*is_reading, now),
            Action::Close => self.connection()?.close(now),
            Action::Abort => self.connection()?.abort(),
            Action::Inject { segment, is_placed } => {
                let mut segment = *segment;
                if !is_placed {
                    segment.seq = self.peer;
                }
                self.peer = self.peer.max(segment.end());
                self.open_fast(&segment)?;
                self.connection()?.receive(&segment, now);
            }
            Action::Expect(_) | Action::Event(_) | Action::State(_) | Action::Quiet => {}
        }
        Ok(())
    }

    fn connect(&self, kept: Option<Kept>) -> Connection {
        let mut connection = Connection::connect(self.stack);
        if self.stack.fast_open {
            let fast_open = kept.map_or(FastOpen::Asks, FastOpen::Knows);
            connection.open_fast(fast_open, self.now);
        }
        connection
    }

    /// Handle the first SYN of a client. The script's hosts have the numbers 0 and 1.
    fn open_fast(&mut self, segment: &Segment) -> Result<(), String> {
        let hosts = HostPair {
            local: 1,
            remote: 0,
        };
        let is_first = segment.has(flags::SYN) && !segment.has(flags::ACK) && !self.was_opened;
        let answer = Cookies::answer(hosts, segment).filter(|_| is_first && self.stack.fast_open);
        if let Some(fast_open) = answer {
            let now = self.now;
            self.connection()?.open_fast(fast_open, now);
        }
        self.was_opened |= is_first;
        Ok(())
    }

    /// Write bytes. The stack can take a write in steps, and send after each step.
    fn write(&mut self, bytes: u64) -> Result<u64, String> {
        let mut took = 0;
        while took < bytes {
            let now = self.now;
            let step = self.connection()?.write(bytes - took, now);
            if step == 0 {
                break;
            }
            took += step;
            self.collect();
        }
        Ok(took)
    }

    fn connection(&mut self) -> Result<&mut Connection, String> {
        self.connection
            .as_mut()
            .ok_or_else(|| "neither connect nor accept before".into())
    }

    /// Run the timers up to this time. With `stops`, stop after the first sent segment.
    fn run_until(&mut self, end: Nanoseconds, stops: bool) -> Result<(), String> {
        if std::mem::take(&mut self.holds) {
            self.collect();
        }
        let mut at_once = 0;
        while !stops || self.sent.is_empty() {
            let deadline = self.connection.as_ref().and_then(Connection::deadline);
            let Some(deadline) = deadline.filter(|deadline| *deadline <= end) else {
                return Ok(());
            };
            at_once = if deadline > self.now { 0 } else { at_once + 1 };
            if at_once > TIMEOUTS_AT_ONCE {
                return Err(format!("timers without end at {}", shown(self.now)));
            }
            self.now = self.now.max(deadline);
            let now = self.now;
            self.connection()?.timeout(now);
            self.collect();
        }
        Ok(())
    }

    /// Collect the sent segments and the application's events.
    fn collect(&mut self) {
        let now = self.now;
        let Some(connection) = self.connection.as_mut() else {
            return;
        };
        while let Some((segment, reason)) = connection.transmit(now) {
            self.sent.push_back(Sent {
                time: now,
                segment,
                reason,
            });
        }
        self.collect_events();
    }

    fn collect_events(&mut self) {
        while let Some(event) = self.connection.as_mut().and_then(Connection::event) {
            self.events.push_back(kebab(&format!("{event:?}")));
        }
    }

    fn expect(&mut self, step: &Step, expected: &Expected) -> Result<(), String> {
        let sent = self.sent.pop_front().ok_or("nothing was sent")?;
        let found = told(&sent);
        if sent.time.abs_diff(step.time) > step.tolerance {
            return Err(format!("at another time: {found}"));
        }
        if differs(&sent, expected) {
            return Err(format!("another segment: {found}"));
        }
        Ok(())
    }

    fn expect_event(&mut self, name: &str) -> Result<(), String> {
        let all: Vec<String> = self.events.drain(..).collect();
        if all.iter().any(|event| event == name) {
            return Ok(());
        }
        Err(format!("told was: {all:?}"))
    }

    fn expect_state(&mut self, state: &[(String, String)]) -> Result<(), String> {
        let connection = self.connection()?;
        let sender = connection.sender();
        for (name, value) in state {
            let found = match name.as_str() {
                "cwnd" => sender.window.cwnd.to_string(),
                "ssthresh" => sender.window.ssthresh.to_string(),
                "flight" => sender.flight().to_string(),
                "srtt" => sender
                    .round_trip
                    .smoothed()
                    .map_or("none".into(), milliseconds),
                "rto" => milliseconds(
                    sender
                        .round_trip
                        .timeout(&connection.stack().retransmission),
                ),
                "mss" => connection.mss().to_string(),
                "closed" => connection.is_closed().to_string(),
                "state" => sender.model_state().map_or("none".into(), name_of),
                "limit" => kebab(&format!("{:?}", connection.limit())),
                _ => return Err(format!("no state: {name}")),
            };
            if found != *value {
                return Err(format!("{name} is {found}"));
            }
        }
        Ok(())
    }

    fn nothing_more(&self) -> Result<(), String> {
        match self.sent.front() {
            Some(sent) => Err(format!("sent before it: {}", told(sent))),
            None => Ok(()),
        }
    }
}

fn differs(sent: &Sent, expected: &Expected) -> bool {
    let segment = &sent.segment;
    // PSH has no meaning for a receiver that reads at once. PSH is compared only if the script writes it.
    let mut compared = segment.flags;
    if expected.flags & flags::PSH == 0 {
        compared &= !flags::PSH;
    }
    let options = expected.options.map(|mut options| {
        if expected.any_timestamps && segment.options.timestamps.is_some() {
            options.timestamps = segment.options.timestamps;
        }
        options
    });
    let range = (segment.seq, segment.payload);
    compared != expected.flags | flags_of_context(expected)
        || expected.range.is_some_and(|wanted| wanted != range)
        || (expected.range.is_none() && segment.payload > 0)
        || expected.ack.is_some_and(|wanted| wanted != segment.ack)
        || expected
            .window
            .is_some_and(|wanted| wanted != segment.window)
        || expected.ecn.is_some_and(|wanted| wanted != segment.ecn)
        || options.is_some_and(|wanted| wanted != segment.options)
        || expected
            .reason
            .as_ref()
            .is_some_and(|wanted| *wanted != kebab(&format!("{:?}", sent.reason)))
}

/// Return the implied flags. Every segment except the first SYN and certain RSTs has an ACK (RFC 9293,
/// section 3.10.7.4). Data without a written `ack` also has one.
fn flags_of_context(expected: &Expected) -> u16 {
    if expected.ack.is_none() && expected.flags & (flags::SYN | flags::RST) == 0 {
        flags::ACK
    } else {
        0
    }
}

/// Return a segment in script notation.
fn told(sent: &Sent) -> String {
    let segment = &sent.segment;
    let letters = [
        (flags::SYN, "S"),
        (flags::FIN, "F"),
        (flags::RST, "R"),
        (flags::PSH, "P"),
        (flags::ECE, "E"),
        (flags::CWR, "W"),
    ];
    let names: String = letters
        .iter()
        .filter(|(bit, _)| segment.has(*bit))
        .map(|(_, name)| *name)
        .collect();
    let names = if names.is_empty() { "." } else { &names };
    let end = segment.seq + u64::from(segment.payload);
    let ack = if segment.has(flags::ACK) {
        format!(" ack {}", segment.ack)
    } else {
        String::new()
    };
    format!(
        "+{} > {names} {}:{end}({}){ack} win {} {:?} {:?} {{{}}}",
        shown(sent.time),
        segment.seq,
        segment.payload,
        segment.window,
        segment.ecn,
        segment.options,
        kebab(&format!("{:?}", sent.reason)),
    )
}

fn shown(time: Nanoseconds) -> String {
    format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000)
}

/// Return the time rounded to milliseconds.
fn milliseconds(time: Nanoseconds) -> String {
    format!("{}ms", (time + 500_000) / 1_000_000)
}

/// Return the name of a value without its fields: `ProbeRtt { … }` becomes `probe-rtt`.
fn name_of(value: impl std::fmt::Debug) -> String {
    let told = format!("{value:?}");
    kebab(told.split(' ').next().unwrap_or(&told))
}

/// Convert a name: `FastRetransmit` becomes `fast-retransmit`.
fn kebab(name: &str) -> String {
    let mut made = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !made.is_empty() {
            made.push('-');
        }
        made.push(letter.to_ascii_lowercase());
    }
    made
}
