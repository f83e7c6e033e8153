//! The write calls of a response, by the server's pattern.

use super::Content;
use crate::scenario::Writes;

/// Return the contents of each write call of a response.
pub(super) fn write_calls(head: Content, body: Vec<Content>, writes: &Writes) -> Vec<Vec<Content>> {
    // A buffer that is written when full includes the head (Heidemann 1996, figure 4).
    let taken = if writes.head_alone { 0 } else { head.bytes() };
    let mut calls: Vec<Vec<Content>> = vec![vec![head]];
    let chunks = match writes.chunk_bytes {
        Some(bytes) => chunked(body, bytes.max(1), bytes.saturating_sub(taken).max(1)),
        None if body.is_empty() => Vec::new(),
        None => vec![body],
    };
    let mut chunks = chunks.into_iter();
    if !writes.head_alone {
        if let (Some(call), Some(chunk)) = (calls.first_mut(), chunks.next()) {
            call.extend(chunk);
        }
    }
    calls.extend(chunks);
    calls
}

/// Split contents into ranges of `bytes` bytes, the first of `first` bytes.
fn chunked(contents: Vec<Content>, bytes: u64, first: u64) -> Vec<Vec<Content>> {
    let (mut chunks, mut room): (Vec<Vec<Content>>, u64) = (Vec::new(), 0);
    for content in contents {
        let mut from = 0;
        while from < content.bytes() {
            if room == 0 {
                room = if chunks.is_empty() { first } else { bytes };
                chunks.push(Vec::new());
            }
            let to = content.bytes().min(from + room);
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(content.slice(from, to));
            }
            room -= to - from;
            from = to;
        }
    }
    chunks
}
