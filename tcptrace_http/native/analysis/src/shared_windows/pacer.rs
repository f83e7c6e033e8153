//! Whether a host paces what it sends.
//!
//! Theory of operation. What a clock lets go that lay in the sender's buffer shows that the host paces a window that was
//! not in use (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). A host keeps its stack: what leaves it later
//! by a clock, so soon after data that no application is slower, is paced too, though the data before was pushed, as the
//! head of a response is before its writer goes on with the body.
//!
//! One that lets connections share a window paces it as well when they resume, whichever of them has data (Eggert 1999,
//! section 3.1). So what of them no ACK let go, less than a round trip behind pushed data, is paced; and so is the
//! beginning of an answer that comes in the very rhythm of others before it, which the work of a server has not.
//!
//! Who answers on a SYN-ACK keeps what earlier connections have learnt (RFC 1644, section 3.1; Eggert 1999, section 3),
//! and paces a window that it knows from them. So what follows the data of a SYN-ACK before any of it can have been
//! acknowledged is paced, too: a head is pushed there for it is a write of its own, and the body is written with it.

use super::queue::LetGo;

/// So often data must have left the buffer by a clock.
const SIGNS_MIN: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    signs: u32,
}

impl Pacer {
    /// A clock let data go that lay in the sender's buffer.
    pub(super) fn shows(&mut self) {
        self.signs = self.signs.saturating_add(1);
    }

    pub(super) fn is_shown(self) -> bool {
        self.signs >= SIGNS_MIN
    }
}

/// Whether what goes in the rhythm of a pacer may be its, though the data before was pushed: it begins an answer, or the
/// pacer still lets go what its writer had added, for within a round trip it has let the whole window go.
pub(super) fn is_paced_behind(begins: bool, quiet_ns: i64, round_trip_ns: i64) -> bool {
    begins || quiet_ns < round_trip_ns
}

/// Whether what comes so long behind the first data of a connection left before any ACK of that can have come: no other
/// connection's let it go, either.
pub(super) fn is_paced_opening(let_go: LetGo, quiet_ns: i64, round_trip_ns: i64) -> bool {
    let_go != LetGo::Ack && quiet_ns < round_trip_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_head_a_pacer_lets_the_body_go_within_a_round_trip_and_a_writer_takes_as_long_as_he_likes(
    ) {
        for (begins, quiet_ms, is_paced) in
            [(false, 90, true), (false, 110, false), (true, 900, true)]
        {
            assert_eq!(is_paced_behind(begins, quiet_ms, 100), is_paced);
        }
    }
}
