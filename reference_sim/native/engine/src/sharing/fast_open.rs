//! TCP Fast Open: a server accepts data on the SYN of a client with the server's cookie (RFC 7413).

use std::collections::BTreeMap;

use super::HostPair;
use crate::segment::{Cookie, Segment};

/// A connection's use of its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastOpen {
    /// A client without a cookie requests one (RFC 7413, section 4.1.1).
    Asks,
    /// A client with a cookie sends its first data on the SYN.
    Knows(Kept),
    /// A server gives a cookie to a client that requested one or had a wrong one (section 4.1.2).
    Gives(u64),
    /// A server accepts the data on the SYN, because the cookie is correct.
    Accepts,
}

/// A client's stored values of a server (RFC 7413, section 4.1.3: the cookie and the segment size).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub cookie: u64,
    pub mss: u32,
}

/// The cookies that hosts store.
#[derive(Clone, Debug, Default)]
pub struct Cookies {
    kept: BTreeMap<HostPair, Kept>,
}

impl Cookies {
    /// Return the Fast Open state of a connection that the local host opens.
    #[must_use]
    pub fn open(&self, pair: HostPair) -> FastOpen {
        let kept = self.kept.get(&pair).copied();
        kept.map_or(FastOpen::Asks, FastOpen::Knows)
    }

    /// Return a server's answer to the option of a SYN, or None without the option.
    #[must_use]
    pub fn answer(pair: HostPair, syn: &Segment) -> Option<FastOpen> {
        let own = cookie_for(pair);
        syn.options.fast_open.map(|cookie| match cookie {
            Cookie::Of(cookie) if cookie == own => FastOpen::Accepts,
            Cookie::Of(_) | Cookie::Wanted => FastOpen::Gives(own),
        })
    }

    /// Store the cookie that a server gave the local host.
    pub fn keep(&mut self, pair: HostPair, kept: Kept) {
        self.kept.insert(pair, kept);
    }
}

/// Return the client's address under the server's key. Both are derived from host numbers here.
fn cookie_for(server: HostPair) -> u64 {
    // The mixing function of SplitMix64 (Steele 2014) gives different cookies for neighbouring numbers.
    let mut mixed = (u64::from(server.local) << 32 | u64::from(server.remote))
        .wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Options;

    const CLIENT: HostPair = HostPair::CLIENT;
    const SERVER: HostPair = HostPair::SERVER;

    fn answer(cookie: Option<Cookie>) -> Option<FastOpen> {
        let options = Options {
            fast_open: cookie,
            ..Options::default()
        };
        let syn = Segment {
            options,
            ..Segment::default()
        };
        Cookies::answer(SERVER, &syn)
    }

    #[test]
    fn a_client_asks_until_it_has_a_cookie() {
        let mut cookies = Cookies::default();
        assert_eq!(cookies.open(CLIENT), FastOpen::Asks);
        let kept = Kept {
            cookie: 7,
            mss: 1460,
        };
        cookies.keep(CLIENT, kept);
        assert_eq!(cookies.open(CLIENT), FastOpen::Knows(kept));
        assert_eq!(cookies.open(SERVER), FastOpen::Asks);
    }

    #[test]
    fn a_server_accepts_its_own_cookie_and_gives_it_for_any_other() {
        let own = cookie_for(SERVER);
        assert_eq!(answer(None), None);
        assert_eq!(answer(Some(Cookie::Wanted)), Some(FastOpen::Gives(own)));
        assert_eq!(answer(Some(Cookie::Of(own))), Some(FastOpen::Accepts));
        let wrong = Cookie::Of(own ^ 1);
        assert_eq!(answer(Some(wrong)), Some(FastOpen::Gives(own)));
    }

    #[test]
    fn each_client_has_another_cookie() {
        let other = HostPair {
            remote: 2,
            ..SERVER
        };
        assert_ne!(cookie_for(SERVER), cookie_for(other));
    }
}
