//! HTTP/2 (RFC 9113): one connection with preface, SETTINGS, request HEADERS and concurrent streams.
//!
//! Frames are real bytes. [`Frames`] holds the facts that each end needs of the other's frames, by stream
//! offset. An end reads them as the bytes arrive.

mod client;
mod frames;
mod hpack;
mod server;
mod stream;

use std::collections::{BTreeMap, VecDeque};

use super::exchange::ExchangeId;
use super::{End, Network};

pub use client::{ResponsePart, Session};
pub use server::Http2Server;

/// A written frame, from its reader's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    Settings,
    Request {
        exchange: ExchangeId,
        stream: u32,
    },
    /// HEADERS or DATA of a response, with its flow-controlled payload.
    Response {
        exchange: ExchangeId,
        bytes: u64,
        is_last: bool,
    },
    /// A WINDOW_UPDATE of a stream, or of the connection if `stream` is None.
    WindowUpdate {
        stream: Option<u32>,
        bytes: u32,
    },
}

/// The frames under way, by connection and reader side.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    written: BTreeMap<End, VecDeque<(u64, Frame)>>,
}

impl Frames {
    /// Register a frame for this end, with its exclusive end offset.
    pub fn push(&mut self, reader: End, end: u64, frame: Frame) {
        self.written
            .entry(reader)
            .or_default()
            .push_back((end, frame));
    }

    /// Return the next frame for this end, and its end offset.
    #[must_use]
    pub fn first(&self, reader: End) -> Option<(u64, Frame)> {
        self.written.get(&reader)?.front().copied()
    }

    pub fn pop(&mut self, reader: End) {
        if let Some(frames) = self.written.get_mut(&reader) {
            frames.pop_front();
        }
    }

    /// Take the next frame for this end, if `total` stream bytes (without the SYN) contain all of it.
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

/// Return the stream offset after `bytes` bytes of a write that starts now.
fn offset_behind(network: &dyn Network, at: End, bytes: u64) -> u64 {
    network.write_offset(at) + network.stream_bytes(at, bytes)
}
