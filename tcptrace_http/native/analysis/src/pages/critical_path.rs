//! Critical path of a retrieval: the wait of a transaction that bounded the page time at each moment.
//!
//! The path runs backward from the last byte of the page. The path starts at the transaction that ended last,
//! and continues with the transaction that released its request. The latest of three events releases a
//! request. First, the bytes of its initiator that name the request arrive. Second, the previous transaction
//! on its connection ends. Third, a connection becomes free while the client has its maximum number of open
//! connections. No response names a beacon or the request of a widget: the last event of any kind releases
//! them. The client is the cause of the time between release and request. The end of the previous response on
//! the connection releases the response to a pipelined request.
//!
//! P. Barford and M. Crovella, Critical Path Analysis of TCP Transactions (IEEE/ACM ToN 9(3), 2001), for one
//! transaction; X. S. Wang et al., Demystifying Page Load Performance with WProf (NSDI 2013), for the page.

use crate::numbered::{NumberMap, NumberSet};
use trace_model::rows::Cause;

/// Flow and number of a transaction.
pub(super) type Place = (u32, u32);

/// Transaction of a retrieval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub place: Place,
    pub initiator: Option<Place>,
    pub known_ns: Option<i64>,
    /// True if the initiator names the request.
    pub is_named: bool,
    pub start_ns: i64,
    pub request_ns: i64,
    pub end_ns: i64,
}

impl Step {
    fn by_end(&self) -> (i64, i64, Place) {
        (self.end_ns, self.request_ns, self.place)
    }
}

/// Part of the critical path within one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub place: Place,
    /// Start of the transaction.
    pub begins_ns: i64,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Release time of a request, and the transaction that released it.
#[derive(Clone, Copy)]
struct Release {
    time_ns: i64,
    step: Step,
}

/// Return the critical path of one retrieval, from its end backward and without gaps.
///
/// The base document is the step with the first request. The base document starts the retrieval, and the last
/// byte of any step ends the retrieval. A retrieval without duration has no path.
pub(super) fn stretches(steps: Vec<Step>) -> Vec<Stretch> {
    let mut path = Vec::new();
    let first = steps.iter().min_by_key(|it| (it.request_ns, it.place));
    let last = steps.iter().max_by_key(|it| it.by_end());
    let (Some(first), Some(last)) = (first.copied(), last.copied()) else {
        return path;
    };
    let page = Page::of(steps);
    let (mut current, mut cursor) = (last, last.end_ns);
    let mut visited: NumberSet<Place> = NumberSet::default();
    while cursor > first.start_ns {
        visited.insert(current.place);
        let release = page.release(&current, cursor, &visited);
        let since = release.map_or(first.start_ns, |it| it.time_ns.max(first.start_ns));
        if since < cursor {
            path.push(Stretch {
                place: current.place,
                begins_ns: current.start_ns,
                start_ns: since,
                end_ns: cursor,
            });
        }
        let Some(release) = release else { break };
        (current, cursor) = (release.step, since);
    }
    path
}

/// Transactions of a retrieval, indexed by their ends.
struct Page {
    by_place: NumberMap<Place, Step>,
    all: Vec<Step>,
    of_flow: NumberMap<u32, Vec<Step>>,
    requests: Vec<i64>,
    busy_max: usize,
}

impl Page {
    fn of(mut steps: Vec<Step>) -> Page {
        steps.sort_unstable_by_key(Step::by_end);
        let mut of_flow: NumberMap<u32, Vec<Step>> = NumberMap::default();
        for step in &steps {
            of_flow.entry(step.place.0).or_default().push(*step);
        }
        let mut requests: Vec<i64> = steps.iter().map(|it| it.request_ns).collect();
        requests.sort_unstable();
        let mut page = Page {
            by_place: steps.iter().map(|it| (it.place, *it)).collect(),
            all: steps,
            of_flow,
            requests,
            busy_max: 0,
        };
        let busy = page.all.iter().map(|it| page.busy_before(it.end_ns));
        page.busy_max = busy.max().unwrap_or(0);
        page
    }

    /// Return the release of the request of `step`, not later than `cursor` and not by a `visited`
    /// transaction.
    fn release(&self, step: &Step, cursor: i64, visited: &NumberSet<Place>) -> Option<Release> {
        let until = step.request_ns.min(cursor);
        let before = step
            .place
            .1
            .checked_sub(1)
            .map(|before| (step.place.0, before));
        let queued_behind = before
            .and_then(|before| self.by_place.get(&before))
            .filter(|it| step.request_ns < it.end_ns && it.end_ns < cursor)
            .map(|it| Release {
                time_ns: it.end_ns,
                step: *it,
            });
        let initiator = step.initiator.and_then(|it| self.by_place.get(&it));
        let named = initiator
            .zip(step.known_ns)
            .filter(|(_, known_ns)| *known_ns <= until)
            .map(|(it, known_ns)| Release {
                time_ns: known_ns,
                step: *it,
            });
        let of_flow = self.of_flow.get(&step.place.0);
        let over = of_flow.and_then(|steps| latest(steps, until, step));
        let free = latest(&self.all, until, step)
            .filter(|free| !step.is_named || self.busy_before(free.time_ns) == self.busy_max);
        let mut found: Option<Release> = None;
        for release in [queued_behind, named, over, free].into_iter().flatten() {
            let is_later = found.is_none_or(|found| release.time_ns > found.time_ns);
            if is_later && !visited.contains(&release.step.place) {
                found = Some(release);
            }
        }
        found
    }

