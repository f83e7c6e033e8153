//! The notation of mechanism scripts: the input of one TCP and its required output, line by line.
//! `tests/simulator/mechanisms/README.md` describes it.

use std::sync::Arc;

use reference_sim_engine::segment::{flags, Cookie, Ecn, Options, Segment, SACK_BLOCKS};
use reference_sim_engine::sharing::fast_open::Kept;
use reference_sim_engine::stack::{Nanoseconds, Stack};
use serde_json::Value;

/// Sources that a script can show. Its first line begins with one of them.
const SOURCES: [&str; 8] = [
    "RFC ",
    "draft-",
    "4.4BSD ",
    "Linux ",
    "ns-2 ",
    "Heidemann 1996",
    "Jacobson 1988",
    "Kruse 2001",
];

/// A script: its stack, and its steps in time order.
#[derive(Debug)]
pub struct Script {
    pub stack: Arc<Stack>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub line: usize,
    pub time: Nanoseconds,
    /// Half of the last written digit. A time matches if it differs by less.
    pub tolerance: Nanoseconds,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `connect knowing <mss 1000, fastopen 0102030405060708>`: the peer gave this cookie earlier.
    Connect(Option<Kept>),
    Accept,
    /// `write(BYTES)`, and the number of bytes taken.
    Write {
        bytes: u64,
        taken: Option<u64>,
    },
    /// `stop reading`, `go on reading`: the application leaves data in the socket, or resumes reading.
    SetReading(bool),
    Close,
    Abort,
    /// `< …`: the peer's segment arrives. Without numbers, it starts at the end of the peer's last segment.
    Inject {
        segment: Segment,
        is_placed: bool,
    },
    /// `> …`: the next sent segment.
    Expect(Expected),
    /// `event NAME`, in the API's spelling: `readable(1001)`.
    Event(String),
    /// `cwnd=2920 limit=slow-start`: names and values of the sender's state.
    State(Vec<(String, String)>),
    /// No further segment was sent until now.
    Quiet,
}

impl Action {
    #[must_use]
    pub fn is_by_the_application(&self) -> bool {
        matches!(self, Action::Write { .. } | Action::Close)
    }
}

/// The required properties of a sent segment. Unwritten properties are unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub flags: u16,
    pub range: Option<(u64, u32)>,
    pub ack: Option<u64>,
    pub window: Option<u32>,
    pub options: Option<Options>,
    /// `<ts>`: any values.
    pub any_timestamps: bool,
    /// `ect`, `ce`.
    pub ecn: Option<Ecn>,
    pub reason: Option<String>,
}

/// Parse a script. `base` is the stack whose parameters the `stack` lines change.
pub fn parse(text: &str, base: &Value) -> Result<Script, String> {
    let mut stack = base.clone();
    let mut title = None;
    let mut steps: Vec<Step> = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let at = |problem: String| format!("line {}: {problem}: {whole:?}", index + 1);
        let line = whole.trim();
        if let Some(remark) = line.strip_prefix('#') {
            title.get_or_insert_with(|| remark.trim().to_owned());
        } else if let Some(knob) = line.strip_prefix("stack ") {
            set_knob(&mut stack, knob).map_err(at)?;
        } else if !line.is_empty() {
            let step = step(line, index + 1).map_err(at)?;
            if steps.last().is_some_and(|last| last.time > step.time) {
                return Err(at("earlier than the line before".into()));
            }
            steps.push(step);
        }
    }
    let title: String = title.ok_or("no first remark that says what is shown")?;
    if !SOURCES.iter().any(|source| title.starts_with(source)) || !title.contains(": ") {
        return Err(format!("no source: {title:?}"));
    }
    let stack = serde_json::from_value(stack).map_err(|error| format!("stack: {error}"))?;
    Ok(Script {
        stack: Arc::new(stack),
        steps,
    })
}

/// Set a parameter, as in `acks.every 2`: the parameter's path, then a duration, a word or JSON.
fn set_knob(stack: &mut Value, knob: &str) -> Result<(), String> {
    let (path, value) = knob.split_once(' ').ok_or("a knob and a value")?;
    let mut place = stack;
    for name in path.split('.') {
        place = place.get_mut(name).ok_or("no such knob")?;
    }
    *place = knob_value(value.trim());
    Ok(())
}

