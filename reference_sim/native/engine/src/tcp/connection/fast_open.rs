//! TCP Fast Open: a cookie and data on the SYN (RFC 7413).
//!
//! A server with Fast Open acknowledges SYN and data at once, before the application's response (Linux,
//! `tcp_fastopen_create_child`). T/TCP's server waits (RFC 1644).

use super::Connection;
use crate::segment::{Cookie, Options, MAX_OPTION_BYTES};
use crate::sharing::fast_open::{FastOpen, Kept};
use crate::stack::Nanoseconds;
use crate::tcp::receiver::Due;
use crate::truth::SendReason;

impl Connection {
    /// Open with Fast Open, before any other call. A client with a cookie is notified at once that it can
    /// write (Linux's TCP_FASTOPEN_CONNECT).
    pub fn open_fast(&mut self, fast_open: FastOpen, now: Nanoseconds) {
        self.fast_open = Some(fast_open);
        if self.is_active && self.is_fast() {
            self.syn_waits_until = Some(now);
            self.tell_connected();
        }
    }

    /// Return the cookie that the server of this client's connection gave.
    #[must_use]
    pub fn given_cookie(&self) -> Option<Kept> {
        self.given
    }

    /// Return true if data travels on the SYN.
    pub(super) fn is_fast(&self) -> bool {
        matches!(self.fast_open, Some(FastOpen::Knows(_) | FastOpen::Accepts))
    }

    /// Return true after a repeated SYN, which has neither data nor a cookie. The path can drop SYNs with
    /// them (RFC 7413, section 4.1.3).
    pub(super) fn gave_up_fast_open(&self) -> bool {
        self.fast_open.is_some() && self.syn_retries > 0
    }

    /// Return the data limit of a SYN, which reserves the whole option space (Linux, `tcp_send_syn_data`).
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

    /// Return the send reason of the SYN-ACK of a server that took the data on the SYN.
    pub(super) fn reason_of_answer(&self) -> SendReason {
        match self.receiver.due {
            Due::Now(reason) => reason,
            _ => SendReason::RetransmissionTimeout,
        }
    }
}
