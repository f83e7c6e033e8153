//! TCP Fast Open: a cookie, and data, on the SYN (RFC 7413).
//!
//! Unlike T/TCP's server (RFC 1644), one with Fast Open acknowledges SYN and data at once, before the application's
//! answer (Linux, `tcp_fastopen_create_child`).

use super::Connection;
use crate::segment::{Cookie, Options, MAX_OPTION_BYTES};
use crate::sharing::fast_open::{FastOpen, Kept};
use crate::stack::Nanoseconds;
use crate::tcp::receiver::Due;
use crate::truth::SendReason;

impl Connection {
    /// Before anything else: what the connection does with its cookie. A client that has one is told at once that
    /// it may write (Linux's TCP_FASTOPEN_CONNECT).
    pub fn open_fast(&mut self, fast_open: FastOpen, now: Nanoseconds) {
        self.fast_open = Some(fast_open);
        if self.is_active && self.is_fast() {
            self.syn_waits_until = Some(now);
            self.tell_connected();
        }
    }

    /// What the server of this client's connection gave it.
    #[must_use]
    pub fn given_cookie(&self) -> Option<Kept> {
        self.given
    }

    /// Data rides on the SYN.
    pub(super) fn is_fast(&self) -> bool {
        matches!(self.fast_open, Some(FastOpen::Knows(_) | FastOpen::Accepts))
    }

    /// A SYN that goes out again has neither data nor a cookie: the path may drop those (RFC 7413, section 4.1.3).
    pub(super) fn gave_up_fast_open(&self) -> bool {
        self.fast_open.is_some() && self.syn_retries > 0
    }

    /// How much data a SYN takes: the whole option space is left free (Linux, `tcp_send_syn_data`).
    pub(super) fn fast_open_mss(&self) -> Option<u32> {
        match self.fast_open {
            Some(FastOpen::Knows(kept)) => {
                let mss = kept.mss.min(self.stack.mss);
                Some(mss.saturating_sub(MAX_OPTION_BYTES).max(1))
            }
            _ => None,
        }
    }

    pub(super) fn cookie_option(&self) -> Option<Cookie> {
        if self.is_active && self.gave_up_fast_open() {
            return None;
        }
        match self.fast_open? {
            FastOpen::Asks => Some(Cookie::Wanted),
            FastOpen::Knows(Kept { cookie, .. }) | FastOpen::Gives(cookie) => {
                Some(Cookie::Of(cookie))
            }
            FastOpen::Accepts => None,
        }
    }

    pub(super) fn take_cookie(&mut self, options: &Options) {
        if let (Some(Cookie::Of(cookie)), Some(_)) = (options.fast_open, self.fast_open) {
            let mss = options.mss.map_or(self.stack.mss, u32::from);
            self.given = Some(Kept { cookie, mss });
        }
    }

    /// Why the SYN-ACK of a server that took the data on the SYN goes out.
    pub(super) fn reason_of_answer(&self) -> SendReason {
        match self.receiver.due {
            Due::Now(reason) => reason,
            _ => SendReason::RetransmissionTimeout,
        }
    }
}
