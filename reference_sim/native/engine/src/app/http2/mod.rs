//! HTTP/2 (RFC 9113): one connection, its preface and SETTINGS, HEADERS of requests, and streams that share it.
//!
//! Frames are true bytes. What each end has to know of the other's frames is in [`Frames`], by their places in the
//! stream: an end reads them as they come.

mod client;
mod frames;
mod hpack;
mod server;
mod stream;

use std::collections::{BTreeMap, VecDeque};

use super::exchange::ExchangeId;
use super::{End, Network};

pub use client::{Came, Session};
pub use server::Http2Server;

/// A frame that was written, as its reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    Settings,
    Request {
        exchange: ExchangeId,
        stream: u32,
    },
    /// HEADERS or DATA of a response: so much payload for flow control.
    Response {
        exchange: ExchangeId,
        bytes: u64,
        is_last: bool,
    },
    /// Of a stream; none: of the connection.
    WindowUpdate {
        stream: Option<u32>,
        bytes: u32,
    },
}

/// The frames on their way, by connection and side of their reader.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    written: BTreeMap<End, VecDeque<(u64, Frame)>>,
}

impl Frames {
    /// A frame that ends at this offset (exclusive) is for this end.
    pub fn push(&mut self, reader: End, end: u64, frame: Frame) {
        self.written
            .entry(reader)
            .or_default()
            .push_back((end, frame));
    }

    /// The next frame for this end, and where it ends.
    #[must_use]
    pub fn first(&self, reader: End) -> Option<(u64, Frame)> {
        self.written.get(&reader)?.front().copied()
    }

    pub fn pop(&mut self, reader: End) {
        if let Some(frames) = self.written.get_mut(&reader) {
            frames.pop_front();
        }
    }

    /// The next frame for this end, if so many bytes of the stream (the SYN not counted) have all of it.
    pub fn next_whole(&mut self, reader: End, total: u64) -> Option<Frame> {
        let (end, frame) = self.first(reader)?;
        if end > total + 1 {
            return None;
        }
        self.pop(reader);
        Some(frame)
    }

    pub fn forget(&mut self, reader: End) {
        self.written.remove(&reader);
    }
}

/// The offset of the stream behind so many bytes of a write that begins now.
fn offset_behind(network: &dyn Network, at: End, bytes: u64) -> u64 {
    network.write_offset(at) + network.stream_bytes(at, bytes)
}
