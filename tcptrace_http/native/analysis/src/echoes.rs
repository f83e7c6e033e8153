//! What a server had heard of its client when it sent a packet, as the timestamps tell that it echoes (RFC 7323).
//!
//! Theory of operation. A host echoes the timestamp of the newest packet that it has got, of those that begin no later
//! than what it has acknowledged (section 4.3). So of packets that do, which bring nothing to a peer that owes no ACK, one
//! with a later timestamp had not come when it sent. That one had come is told less surely: several may have the same.
//! Who understands RFC 1323 to the letter echoes no packet without payload; so it has to be seen to do that first.
//!
//! How long it had heard that when it sent, its own timestamps tell if they count milliseconds: what left at once, as an
//! answer to a SYN does, left as soon after what it echoes went by as any does. That holds whatever queue it stood in.

use std::collections::VecDeque;

use tcptrace_tcp::{counted_ns, SenderClock, SKEW_MAX_SHARE};
use trace_model::Timestamps;

/// Timestamps of half a second on their way, of a clock that counts milliseconds. Without the oldest a sender may have
/// heard more than it had.
const ECHOES_MAX: usize = 512;
/// Two times of a clock that counts milliseconds are no more exact than this.
const AT_ONCE_MAX_NS: i64 = 2_000_000;

/// What the sender of a packet had heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeardOf {
    /// Nothing of what went by here later.
    pub until_ns: Option<i64>,
    /// It left at once when it had heard what has the timestamp that went by here first then.
    pub at_once_ns: Option<i64>,
}

/// The first packet with its timestamp.
#[derive(Clone, Copy, Debug)]
struct Echo {
    stamp: u32,
    time_ns: i64,
    /// No packet with payload has the timestamp.
    is_bare: bool,
}

/// How long after what it echoes a host sends.
#[derive(Clone, Copy, Debug)]
struct Prompt {
    first: (i64, u32),
    least_ns: i64,
    least_at_ns: i64,
}

#[derive(Debug, Default)]
pub struct Echoes {
    /// Not echoed yet.
    unheard: VecDeque<Echo>,
    /// Echoed by what came last.
    heard: Option<Echo>,
    /// What has no payload is echoed as well.
    of_bare: bool,
    clock: SenderClock,
    prompt: Option<Prompt>,
}

fn is_later(stamp: u32, than: u32) -> bool {
    counted_ns(than, stamp) > 0
}

impl Echoes {
    /// A packet goes to the server, which owes no ACK of anything before it.
    pub fn goes(&mut self, time_ns: i64, stamp: u32, is_bare: bool) {
        match self.unheard.back_mut() {
            Some(last) if last.stamp == stamp => last.is_bare &= is_bare,
            Some(last) if !is_later(stamp, last.stamp) => {}
            _ => {
                if self.unheard.len() >= ECHOES_MAX {
                    self.unheard.pop_front();
                }
                self.unheard.push_back(Echo {
                    stamp,
                    time_ns,
                    is_bare,
                });
            }
        }
    }

    /// What the server had heard when it sent a packet with these timestamps.
    pub fn comes(&mut self, time_ns: i64, stamps: Timestamps) -> HeardOf {
        while let Some(first) = self.unheard.front() {
            if is_later(first.stamp, stamps.echo_reply) {
                break;
            }
            self.heard = self.unheard.pop_front();
        }
        let heard = self.heard.filter(|it| it.stamp == stamps.echo_reply);
        self.of_bare |= heard.is_some_and(|it| it.is_bare);
        self.clock.late_ns(time_ns, stamps.value);
        let at_once = heard.filter(|it| self.since_ns(it.time_ns, stamps.value) <= AT_ONCE_MAX_NS);
        let is_known = self.of_bare && self.clock.counts_ms();
        let unheard = self.unheard.front().filter(|_| self.of_bare);
        HeardOf {
            until_ns: unheard.map(|it| it.time_ns.saturating_sub(1)),
            at_once_ns: at_once.filter(|_| is_known).map(|it| it.time_ns),
        }
    }

