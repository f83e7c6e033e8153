//! Whether the server recovers from what ACKs tell to be lost, or begins anew as after a timer.
//!
//! Theory of operation. Who is told of a loss by three duplicate ACKs goes on with a window of its threshold and three
//! segments more, which those tell to have left the network (RFC 5681, section 3.2, step 3). Before there was such a
//! recovery the window was one segment then, and in slow start (Jacobson 1988). Where all connections share it that
//! shows: what another one has lying ready waits until the copy of what was lost is acknowledged, though with all that
//! is in flight, and a segment more, it would have fitted into the window of a recovery. A host keeps its stack.

use super::departures::Left;

/// So often it is no chance.
const TIMES_MIN: u32 = 2;

/// What ACKs told to be lost: when a copy of it left, and on which connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) left: Left,
    pub(super) client_port: u16,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NoRecovery {
    /// The newest loss, unless a timer told of one since.
    told: Option<Told>,
    /// So often what might have left in a recovery waited.
    times: u32,
    /// Something has left in one.
    was_recovery: bool,
}

impl NoRecovery {
    /// Something was sent again when this left, which was sent after the loss before, or not: that sets no window anew.
    pub(super) fn lost(
        &mut self,
        left: Left,
        client_port: u16,
        (is_new, is_by_timer): (bool, bool),
    ) {
        if is_by_timer {
            self.told = None;
        } else if is_new {
            self.told = Some(Told { left, client_port });
        }
    }

    /// What ACKs told to be lost, of which it is not known yet whether the server recovers from it.
    pub(super) fn told(self) -> Option<Told> {
        self.told
    }

    /// What might have left in a recovery waited for the repair.
    pub(super) fn has_waited(&mut self) {
        self.told = None;
        self.times = self.times.saturating_add(1);
    }

    /// Something left in a recovery.
    pub(super) fn has_gone_on(&mut self) {
        self.told = None;
        self.was_recovery = true;
    }

    /// Whether the server is known to begin anew.
    pub(super) fn is_shown(self) -> bool {
        self.times >= TIMES_MIN && !self.was_recovery
    }
}

#[cfg(test)]
impl NoRecovery {
    pub(super) fn times(self) -> u32 {
        self.times
    }
}
