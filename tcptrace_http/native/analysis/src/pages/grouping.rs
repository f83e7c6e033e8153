//! Grouping of a client's transactions into pages.
//!
//! The evidence is used in order of strength. A response redirects the client to the target (`Location`). The
//! request names the page of its target (`Referer`). An earlier document refers to the target. Without such
//! evidence, time decides: a transaction belongs to the previous page unless the client was silent for one
//! second.

use crate::numbered::{NumberMap, NumberSet};
use trace_model::rows::Membership;

use super::requests::{Request, Requests};
use super::SILENCE_MIN_NS;

/// Silence after which a request comes from the user or a timer, regardless of Referer: an open page may keep
/// polling.
///
/// Google's Time to Interactive considers a page loaded after 5 s without network traffic.
const LOADED_SILENCE_MIN_NS: i64 = 5_000_000_000;
const SUCCESS_MAX: i64 = 299;
const REDIRECT_MAX: i64 = 399;

/// Cause of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestCause {
    pub initiator: usize,
    pub how: Membership,
    pub known_ns: i64,
    /// True if the initiator names the request; a Referer alone shows the page, not the cause of the wait.
    pub is_named: bool,
}

/// Request and the page that it belongs to.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub cause: Option<RequestCause>,
    /// Number of its page in the order of the base requests, and number of the newest page at its request.
    pub group: usize,
    newest: usize,
    pub how: Membership,
}

/// Evidence about a request before the grouping.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    cause: Option<RequestCause>,
    /// Silence before the request; none for a client's first request.
    silence_ns: Option<i64>,
}

impl Evidence {
    fn follows_silence(self) -> bool {
        self.silence_ns
            .is_none_or(|silence| silence >= SILENCE_MIN_NS)
    }
}

/// Return the page of each request.
pub(super) fn members(requests: &Requests) -> Vec<Member> {
    let mut evidence = evidence(requests);
    let members = grouped(requests, &evidence);
    let kept = kept_style_sheets(requests, &members);
    if kept.is_empty() {
        return members;
    }
    for row in kept {
        if let Some(evidence) = evidence.get_mut(row) {
            evidence.cause = None;
        }
    }
    grouped(requests, &evidence)
}

/// Rows by client and URL, sorted by time.
type ByUrl = NumberMap<(usize, usize), Vec<(i64, usize)>>;

fn by_url(rows: impl Iterator<Item = (usize, usize, i64, usize)>) -> ByUrl {
    let mut by_url = ByUrl::default();
    for (client, url, at, row) in rows {
        by_url.entry((client, url)).or_default().push((at, row));
    }
    for rows in by_url.values_mut() {
        // The sort is stable: of two rows with equal times, the later row counts.
        rows.sort_by_key(|(at, _)| *at);
    }
    by_url
}

/// Return the latest row at or before that time.
fn latest(by_url: &ByUrl, client: usize, url: usize, until: i64) -> Option<(i64, usize)> {
    let rows = by_url.get(&(client, url))?;
    let count = rows.partition_point(|(at, _)| *at <= until);
    rows.get(count.checked_sub(1)?).copied()
}

fn evidence(requests: &Requests) -> Vec<Evidence> {
    let rows = || requests.rows.iter().enumerate();
    let answered = || rows().filter_map(|(row, it)| Some((row, it, it.answer_ns?)));
    let redirects =
        by_url(answered().filter_map(|(row, it, at)| Some((it.client, it.leads_to?, at, row))));
    // Only documents named in a Referer are indexed.
    let named: NumberSet<usize> = requests.rows.iter().filter_map(|it| it.referer).collect();
    let documents = by_url(
        answered()
            .filter_map(|(row, it, at)| Some((it.client, it.url?, at, row)))
            .filter(|(_, url, ..)| named.contains(url)),
    );
    let links = by_url(requests.links.iter().filter_map(|link| {
        let client = requests.rows.get(link.row)?.client;
        Some((client, link.url, link.known_ns, link.row))
    }));
    let mut last: Option<(usize, i64)> = None;
    let each = rows().map(|(row, it)| {
        let end_before = last
            .filter(|(client, _)| *client == it.client)
            .map(|(_, end)| end);
        last = Some((
            it.client,
            end_before.map_or(it.end_ns, |end| end.max(it.end_ns)),
        ));
        // A client that opens a connection is not silent: a TLS handshake may take longer than the silence
        // limit.
        let active_ns = it.url.map_or(it.start_ns, |_| it.request_ns);
        let silence_ns = end_before.map(|end| active_ns.saturating_sub(end));
        let redirect = it
            .url
            .and_then(|url| latest(&redirects, it.client, url, it.request_ns))
            .filter(|(at, _)| it.request_ns.saturating_sub(*at) <= SILENCE_MIN_NS);
        let document = it
            .referer
            .and_then(|referer| latest(&documents, it.client, referer, it.request_ns));
        let link = it
            .url
            .and_then(|url| latest(&links, it.client, url, it.request_ns));
        let cause = cause(requests, it, redirect, document, link);
        let is_caused = cause.is_some_and(|cause| {
            let is_clicked =
                cause.how == Membership::Referer && link.is_none() && is_navigation(it, silence_ns);
            !is_clicked
                && silence_ns.is_some_and(|silence| silence < LOADED_SILENCE_MIN_NS)
                && cause.initiator < row
        });
        Evidence {
            cause: cause.filter(|_| is_caused),
            silence_ns,
        }
    });
    each.collect()
}

