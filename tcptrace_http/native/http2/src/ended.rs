//! The streams that are over: none of them begins again (RFC 9113, section 5.1.1).

use std::collections::BTreeSet;

/// Streams that are remembered one by one: what is said on one that ended longer ago is passed over, and so is one that
/// is as old and was not heard of before.
const ENDED_MAX: usize = 1024;

/// Where frames were missed, a stream may be met first after later ones.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// All up to this one of the client, and of the server, are known.
    known_up_to: [u32; 2],
    streams: BTreeSet<u32>,
}

impl Ended {
    /// All streams so far were met when they began: up to these.
    pub(crate) fn all_known(&mut self, last: [u32; 2]) {
        self.known_up_to = last;
    }

    pub(crate) fn add(&mut self, id: u32) {
        self.streams.insert(id);
        if self.streams.len() > ENDED_MAX {
            if let Some(oldest) = self.streams.pop_first() {
                let [client, server] = &mut self.known_up_to;
                let known = if oldest % 2 == 1 { client } else { server };
                *known = oldest.max(*known);
            }
        }
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        let [client, server] = self.known_up_to;
        let known = if id % 2 == 1 { client } else { server };
        id <= known || self.streams.contains(&id)
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.streams.len().saturating_mul(size_of::<u32>()) as u64
    }
}
