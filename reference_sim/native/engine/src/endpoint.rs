//! One end of a connection: its TCP, and the application's pending calls.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::app::AppId;
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::Connection;
use crate::truth::{Limit, WindowRow};

/// A `write` call that the send buffer has not fully taken.
#[derive(Clone, Copy, Debug)]
pub struct PendingWrite {
    pub left: u64,
    /// True until the send buffer takes a part of the write.
    pub is_whole: bool,
    /// Delay from the end of the previous write to this write.
    pub gap: Nanoseconds,
}

#[derive(Debug)]
pub struct Endpoint {
    pub tcp: Connection,
    pub app: AppId,
    pub stack: Arc<Stack>,
    pub writes: VecDeque<PendingWrite>,
    /// Time at which the last write was fully taken.
    pub taken: Option<Nanoseconds>,
    /// True while taken data is not yet offered to the network.
    pub has_written: bool,
    /// True while the next call waits for its gap.
    pub pauses: bool,
    /// Offset of the next write.
    pub write_offset: u64,
    /// True if the application closes after all writes.
    pub is_closing: bool,
    pub is_reading: bool,
    /// Offset up to which data is readable.
    pub readable: u64,
    /// Offset up to which the application has read.
    pub read: u64,
    /// True if the peer closed after data that is not read yet.
    pub peer_closed: bool,
    /// Time of the timer's queued event, or the maximum if none is queued.
    pub timer: Nanoseconds,
    /// True if the application called this end, so the end needs a drive.
    pub is_due: bool,
    /// Last limit recorded in the truth.
    pub limit: Option<Limit>,
    /// Last window row recorded in the truth.
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
            // The SYN has offset 0.
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
