//! Assignment of flows to windows of a long stream: each flow belongs to exactly one window.
//!
//! A stream that is too long for one worker is cut into windows. The worker of a window reads the previous
//! window, its own, and the next. A flow whose SYN is in the previous window belongs to that window, and its
//! packets are skipped. A flow whose SYN is in the own window is also read in the next window. A flow without
//! a SYN ends with its window. Its later packets form a flow of the next window without a captured start.

use std::collections::HashMap;

use tcptrace_tcp::Key;
use trace_model::{flags, Segment, SeqNumber};

/// Maximum number of flows of the previous window whose SYN is kept: about 30 MB.
///
/// A window of 1 GB has this many flows of 4 kB. Packets of further flows form flows without a captured
/// start.
const BEGUN_MAX: usize = 1 << 18;
/// Text of the anomaly about that limit.
pub const FULL: &str =
    "the previous window has too many flows; packets of further flows in this window count as \
     flows without a captured start";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    Before,
    #[default]
    Own,
    Beyond,
}

/// Current part of the stream, and the SYNs that identify its flows.
#[derive(Debug, Default)]
pub struct Window {
    reading: Reading,
    /// Flows of the previous window while the previous or own window is read; later, flows of the own window.
    begun: HashMap<Key, SeqNumber>,
    pub is_full: bool,
}

impl Window {
    /// Start the lead-in: packets until [`Window::begin`] belong to the previous window.
    pub fn lead_in(&mut self) {
        self.reading = Reading::Before;
    }

    /// Start the window itself.
    pub fn begin(&mut self) {
        self.reading = Reading::Own;
    }

    /// End the window; only `flows` with their initial sequence numbers are still read.
    pub fn end(&mut self, flows: impl Iterator<Item = (Key, SeqNumber)>) {
        self.reading = Reading::Beyond;
        self.begun = flows.collect();
    }

    /// Return whether the current packets belong to this window: only then is their file judged.
    pub fn is_own(&self) -> bool {
        self.reading == Reading::Own
    }

    /// Return whether the segment belongs to one of the window's flows.
    #[inline]
    pub fn takes(&mut self, key: &Key, segment: &Segment<'_>) -> bool {
        if self.reading == Reading::Own && self.begun.is_empty() {
            return true;
        }
        let is_bare_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
        if self.reading == Reading::Before {
            if is_bare_syn {
                self.remember(*key, segment.seq);
            }
            return false;
        }
        let is_known = match self.begun.get(key) {
            // Another SYN begins another flow on the same ports (RFC 9293, section 3.6.1).
            Some(initial) if is_bare_syn && *initial != segment.seq => {
                self.begun.remove(key);
                false
            }
            known => known.is_some(),
        };
        is_known == (self.reading == Reading::Beyond)
    }

    fn remember(&mut self, key: Key, initial: SeqNumber) {
        if self.begun.len() < BEGUN_MAX || self.begun.contains_key(&key) {
            self.begun.insert(key, initial);
        } else {
            self.is_full = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcptrace_tcp::test_packets::segment;
    use tcptrace_tcp::Endpoint;
    use trace_model::IpAddress;

    fn key(port: u16) -> Key {
        let endpoint = |last, port| Endpoint {
            address: IpAddress::v4([10, 0, 0, last]),
            port,
        };
        Key::new(endpoint(1, port), endpoint(2, 80)).0
    }

    fn takes(window: &mut Window, port: u16, flags: u16, seq: u32) -> bool {
        window.takes(&key(port), &segment(flags, (seq, 0), b""))
    }

    #[test]
    fn flow_with_its_syn_in_the_previous_window_belongs_there() {
        let mut window = Window::default();
        window.lead_in();
        assert!(!takes(&mut window, 1, flags::SYN, 100));
        assert!(!takes(&mut window, 2, flags::ACK, 100));
        window.begin();
        assert!(!takes(&mut window, 1, flags::ACK, 101));
        assert!(
            !takes(&mut window, 1, flags::SYN, 100),
            "a retransmitted SYN"
        );
        assert!(takes(&mut window, 2, flags::ACK, 101), "no captured start");
        assert!(
            takes(&mut window, 1, flags::SYN, 900),
            "another flow on the ports"
        );
        assert!(takes(&mut window, 1, flags::ACK, 901));
    }

    #[test]
    fn only_flows_with_a_syn_in_the_window_are_read_in_the_next() {
        let mut window = Window::default();
        assert!(takes(&mut window, 1, flags::SYN, 100));
        window.end([(key(1), SeqNumber(100))].into_iter());
        assert!(takes(&mut window, 1, flags::ACK, 101));
        assert!(!takes(&mut window, 2, flags::ACK, 101));
        assert!(!takes(&mut window, 3, flags::SYN, 7));
        assert!(!takes(&mut window, 1, flags::SYN, 900));
        assert!(
            !takes(&mut window, 1, flags::ACK, 901),
            "the next window has it"
        );
    }
}
