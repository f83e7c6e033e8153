//! Future events in the order (time, counter): of simultaneous events, the one planned first comes first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::stack::Nanoseconds;

/// An event at a point in time. The type is small because the heap moves events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet leaves a link. `packet` is its index among the packets in flight.
    Arrival { packet: u32 },
    /// The timer of one end of a connection can be due.
    Timer { end: u32 },
    /// A blocked writer makes its next call.
    Write { end: u32 },
    /// The transmitter of a link with a managed queue is free.
    Service { link: u32 },
    /// A wake-up that an application requested.
    Wake { wake: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    time: Nanoseconds,
    counter: u64,
    event: Event,
}

impl Planned {
    #[inline]
    fn key(&self) -> (Nanoseconds, u64) {
        (self.time, self.counter)
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Planned {}

// The heap compares with `<=` and similar operators. Their default versions go through an `Option`.
impl PartialOrd for Planned {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key() < other.key()
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.key() <= other.key()
    }

    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.key() > other.key()
    }

    #[inline]
    fn ge(&self, other: &Self) -> bool {
        self.key() >= other.key()
    }
}

impl Ord for Planned {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Planned>>,
    counter: u64,
}

impl EventQueue {
    pub fn push(&mut self, time: Nanoseconds, event: Event) {
        self.counter += 1;
        self.heap.push(Reverse(Planned {
            time,
            counter: self.counter,
            event,
        }));
    }

    #[must_use]
    pub fn next_time(&self) -> Option<Nanoseconds> {
        self.heap.peek().map(|next| next.0.time)
    }

    pub fn pop(&mut self) -> Option<(Nanoseconds, Event)> {
        self.heap.pop().map(|Reverse(next)| (next.time, next.event))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_moment_happen_in_the_order_in_which_they_were_planned() {
        let mut queue = EventQueue::default();
        for (time, wake) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4)] {
            queue.push(time, Event::Wake { wake });
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let expected = [(3, 1), (3, 3), (4, 4), (5, 0), (5, 2)];
        assert_eq!(
            order,
            expected.map(|(time, wake)| (time, Event::Wake { wake }))
        );
    }

    #[test]
    fn an_event_in_the_heap_takes_three_words() {
        assert_eq!(std::mem::size_of::<Planned>(), 24);
    }
}
