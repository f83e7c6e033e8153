//! The content beside a stream: the bytes that taps put into frames.

use std::collections::VecDeque;

use crate::app::Content;

/// The content of one direction of a connection that can still be sent or retransmitted.
#[derive(Debug)]
pub struct Stream {
    /// Contents by the offset of their first byte.
    contents: VecDeque<(u64, Content)>,
    end: u64,
}

impl Default for Stream {
    fn default() -> Self {
        Stream {
            contents: VecDeque::new(),
            // The SYN has offset 0.
            end: 1,
        }
    }
}

impl Stream {
    pub fn push(&mut self, content: Content) {
        let start = self.end;
        self.end += content.bytes();
        self.contents.push_back((start, content));
    }

    /// Drop contents that end at or before this offset.
    pub fn trim(&mut self, to: u64) {
        while let Some((start, content)) = self.contents.front() {
            if start + content.bytes() > to {
                break;
            }
            self.contents.pop_front();
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// Append `bytes` bytes from this offset to `out`.
    pub fn copy(&self, from: u64, bytes: u32, out: &mut Vec<u8>) {
        let end = from + u64::from(bytes);
        let first = self
            .contents
            .partition_point(|(start, content)| start + content.bytes() <= from);
        for (start, content) in self.contents.range(first..) {
            if *start >= end {
                break;
            }
            let skipped = from.saturating_sub(*start);
            let wanted = (end - start).min(content.bytes());
            content.copy(skipped, wanted, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::body::{Body, BodyKind};

    fn stream() -> Stream {
        let mut stream = Stream::default();
        stream.push(Content::Text(b"HTTP/1.1 200 OK\r\n\r\n".as_slice().into()));
        let body = Body {
            seed: 9,
            kind: BodyKind::Html,
            total: 1400,
        };
        for from in [0, 700] {
            stream.push(Content::Body {
                body,
                from,
                bytes: 700,
            });
        }
        stream
    }

    fn copied(stream: &Stream, from: u64, bytes: u32) -> Vec<u8> {
        let mut out = Vec::new();
        stream.copy(from, bytes, &mut out);
        out
    }

    #[test]
    fn pieces_of_any_size_form_the_whole() {
        let stream = stream();
        let whole = copied(&stream, 1, 1419);
        assert_eq!(whole.len(), 1419);
        assert!(whole.starts_with(b"HTTP/1.1 200 OK\r\n\r\n<"));
        for size in [1, 7, 536, 1000] {
            let pieces = (0..1419).step_by(size);
            let joined: Vec<u8> = pieces
                .flat_map(|at| copied(&stream, 1 + at as u64, size.min(1419 - at) as u32))
                .collect();
            assert_eq!(joined, whole);
        }
    }

    #[test]
    fn trimming_keeps_the_rest_unchanged() {
        let mut stream = stream();
        let rest = copied(&stream, 720, 700);
        stream.trim(719);
        assert_eq!(stream.contents.len(), 2);
        stream.trim(720);
        assert_eq!(stream.contents.len(), 1);
        assert_eq!(copied(&stream, 720, 700), rest);
    }
}