fn cause(
    requests: &Requests,
    request: &Request,
    redirect: Option<(i64, usize)>,
    document: Option<(i64, usize)>,
    link: Option<(i64, usize)>,
) -> Option<RequestCause> {
    let by = [
        (redirect, Membership::Redirect),
        (document, Membership::Referer),
        (link, Membership::Link),
    ];
    let (initiator, how) = by
        .into_iter()
        .find_map(|(found, how)| Some((found?.1, how)))?;
    let linked = link.filter(|(_, row)| *row == initiator);
    let known_ns = match linked {
        Some((known_ns, _)) => known_ns,
        None => requests.rows.get(initiator)?.end_ns,
    };
    Some(RequestCause {
        initiator,
        how,
        known_ns: known_ns.min(request.request_ns),
        is_named: linked.is_some() || how == Membership::Redirect,
    })
}

/// Return whether the user asked for the request by following a link of the previous page.
fn is_navigation(request: &Request, silence_ns: Option<i64>) -> bool {
    (request.is_html || request.is_redirect())
        && silence_ns.is_some_and(|silence| silence >= SILENCE_MIN_NS)
        && request.status.is_some_and(|status| status <= REDIRECT_MAX)
}

/// Return the requests that a style sheet of an earlier page caused after a newer page had begun.
///
/// The client has cached the style sheet, and the newer page needs it now.
fn kept_style_sheets(requests: &Requests, members: &[Member]) -> Vec<usize> {
    let mut ends: NumberMap<usize, i64> = NumberMap::default();
    let mut kept = Vec::new();
    for (row, (it, member)) in requests.rows.iter().zip(members).enumerate() {
        let before = ends.get(&member.group).copied();
        let is_silent =
            before.is_some_and(|end| it.request_ns.saturating_sub(end) >= SILENCE_MIN_NS);
        let initiator = member.cause.and_then(|it| requests.rows.get(it.initiator));
        let is_of_object = initiator.is_some_and(|initiator| !initiator.is_html);
        if is_of_object && member.newest != member.group && is_silent {
            kept.push(row);
        }
        ends.insert(
            member.group,
            before.map_or(it.end_ns, |end| end.max(it.end_ns)),
        );
    }
    kept
}

fn grouped(requests: &Requests, evidence: &[Evidence]) -> Vec<Member> {
    let begins = beginnings(requests, evidence);
    let mut newest = 0_usize;
    let mut members: Vec<Member> = Vec::with_capacity(requests.rows.len());
    for (evidence, begins) in evidence.iter().zip(begins) {
        newest = newest.saturating_add(usize::from(begins));
        // A cause precedes its request.
        let root = evidence
            .cause
            .and_then(|cause| members.get(cause.initiator));
        let group = root.map_or(newest, |root| root.group);
        let how = evidence.cause.map_or(Membership::Time, |cause| cause.how);
        members.push(Member {
            cause: evidence.cause,
            group,
            newest,
            how: if begins { Membership::Base } else { how },
        });
    }
    members
}

/// Return true for each request that begins a page.
fn beginnings(requests: &Requests, evidence: &[Evidence]) -> Vec<bool> {
    let causes = || {
        evidence
            .iter()
            .zip(&requests.rows)
            .filter_map(|(it, row)| Some((it.cause?, row)))
    };
    let initiators: NumberSet<usize> = causes().map(|(cause, _)| cause.initiator).collect();
    let to_page: NumberSet<usize> = causes()
        .filter(|(cause, row)| cause.how == Membership::Redirect && row.is_html)
        .map(|(cause, _)| cause.initiator)
        .collect();
    // A client that sends Referer omits it if the user entered the URL.
    let names: NumberSet<usize> = requests
        .rows
        .iter()
        .filter_map(|it| it.referer.map(|_| it.client))
        .collect();
    // URL of the current page, and last fetch time of each of its URLs.
    let mut page = None;
    let mut ends: NumberMap<Option<usize>, i64> = NumberMap::default();
    let each = evidence.iter().zip(&requests.rows).enumerate();
    each.map(|(row, (evidence, it))| {
        let is_root = evidence.cause.is_none();
        let is_document = it.is_html
            && it.status.is_some_and(|status| status <= SUCCESS_MAX)
            && (initiators.contains(&row) || names.contains(&it.client));
        let is_page = is_document || to_page.contains(&row);
        let begins = is_root && (evidence.follows_silence() || is_page);
        if begins {
            page = it.url;
            ends.clear();
        }
        let before = ends.insert(it.url, it.end_ns);
        // A page does not request its own document again.
        let is_duplicate =
            page.is_some() && page == it.url && before.is_some_and(|end| end <= it.request_ns);
        begins || (is_root && is_duplicate)
    })
    .collect()
}
