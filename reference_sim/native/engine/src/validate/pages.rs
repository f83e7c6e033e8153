//! Pages, and the plans that fetch them.

use super::check::{
    at_least, at_most, each, fault, index, law_of_size, optional, require, time, Check,
};
use super::limits::MAX_CONNECTIONS;
use super::text;
use crate::scenario::{After, Fetch, Object, Page, Plan};

pub(super) fn page(at: &str, page: &Page) -> Check {
    text::word(&format!("{at}.host"), &page.host)?;
    at_least(format_args!("{at}.objects"), page.objects.len() as u64, 1)?;
    each(&format!("{at}.objects"), &page.objects, object)
}

fn object(at: &str, object: &Object) -> Check {
    text::word(&format!("{at}.target"), &object.target)?;
    text::line(&format!("{at}.content_type"), &object.content_type)?;
    each(
        &format!("{at}.request_fields"),
        &object.request_fields,
        |at, it| text::field(at, it),
    )?;
    each(
        &format!("{at}.response_fields"),
        &object.response_fields,
        |at, it| text::field(at, it),
    )?;
    law_of_size(format_args!("{at}.size"), &object.size)?;
    require(
        (200..=599).contains(&object.status),
        format_args!("{at}.status"),
        format_args!(
            "{} is not a final HTTP status from 200 to 599",
            object.status
        ),
    )?;
    time(format_args!("{at}.processing_ns"), object.processing_ns)
}

pub(super) fn plan(at: &str, plan: &Plan) -> Check {
    let most = plan
        .connections
        .map_or(plan.fetches.len() as u64, u64::from);
    at_least(format_args!("{at}.connections"), most, 1)?;
    at_most(format_args!("{at}.connections"), most, MAX_CONNECTIONS)?;
    at_least(format_args!("{at}.pipelining"), plan.pipelining.into(), 1)?;
    at_least(format_args!("{at}.fetches"), plan.fetches.len() as u64, 1)?;
    each(&format!("{at}.fetches"), &plan.fetches, |at, it| {
        fetch(at, it, plan)
    })?;
    match waits_for_itself(plan) {
        None => Ok(()),
        Some(number) => Err(fault(
            format_args!("{at}.fetches[{number}].after"),
            "the fetch waits for itself through other fetches",
        )),
    }
}

fn fetch(at: &str, fetch: &Fetch, plan: &Plan) -> Check {
    text::token(&format!("{at}.method"), &fetch.method)?;
    at_least(format_args!("{at}.objects"), fetch.objects.len() as u64, 1)?;
    if let Some(before) = before(fetch) {
        index(
            format_args!("{at}.after.fetch"),
            before,
            plan.fetches.len(),
            "fetch",
        )?;
    }
    if let (Some(lane), Some(connections)) = (fetch.lane, plan.connections) {
        index(
            format_args!("{at}.lane"),
            lane,
            connections as usize,
            "connection",
        )?;
    }
    optional(format_args!("{at}.split_after"), fetch.split_after)?;
    time(format_args!("{at}.split_gap_ns"), fetch.split_gap_ns)
}

/// Return the fetch that a fetch waits for.
fn before(fetch: &Fetch) -> Option<u32> {
    match fetch.after {
        After::Start => None,
        After::Complete { fetch } | After::Bytes { fetch, .. } | After::Requested { fetch } => {
            Some(fetch)
        }
    }
}

/// Return a fetch that waits for itself: its chain of conditions reaches no fetch without a condition. Each
/// fetch is visited once.
fn waits_for_itself(plan: &Plan) -> Option<usize> {
    // Chain on which each fetch was first visited, counted from 1.
    let mut met = vec![0; plan.fetches.len()];
    for start in 0..plan.fetches.len() {
        let (mut at, chain) = (Some(start), start + 1);
        while let Some(number) = at {
            let slot = met.get_mut(number)?;
            if *slot == chain {
                return Some(start);
            }
            if *slot != 0 {
                break;
            }
            *slot = chain;
            at = plan
                .fetches
                .get(number)
                .and_then(before)
                .map(|it| it as usize);
        }
    }
    None
}