    /// How much longer it took from where a packet went by until one left that echoes it than it did at the least.
    fn since_ns(&mut self, heard_ns: i64, left: u32) -> i64 {
        let prompt = self.prompt.get_or_insert(Prompt {
            first: (heard_ns, left),
            least_ns: 0,
            least_at_ns: heard_ns,
        });
        let elapsed_ns = heard_ns.saturating_sub(prompt.first.0);
        let after_ns = counted_ns(prompt.first.1, left).saturating_sub(elapsed_ns);
        let aged_ns = heard_ns.saturating_sub(prompt.least_at_ns) / SKEW_MAX_SHARE;
        let least_ns = prompt.least_ns.saturating_add(aged_ns);
        if after_ns <= least_ns {
            (prompt.least_ns, prompt.least_at_ns) = (after_ns, heard_ns);
        }
        after_ns.saturating_sub(least_ns).max(0)
    }

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        size_of::<Echo>().saturating_mul(self.unheard.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const FIRST: u32 = u32::MAX - 1;

    /// Bare ACKs with these timestamps go by at these times, in milliseconds.
    fn of(bare: &[(i64, u32)]) -> Echoes {
        let mut echoes = Echoes::default();
        for (time_ms, stamp) in bare {
            echoes.goes(time_ms * MS, FIRST.wrapping_add(*stamp), true);
        }
        echoes
    }

    /// A packet comes with these timestamps.
    fn comes(echoes: &mut Echoes, time_ms: i64, (left, echo): (u32, u32)) -> HeardOf {
        let stamps = Timestamps {
            value: (FIRST - 40).wrapping_add(left),
            echo_reply: FIRST.wrapping_add(echo),
        };
        echoes.comes(time_ms * MS, stamps)
    }

    fn heard_until_ms(echoes: &mut Echoes, echo: u32) -> Option<i64> {
        let until_ns = comes(echoes, 400, (300, echo)).until_ns;
        until_ns.map(|ns| (ns + 1) / MS)
    }

    #[test]
    fn what_has_a_later_timestamp_than_is_echoed_had_not_come() {
        let mut echoes = of(&[(100, 0), (200, 1), (250, 1), (300, 3)]);
        assert_eq!(heard_until_ms(&mut echoes, 0), Some(200));
        assert_eq!(heard_until_ms(&mut echoes, 1), Some(300));
        assert_eq!(heard_until_ms(&mut echoes, 3), None);
    }

    #[test]
    fn who_was_not_seen_to_echo_what_has_no_payload_may_have_heard_it() {
        let mut echoes = Echoes::default();
        echoes.goes(100, FIRST, true);
        echoes.goes(100, FIRST, false);
        echoes.goes(200, FIRST.wrapping_add(5), true);
        assert_eq!(heard_until_ms(&mut echoes, 0), None);
    }

    #[test]
    fn an_older_timestamp_that_comes_late_tells_no_more_than_the_newest() {
        let mut echoes = of(&[(100, 0), (200, 4), (210, 2), (300, 6)]);
        assert_eq!(heard_until_ms(&mut echoes, 4), Some(300));
        assert_eq!(heard_until_ms(&mut echoes, 0), Some(300));
    }

    #[test]
    fn what_leaves_as_soon_behind_what_it_echoes_as_any_did_leaves_at_once_whatever_queue_it_stands_in(
    ) {
        let mut echoes = of(&[(100, 0), (300, 1), (500, 2)]);
        assert_eq!(
            comes(&mut echoes, 120, (10, 0)).at_once_ns,
            None,
            "of an unknown clock"
        );
        let late = comes(&mut echoes, 420, (211, 1));
        assert_eq!(late.at_once_ns, Some(300 * MS));
        assert_eq!(comes(&mut echoes, 525, (415, 2)).at_once_ns, None);
    }
}