    /// Return the number of transactions in progress just before that time.
    fn busy_before(&self, end_ns: i64) -> usize {
        let begun = self.requests.partition_point(|request| *request < end_ns);
        let ended = self.all.partition_point(|it| it.end_ns < end_ns);
        begun.saturating_sub(ended)
    }
}

/// Return the last transaction that ended at or before `until`; the transactions are sorted by their ends.
fn latest(steps: &[Step], until: i64, other_than: &Step) -> Option<Release> {
    let count = steps.partition_point(|it| it.end_ns <= until);
    let ended = steps.get(..count)?.iter().rev();
    let step = ended.copied().find(|it| it.place != other_than.place)?;
    Some(Release {
        time_ns: step.end_ns,
        step,
    })
}

/// Wait of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub cause: Cause,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Return the stretch cut by the waits of its transaction, which are in order.
///
/// Time without a wait is `client.think` before the transaction begins, and `unexplained` after that.
pub(super) fn pieces(stretch: &Stretch, waits: impl Iterator<Item = Wait>) -> Vec<Wait> {
    let mut pieces = Vec::new();
    let mut cursor = stretch.start_ns;
    for wait in waits {
        let start_ns = wait.start_ns.max(cursor);
        let end_ns = wait.end_ns.min(stretch.end_ns);
        if start_ns < end_ns {
            uncovered(stretch, cursor, start_ns, &mut pieces);
            // If two waits overlap, the first one has the time.
            pieces.push(Wait {
                start_ns,
                end_ns,
                ..wait
            });
            cursor = end_ns;
        }
    }
    uncovered(stretch, cursor, stretch.end_ns, &mut pieces);
    pieces
}

fn uncovered(stretch: &Stretch, start_ns: i64, end_ns: i64, pieces: &mut Vec<Wait>) {
    let begins_ns = stretch.begins_ns.clamp(start_ns, end_ns);
    for (cause, start_ns, end_ns) in [
        (Cause::ClientThink, start_ns, begins_ns),
        (Cause::Unexplained, begins_ns, end_ns),
    ] {
        if start_ns < end_ns {
            pieces.push(Wait {
                cause,
                start_ns,
                end_ns,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(place: Place, begun: (i64, i64), end_ns: i64, named: Option<(Place, i64)>) -> Step {
        Step {
            place,
            initiator: named.map(|(initiator, _)| initiator),
            known_ns: named.map(|(_, known_ns)| known_ns),
            is_named: named.is_some(),
            start_ns: begun.0,
            request_ns: begun.1,
            end_ns,
        }
    }

    fn path(steps: Vec<Step>) -> Vec<(Place, i64, i64)> {
        let path = stretches(steps);
        path.iter()
            .map(|it| (it.place, it.start_ns, it.end_ns))
            .collect()
    }

    #[test]
    fn request_is_released_by_its_link_not_by_the_end_of_the_document() {
        let document = step((0, 0), (0, 10), 200, None);
        let image = step((1, 0), (50, 60), 300, Some(((0, 0), 50)));
        let expected = [((1, 0), 50, 300), ((0, 0), 0, 50)];
        assert_eq!(path(vec![document, image]), expected);
    }

    #[test]
    fn request_waits_for_a_free_connection_if_all_are_in_use() {
        let document = ((0, 0), 100);
        let steps = vec![
            step((0, 0), (0, 0), 100, None),
            step((1, 0), (100, 100), 180, Some(document)),
            step((2, 0), (100, 100), 240, Some(document)),
            step((3, 0), (181, 182), 300, Some(document)),
        ];
        let expected = [((3, 0), 180, 300), ((1, 0), 100, 180), ((0, 0), 0, 100)];
        assert_eq!(path(steps), expected);
    }

    #[test]
    fn unnamed_request_waits_for_the_last_finished_transaction() {
        let document = ((0, 0), 100);
        let beacon = Step {
            is_named: false,
            ..step((2, 0), (305, 305), 400, Some(document))
        };
        let steps = vec![
            step((0, 0), (0, 0), 100, None),
            step((0, 1), (100, 100), 200, Some(document)),
            step((1, 0), (100, 100), 180, Some(document)),
            step((0, 2), (200, 200), 300, Some(document)),
            beacon,
        ];
        let expected = [
            ((2, 0), 300, 400),
            ((0, 2), 200, 300),
            ((0, 1), 100, 200),
            ((0, 0), 0, 100),
        ];
        assert_eq!(path(steps), expected);
    }

    #[test]
    fn a_pipelined_response_waits_for_the_one_before_it() {
        let steps = vec![
            step((0, 0), (0, 0), 100, None),
            step((0, 1), (101, 101), 300, None),
            step((0, 2), (101, 101), 310, None),
        ];
        let expected = [((0, 2), 300, 310), ((0, 1), 100, 300), ((0, 0), 0, 100)];
        assert_eq!(path(steps), expected);
    }

    #[test]
    fn retrieval_without_duration_has_no_path() {
        assert_eq!(path(vec![step((0, 0), (5, 5), 5, None)]), []);
    }
}