fn knob_value(text: &str) -> Value {
    let units = [("ms", 1_000_000), ("us", 1_000), ("s", 1_000_000_000_u64)];
    for (unit, nanoseconds) in units {
        if let Some(Ok(number)) = text.strip_suffix(unit).map(str::parse::<u64>) {
            return Value::from(number * nanoseconds);
        }
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn step(line: &str, number: usize) -> Result<Step, String> {
    let (time, rest) = line.split_once(' ').ok_or("a time and what happens then")?;
    let (time, tolerance) = seconds(time.strip_prefix('+').ok_or("a time starts with +")?)?;
    Ok(Step {
        line: number,
        time,
        tolerance,
        action: action(rest.trim())?,
    })
}

/// Parse decimal seconds exactly. Return them with half of their last digit.
fn seconds(text: &str) -> Result<(Nanoseconds, Nanoseconds), String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let bad = |_| format!("no time: {text:?}");
    let digits = u32::try_from(fraction.len())
        .ok()
        .filter(|digits| *digits <= 9);
    let unit = 10_u64.pow(9 - digits.ok_or("at most nine decimals")?);
    let parts = if fraction.is_empty() { "0" } else { fraction };
    let time = whole.parse::<u64>().map_err(bad)? * 1_000_000_000
        + parts.parse::<u64>().map_err(bad)? * unit;
    Ok((time, unit / 2))
}

fn action(text: &str) -> Result<Action, String> {
    if let Some(segment) = text.strip_prefix("< ") {
        return inject(segment);
    }
    if let Some(segment) = text.strip_prefix("> ") {
        return expected(segment).map(Action::Expect);
    }
    if let Some(kept) = text.strip_prefix("connect knowing ") {
        return known(kept).map(|kept| Action::Connect(Some(kept)));
    }
    if let Some(event) = text.strip_prefix("event ") {
        return Ok(Action::Event(event.to_owned()));
    }
    match text {
        "connect" => Ok(Action::Connect(None)),
        "accept" => Ok(Action::Accept),
        "close" => Ok(Action::Close),
        "abort" => Ok(Action::Abort),
        "stop reading" => Ok(Action::SetReading(false)),
        "go on reading" => Ok(Action::SetReading(true)),
        "quiet" => Ok(Action::Quiet),
        _ if text.starts_with("write(") => write(text),
        _ => state(text),
    }
}

/// Parse a client's stored values of a peer, given as options that the peer sent.
fn known(text: &str) -> Result<Kept, String> {
    let (_, list) = bracketed(text, '<', '>')?;
    let options = options_of(list.unwrap_or_default())?;
    match (options.fast_open, options.mss) {
        (Some(Cookie::Of(cookie)), Some(mss)) => Ok(Kept {
            cookie,
            mss: mss.into(),
        }),
        _ => Err("neither a cookie nor a segment size".into()),
    }
}

fn call<'a>(text: &'a str, name: &str) -> Result<&'a str, String> {
    let inner = text
        .strip_prefix(name)
        .and_then(|rest| rest.strip_suffix(')'));
    inner.ok_or_else(|| format!("no call of {name}…)"))
}

fn write(text: &str) -> Result<Action, String> {
    let (call_text, taken) = match text.split_once(" = ") {
        Some((call_text, taken)) => (call_text, Some(number(taken)?)),
        None => (text, None),
    };
    let bytes = number(call(call_text, "write(")?)?;
    Ok(Action::Write { bytes, taken })
}

fn state(text: &str) -> Result<Action, String> {
    let pair = |word: &str| match word.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("unknown: {word:?}")),
    };
    text.split_whitespace()
        .map(pair)
        .collect::<Result<_, _>>()
        .map(Action::State)
}

fn inject(text: &str) -> Result<Action, String> {
    let read = expected(text)?;
    if read.any_timestamps || read.reason.is_some() {
        return Err("an injected segment has values and no reason".into());
    }
    let ack = if read.ack.is_some() { flags::ACK } else { 0 };
    let segment = Segment {
        seq: read.range.map_or(0, |(seq, _)| seq),
        ack: read.ack.unwrap_or(0),
        payload: read.range.map_or(0, |(_, payload)| payload),
        flags: read.flags | ack,
        window: read.window.unwrap_or(65_535),
        options: read.options.unwrap_or_default(),
        sent: 0,
        has_early_fin: false,
        ecn: read.ecn.unwrap_or_default(),
    };
    let is_placed = read.range.is_some() || segment.has(flags::SYN);
    Ok(Action::Inject { segment, is_placed })
}

