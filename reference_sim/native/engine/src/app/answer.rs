//! A server's response to a request: the heads and bodies of the requested objects, as one message.

use std::sync::Arc;

use super::body::Body;
use super::exchange::Exchange;
use super::http_text::{body_kind, has_body, whole, Head, Parts, Template, Terms};
use super::Content;
use crate::scenario::{Fetch, Object, Scenario};

/// The common part of all responses to one fetch.
pub(super) struct Answer {
    template: Arc<Template>,
    /// The delimiters of a multipart bundle.
    parts: Option<Parts>,
    pub(super) has_body: bool,
}

impl Answer {
    /// Create an answer from a server named `product`, with one additional head line.
    pub(super) fn new(
        objects: &[(u32, &Object)],
        product: &str,
        epoch: i64,
        line: Option<&str>,
    ) -> Answer {
        let objects: Vec<&Object> = objects.iter().map(|(_, object)| *object).collect();
        let template = Template::response(&objects, product, epoch, line);
        Answer {
            template: Arc::new(template),
            parts: (objects.len() > 1).then(|| Parts::new(&objects)),
            has_body: objects
                .first()
                .is_some_and(|object| has_body(object.status)),
        }
    }

    /// Return the head of a response with objects of these sizes.
    pub(super) fn head(
        &self,
        sizes: &[u64],
        with_head: bool,
        segment: Option<u64>,
        terms: &Terms,
    ) -> Head {
        let delimiters = self.parts.as_ref().map_or(0, Parts::bytes);
        let asked: u64 = sizes.iter().sum();
        if with_head || segment.is_some() {
            let total = if with_head {
                asked
            } else {
                let body = asked + delimiters;
                Head::new(&self.template, body, terms).bytes() + body
            };
            let total = segment.map_or(total, |segment| nearest_multiple(total, segment));
            let head = Head::within(&self.template, total, terms);
            if !self.has_body || head.content_length() >= delimiters {
                return head;
            }
        }
        let body = if with_head {
            delimiters
        } else {
            asked + delimiters
        };
        Head::new(&self.template, body, terms)
    }

    /// Return the head of a body of `body` bytes.
    pub(super) fn plain_head(&self, body: u64, terms: &Terms) -> Head {
        Head::new(&self.template, body, terms)
    }

    /// Return the body of the response to an exchange, `bytes` bytes long.
    pub(super) fn contents(
        &self,
        scenario: &Scenario,
        exchange: &Exchange,
        bytes: u64,
    ) -> Vec<Content> {
        let objects = objects(scenario, exchange);
        let sizes = sizes(exchange, &objects);
        if bytes == 0 {
            return Vec::new();
        }
        self.body(exchange, &objects, &sizes, bytes)
    }

    /// Return the bodies of these objects, `bytes` bytes in total.
    pub(super) fn body(
        &self,
        exchange: &Exchange,
        objects: &[(u32, &Object)],
        sizes: &[u64],
        bytes: u64,
    ) -> Vec<Content> {
        let body = |(number, object): &(u32, &Object), total: u64| Body {
            seed: u64::from(exchange.page) << 32 | u64::from(*number),
            kind: body_kind(object),
            total,
        };
        let Some(parts) = &self.parts else {
            let bodies = objects.iter().map(|object| whole(body(object, bytes)));
            return bodies.filter(|body| body.bytes() > 0).collect();
        };
        let shares = shares(sizes, bytes.saturating_sub(parts.bytes()));
        let bodies: Vec<Body> = objects
            .iter()
            .zip(shares)
            .map(|(object, share)| body(object, share))
            .collect();
        parts.content(&bodies)
    }
}

/// Return the multiple of `segment` nearest to `total`, and at least one segment.
fn nearest_multiple(total: u64, segment: u64) -> u64 {
    let segment = segment.max(1);
    ((total + segment / 2) / segment).max(1) * segment
}

/// Split `total` in proportion to the sizes.
fn shares(sizes: &[u64], total: u64) -> Vec<u64> {
    let (mut left, mut sizes_left) = (total, sizes.iter().sum::<u64>());
    let share = |size: &u64| {
        let part = u128::from(left) * u128::from(*size) / u128::from(sizes_left.max(1));
        left -= part as u64;
        sizes_left -= size;
        part as u64
    };
    sizes.iter().map(share).collect()
}

/// Return the segment size that the response fills, if the fetch has whole segments.
pub(super) fn whole_segments(fetch: &Fetch, mss: u32) -> Option<u64> {
    fetch.whole_segments.then_some(u64::from(mss))
}

/// Return the plan's fetch of an exchange.
pub(super) fn fetch<'a>(scenario: &'a Scenario, exchange: &Exchange) -> Option<&'a Fetch> {
    let plan = scenario.plans.get(exchange.plan as usize)?;
    plan.fetches.get(exchange.fetch as usize)
}

/// Return the objects of an exchange, with their numbers on the page.
pub(super) fn objects<'a>(scenario: &'a Scenario, exchange: &Exchange) -> Vec<(u32, &'a Object)> {
    let page = scenario.pages.get(exchange.page as usize);
    let numbers = fetch(scenario, exchange).map_or(&[][..], |fetch| &fetch.objects);
    numbers
        .iter()
        .filter_map(|number| Some((*number, page?.objects.get(*number as usize)?)))
        .collect()
}

/// Return the drawn sizes of these objects.
pub(super) fn sizes(exchange: &Exchange, objects: &[(u32, &Object)]) -> Vec<u64> {
    let size = |number: u32| exchange.sizes.get(number as usize).copied();
    let sizes = objects.iter().map(|(number, _)| size(*number).unwrap_or(0));
    sizes.collect()
}
