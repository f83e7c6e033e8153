//! The parameters of a TCP.

use super::check::{at_least, at_most, optional, require, time, Check};
use super::limits::{MAX_BYTES, MAX_MSS, MAX_RETRIES, MAX_SCALE, MAX_SEGMENTS, MIN_MSS};
use crate::stack::{AckDelay, AckPolicy, Congestion, InitialWindow, Sharing, Stack};

pub(super) fn stack(at: &str, stack: &Stack) -> Check {
    let path = |field: &str| format!("{at}.{field}");
    at_least(path("mss"), stack.mss.into(), MIN_MSS.into())?;
    at_most(path("mss"), stack.mss.into(), MAX_MSS.into())?;
    if let Some(shift) = stack.window_scale {
        at_most(path("window_scale"), shift.into(), MAX_SCALE.into())?;
    }
    for (name, bytes) in [
        ("receive_buffer", stack.receive_buffer),
        ("send_buffer", stack.send_buffer),
    ] {
        at_least(path(name), bytes, 1)?;
        at_most(path(name), bytes, MAX_BYTES)?;
    }
    segments(at, stack)?;
    require(
        !(stack.accelerated_open && stack.fast_open),
        path("fast_open"),
        "a connection is opened as T/TCP does or with Fast Open; turn accelerated_open off",
    )?;
    require(
        stack.congestion != Congestion::Bbr || stack.sharing == Sharing::None,
        path("sharing"),
        "BBR has a model per connection; set sharing to none",
    )?;
    optional(path("write_step_bytes"), stack.write_step_bytes)?;
    acks(&path("acks"), &stack.acks)?;
    time(path("time_wait_ns"), stack.time_wait_ns)?;
    retransmission(at, stack)
}

/// Check the windows counted in segments.
fn segments(at: &str, stack: &Stack) -> Check {
    let initial = match stack.initial_window {
        InitialWindow::Segments(count) => Some(count),
        InitialWindow::Rfc3390 | InitialWindow::Rfc6928 => None,
    };
    for (name, count) in [
        ("initial_window", initial),
        ("max_window_segments", stack.max_window_segments),
        ("initial_ssthresh_segments", stack.initial_ssthresh_segments),
        ("restart_cap_segments", stack.restart_cap_segments),
    ] {
        let path = format!("{at}.{name}");
        optional(&path, count)?;
        at_most(&path, count.unwrap_or(1).into(), MAX_SEGMENTS)?;
    }
    Ok(())
}

fn acks(at: &str, acks: &AckPolicy) -> Check {
    at_least(format_args!("{at}.every"), acks.every.into(), 1)?;
    at_most(format_args!("{at}.every"), acks.every.into(), MAX_SEGMENTS)?;
    at_most(
        format_args!("{at}.at_once_bytes"),
        acks.at_once_bytes,
        MAX_BYTES,
    )?;
    if let Some(quick) = &acks.quick_acks {
        let path = format!("{at}.quick_acks");
        at_most(
            format_args!("{path}.segments"),
            quick.segments.into(),
            MAX_SEGMENTS,
        )?;
        time(
            format_args!("{path}.pingpong_timeout_ns"),
            quick.pingpong_timeout_ns,
        )?;
    }
    match acks.delay {
        AckDelay::Heartbeat {
            period_ns,
            phase_ns,
        } => {
            at_least(format_args!("{at}.delay.period_ns"), period_ns, 1)?;
            time(format_args!("{at}.delay.period_ns"), period_ns)?;
            time(format_args!("{at}.delay.phase_ns"), phase_ns)
        }
        AckDelay::Timer { delay_ns } => time(format_args!("{at}.delay.delay_ns"), delay_ns),
    }
}

fn retransmission(at: &str, stack: &Stack) -> Check {
    let rules = &stack.retransmission;
    let path = |field: &str| format!("{at}.retransmission.{field}");
    at_least(path("initial_ns"), rules.initial_ns, 1)?;
    at_least(path("syn_initial_ns"), rules.syn_initial_ns, 1)?;
    at_least(path("max_ns"), rules.max_ns, rules.min_ns.max(1))?;
    let threshold = path("duplicate_ack_threshold");
    at_least(&threshold, rules.duplicate_ack_threshold.into(), 1)?;
    at_most(
        &threshold,
        rules.duplicate_ack_threshold.into(),
        MAX_SEGMENTS,
    )?;
    at_most(
        path("max_retries"),
        rules.max_retries.into(),
        MAX_RETRIES.into(),
    )?;
    let times = [
        ("initial_ns", rules.initial_ns),
        ("syn_initial_ns", rules.syn_initial_ns),
        ("max_ns", rules.max_ns),
        ("tick_ns", rules.tick_ns),
    ];
    times
        .iter()
        .try_for_each(|(name, ns)| time(path(name), *ns))
}
