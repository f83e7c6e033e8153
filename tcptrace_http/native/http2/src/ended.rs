//! Streams that have ended: no stream begins twice (RFC 9113, section 5.1.1).

use std::collections::BTreeSet;

/// Maximum number of ended streams in memory; frames of older streams are skipped, known or not.
const ENDED_MAX: usize = 1024;

/// Ended streams of a connection with missing frames, where streams may appear out of order.
#[derive(Debug, Default)]
pub(crate) struct EndedStreams {
    /// Highest stream of the client and of the server up to which all streams are known.
    known_up_to: [u32; 2],
    streams: BTreeSet<u32>,
}

impl EndedStreams {
    /// Mark all streams up to `last` as known.
    pub(crate) fn mark_known(&mut self, last: [u32; 2]) {
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
