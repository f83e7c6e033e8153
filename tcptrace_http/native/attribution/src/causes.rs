//! Constraint, kind of acknowledgment and phase of the congestion window make a cause: the one table.

use tcptrace_sender::congestion::Phase;
use trace_model::rows::{Cause, Constraint as Word, Direction};

/// What bound a segment's departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// The residual: its application had not written it.
    #[default]
    Application,
    ReceiveWindow,
    ZeroWindow,
    /// The receive window opened without an acknowledgment of anything new: its reader had not read.
    Reader,
    CongestionWindow,
    Nagle,
}

/// The words for the same wait of a request and of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CauseWords {
    pub(crate) direction: Direction,
    pub(crate) application: Cause,
    pub(crate) pace: Cause,
    /// The receiver's application did not read.
    pub(crate) reader: Cause,
}

const OF_REQUESTS: CauseWords = CauseWords {
    direction: Direction::ClientToServer,
    application: Cause::ClientThink,
    pace: Cause::RequestSend,
    reader: Cause::SendLimitedReceiveWindow,
};
const OF_RESPONSES: CauseWords = CauseWords {
    direction: Direction::ServerToClient,
    application: Cause::ServerDataUnavailable,
    pace: Cause::SendLimitedBottleneck,
    reader: Cause::ClientNotReading,
};

/// Whose stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Requests,
    Responses,
}

impl Words {
    pub(crate) fn of_causes(self) -> CauseWords {
        match self {
            Words::Requests => OF_REQUESTS,
            Words::Responses => OF_RESPONSES,
        }
    }
}

/// The word of the table for `constraint`.
pub(crate) fn word(constraint: Constraint, phase: Phase) -> Word {
    match (constraint, phase) {
        (Constraint::Application, _) => Word::Application,
        (Constraint::ReceiveWindow | Constraint::ZeroWindow | Constraint::Reader, _) => {
            Word::ReceiveWindow
        }
        (Constraint::Nagle, _) => Word::Nagle,
        (Constraint::CongestionWindow, Phase::Constant) => Word::SendBuffer,
        (Constraint::CongestionWindow, _) => Word::CongestionWindow,
    }
}

/// The cause of a wait that `constraint` bound.
pub(crate) fn cause(
    constraint: Constraint,
    is_delayed_ack: bool,
    phase: Phase,
    is_restarted: bool,
    words: CauseWords,
) -> Cause {
    match constraint {
        Constraint::Application => words.application,
        Constraint::ReceiveWindow => Cause::SendLimitedReceiveWindow,
        Constraint::ZeroWindow => Cause::SendLimitedZeroWindow,
        Constraint::Reader => words.reader,
        Constraint::Nagle if is_delayed_ack => Cause::StallNagleDelayedAck,
        Constraint::Nagle => Cause::StallNagleHold,
        Constraint::CongestionWindow if is_restarted => Cause::StallSlowStartRestart,
        Constraint::CongestionWindow => match phase {
            Phase::SlowStart => Cause::SendLimitedSlowStart,
            Phase::CongestionAvoidance => Cause::SendLimitedCwnd,
            Phase::Constant => Cause::SendLimitedSendBuffer,
        },
    }
}
