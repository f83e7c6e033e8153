//! One end of a connection: its TCP, and the application's calls that wait for it.

use std::collections::VecDeque;

use crate::app::AppId;
use crate::stack::Nanoseconds;
use crate::truth::{Limit, WindowRow};

/// A `write` call that was not taken whole yet.
#[derive(Clone, Copy, Debug)]
pub struct PendingWrite {
    pub left: u64,
    /// From when the last one was taken to when this one is made.
    pub gap: Nanoseconds,
}

#[derive(Debug)]
pub struct Endpoint<T> {
    pub tcp: T,
    pub app: AppId,
    pub stack: u32,
    pub writes: VecDeque<PendingWrite>,
    /// When the last write was taken whole.
    pub taken: Option<Nanoseconds>,
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

impl<T> Endpoint<T> {
    #[must_use]
    pub fn new(tcp: T, app: AppId, stack: u32) -> Self {
        Endpoint {
            tcp,
            app,
            stack,
            writes: VecDeque::new(),
            taken: None,
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