/// Parse `P. 1:1001(1000) ack 1 win 65535 <mss 1460> {fast-retransmit}`.
fn expected(text: &str) -> Result<Expected, String> {
    let (text, reason) = bracketed(text, '{', '}')?;
    let (text, options) = bracketed(text, '<', '>')?;
    let mut words = text.split_whitespace();
    let mut read = Expected {
        flags: flag_bits(words.next().ok_or("no flags")?)?,
        range: None,
        ack: None,
        window: None,
        options: None,
        any_timestamps: false,
        ecn: None,
        reason: reason.map(str::to_owned),
    };
    while let Some(word) = words.next() {
        let mut value = || number(words.next().unwrap_or_default());
        match word {
            "ack" => read.ack = Some(value()?),
            "win" => read.window = Some(narrow(value()?)?),
            "ect" => read.ecn = Some(Ecn::Capable),
            "ce" => read.ecn = Some(Ecn::Congested),
            "not-ect" => read.ecn = Some(Ecn::NotCapable),
            _ => read.range = Some(range(word)?),
        }
    }
    if read.ack.is_some() {
        read.flags |= flags::ACK;
    }
    if let Some(list) = options {
        read.any_timestamps = list.split(',').any(|option| option.trim() == "ts");
        read.options = Some(options_of(list)?);
    }
    Ok(read)
}

/// Split a text with a final bracket into the text before it and the bracket's content.
fn bracketed(text: &str, open: char, close: char) -> Result<(&str, Option<&str>), String> {
    let Some((before, rest)) = text.split_once(open) else {
        return Ok((text, None));
    };
    let inner = rest.trim_end().strip_suffix(close);
    Ok((
        before,
        Some(inner.ok_or_else(|| format!("no {close} at the end"))?),
    ))
}

fn flag_bits(text: &str) -> Result<u16, String> {
    let bit = |letter| match letter {
        'S' => Ok(flags::SYN),
        'F' => Ok(flags::FIN),
        'R' => Ok(flags::RST),
        'P' => Ok(flags::PSH),
        'E' => Ok(flags::ECE),
        'W' => Ok(flags::CWR),
        '.' => Ok(0),
        _ => Err(format!("no flag: {letter:?}")),
    };
    text.chars()
        .try_fold(0, |bits, letter| Ok(bits | bit(letter)?))
}

/// Parse `1:1001(1000)`.
fn range(text: &str) -> Result<(u64, u32), String> {
    let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let (numbers, length) = parts.ok_or_else(|| format!("unknown: {text:?}"))?;
    let (start, end) = numbers.split_once(':').ok_or("no start:end(length)")?;
    let (start, end, length) = (number(start)?, number(end)?, number(length)?);
    if start + length != end {
        return Err(format!("{start} + {length} is not {end}"));
    }
    Ok((start, narrow(length)?))
}

fn options_of(list: &str) -> Result<Options, String> {
    let mut options = Options::default();
    for option in list
        .split(',')
        .map(str::trim)
        .filter(|option| !option.is_empty())
    {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words.as_slice() {
            ["mss", value] => options.mss = Some(narrow(number(value)?)?),
            ["wscale", value] => options.window_scale = Some(narrow(number(value)?)?),
            ["fastopen"] => options.fast_open = Some(Cookie::Wanted),
            ["fastopen", digits] => {
                let cookie = u64::from_str_radix(digits, 16);
                options.fast_open = Some(Cookie::Of(cookie.map_err(|error| error.to_string())?));
            }
            ["sackOK"] => options.sack_permitted = true,
            ["ts"] => options.timestamps = Some((0, 0)),
            ["ts", "val", value, "ecr", echo] => {
                options.timestamps = Some((narrow(number(value)?)?, narrow(number(echo)?)?));
            }
            ["sack", blocks @ ..] => options.sack = sack_blocks(blocks)?,
            _ => return Err(format!("unknown option: {option:?}")),
        }
    }
    Ok(options)
}

fn sack_blocks(words: &[&str]) -> Result<[(u64, u64); SACK_BLOCKS], String> {
    if words.len() > SACK_BLOCKS {
        return Err(format!("more than {SACK_BLOCKS} SACK blocks"));
    }
    let mut blocks = [(0, 0); SACK_BLOCKS];
    for (block, word) in blocks.iter_mut().zip(words) {
        let (left, right) = word.split_once(':').ok_or("no left:right")?;
        *block = (number(left)?, number(right)?);
    }
    Ok(blocks)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("no number: {text:?}"))
}

