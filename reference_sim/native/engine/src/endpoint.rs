//! One end of a connection: its TCP, and the application's calls that wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::app::AppId;
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::Connection;
use crate::truth::{Limit, WindowRow};

/// A `write` call that was not taken whole yet.
#[derive(Clone, Copy, Debug)]
pub struct PendingWrite {
    pub left: u64,
    /// Nothing of it was taken yet.
    pub is_whole: bool,
    /// From when the last one was taken to when this one is made.
    pub gap: Nanoseconds,
}

#[derive(Debug)]
pub struct Endpoint {
    pub tcp: Connection,
    pub app: AppId,
    pub stack: Arc<Stack>,
    pub writes: VecDeque<PendingWrite>,
    /// When the last write was taken whole.
    pub taken: Option<Nanoseconds>,
    /// What was taken has not been offered to the network yet.
    pub has_written: bool,
    /// The next call is made later.
    pub pauses: bool,
    /// The offset at which the next write begins.
    pub write_offset: u64,
    /// The application wants to close once all is written.
    pub is_closing: bool,
    pub is_reading: bool,
    /// What is there to be read, and what was read: offsets.
    pub readable: u64,
    pub read: u64,
    /// The peer closed behind data that was not read yet.
    pub peer_closed: bool,
    /// When the timer's event comes; none is planned: never.
    pub timer: Nanoseconds,
    /// It was called by the application, and has to be driven.
    pub is_due: bool,
    /// The last rows of the truth.
    pub limit: Option<Limit>,
    pub window: Option<WindowRow>,
}

impl Endpoint {
    #[must_use]
    pub fn new(tcp: Connection, app: AppId, stack: &Arc<Stack>) -> Self {
        Endpoint {
            tcp,
            app,
            stack: Arc::clone(stack),
            writes: VecDeque::new(),
            taken: None,
            has_written: false,
            pauses: false,
            // The SYN is offset 0.
            write_offset: 1,
            is_closing: false,
            is_reading: true,
            readable: 1,
            read: 1,
            peer_closed: false,
            timer: Nanoseconds::MAX,
            is_due: false,
            limit: None,
            window: None,
        }
    }
}
