//! Connections that divide a window between them: each has a part of its own, which grows when another one ends.
//!
//! Theory of operation. Where connections have one control block each, and share what these hold (RFC 2140, section 4),
//! a new one gets its part of all their windows, and one that ends leaves them its own. So an ACK of another lets data
//! go only if that is the last of its connection, while the ACKs of a window that all use (E-TCP) let go what any of
//! them has to send, also the beginning of an answer. Each has a phase of its own then.

/// So many times the end of another connection must have let go what lay in its sender's buffer: one may be chance.
const ENDS_MIN: u32 = 2;
/// Of so many times one other ACK may have come by chance when data left.
const CHANCE: u32 = 4;

/// Which ACKs of other connections have let data go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Division {
    ends: u32,
    others: u32,
}

impl Division {
    /// An ACK of another connection let data go, which may have ended that, and which began an answer or lay in its
    /// sender's buffer.
    pub(super) fn lets_go(&mut self, is_end: bool, begins: bool) {
        let is_end = is_end && !begins;
        self.ends = self.ends.saturating_add(u32::from(is_end));
        self.others = self.others.saturating_add(u32::from(!is_end));
    }

    /// All have as much in flight as before, though they are more or fewer: what they use is one window.
    pub(super) fn is_refuted(&mut self) {
        self.others = u32::MAX;
    }

    pub(super) fn is_shown(self) -> bool {
        self.ends >= ENDS_MIN && self.others.saturating_mul(CHANCE) <= self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other connections' ACKs have let go, of which each may be an end, and may begin an answer.
    fn after(signs: &[(bool, bool)]) -> Division {
        let mut division = Division::default();
        for (is_end, begins) in signs.iter().copied() {
            division.lets_go(is_end, begins);
        }
        division
    }

    #[test]
    fn connections_divide_a_window_if_only_the_ends_of_others_let_go_what_lay_in_a_buffer() {
        let (end, opening, other) = ((true, false), (true, true), (false, false));
        assert!(!after(&[end]).is_shown());
        assert!(after(&[end, end]).is_shown());
        assert!(!after(&[end, end, other]).is_shown());
        assert!(!after(&[end, end, opening]).is_shown());
        assert!(after(&[end, end, other, end, end]).is_shown(), "by chance");
    }

    #[test]
    fn what_is_as_full_with_one_connection_as_with_several_is_not_divided() {
        let mut division = after(&[(true, false), (true, false)]);
        division.is_refuted();
        division.lets_go(true, false);
        assert!(!division.is_shown());
    }
}