fn narrow<T: TryFrom<u64>>(number: u64) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("too large: {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Step {
        step(text, 1).unwrap()
    }

    #[test]
    fn times_have_the_written_precision() {
        assert_eq!(seconds("1.25"), Ok((1_250_000_000, 5_000_000)));
        assert_eq!(seconds("0.000000001"), Ok((1, 0)));
        assert_eq!(seconds("3"), Ok((3_000_000_000, 500_000_000)));
        assert!(seconds("0.0000000001").is_err());
        assert!(seconds("x").is_err());
    }

    #[test]
    fn an_injected_segment_has_the_written_fields_and_a_large_window() {
        let Action::Inject { segment, is_placed } =
            line("+0.1 < P 1:1461(1460) ack 101 <ts val 7 ecr 9, sack 5:9 11:13>").action
        else {
            panic!("no injected segment");
        };
        assert!(is_placed);
        assert_eq!((segment.seq, segment.payload, segment.ack), (1, 1460, 101));
        assert_eq!(segment.flags, flags::PSH | flags::ACK);
        assert_eq!(segment.window, 65_535);
        assert_eq!(segment.options.timestamps, Some((7, 9)));
        assert_eq!(segment.options.sack, [(5, 9), (11, 13), (0, 0)]);
    }

    #[test]
    fn an_expected_segment_checks_only_written_properties() {
        let Action::Expect(read) = line("+0.1 > . 1461:2921(1460) {fast-retransmit}").action else {
            panic!("no expected segment");
        };
        assert_eq!(read.range, Some((1461, 1460)));
        assert_eq!((read.ack, read.window, read.options), (None, None, None));
        assert_eq!(read.reason.as_deref(), Some("fast-retransmit"));
    }

    #[test]
    fn calls_states_and_events_are_read() {
        let written = Action::Write {
            bytes: 5000,
            taken: Some(4096),
        };
        assert_eq!(line("+0 write(5000) = 4096").action, written);
        assert_eq!(line("+0 stop reading").action, Action::SetReading(false));
        let state = vec![
            ("cwnd".into(), "2920".into()),
            ("limit".into(), "nagle".into()),
        ];
        assert_eq!(
            line("+0 cwnd=2920 limit=nagle").action,
            Action::State(state)
        );
        assert_eq!(
            line("+0 event readable(11)").action,
            Action::Event("readable(11)".into())
        );
    }

    #[test]
    fn unknown_notation_is_an_error() {
        for bad in [
            "0.1 connect",
            "+0.1 dance",
            "+0.1 > X ack 1",
            "+0.1 > . 1:9(9) ack 1",
            "+0.1 > . 1:10(9) <mss>",
            "+0.1 > . 1:10(9) {new",
            "+0.1 < . ack",
            "+0.1 < . ack 1 {new}",
            "+0.1 write(x)",
            "+0.1 write(1",
        ] {
            assert!(step(bad, 1).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_stand_in_the_order_of_their_times_and_knobs_exist() {
        let base = serde_json::json!({});
        assert!(parse("# RFC 1: t\n+0.2 connect\n+0.1 close", &base)
            .unwrap_err()
            .contains("earlier"));
        assert!(parse("# RFC 1: t\nstack no.knob 1", &base)
            .unwrap_err()
            .contains("no such knob"));
    }

    #[test]
    fn a_script_names_its_source() {
        let base = serde_json::json!({});
        for text in ["+0 connect", "# it works: see", "# RFC 9293"] {
            let error = parse(text, &base).unwrap_err();
            assert!(error.starts_with("no "), "{error}");
        }
    }

    #[test]
    fn knobs_are_durations_words_or_json() {
        assert_eq!(knob_value("200ms"), Value::from(200_000_000));
        assert_eq!(knob_value("3s"), Value::from(3_000_000_000_u64));
        assert_eq!(knob_value("bsd"), Value::from("bsd"));
        assert_eq!(knob_value("true"), Value::from(true));
        assert_eq!(
            knob_value("{\"kind\": \"rfc3390\"}"),
            serde_json::json!({"kind": "rfc3390"})
        );
    }
}
