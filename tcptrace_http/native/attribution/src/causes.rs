//! Cause table: constraint, kind of ACK and phase of the congestion window give the cause.

use tcptrace_sender::congestion::Phase;
use trace_model::rows::{Cause, Constraint as Word, Direction};

/// Constraint on a segment's departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// Residual constraint: the application had not written the segment.
    #[default]
    Application,
    ReceiveWindow,
    ZeroWindow,
    /// The receive window opened without an ACK of new data: the receiver's application had not read.
    Reader,
    CongestionWindow,
    Nagle,
}

/// Causes of the same wait for a request and for a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CauseWords {
    pub(crate) direction: Direction,
    pub(crate) application: Cause,
    pub(crate) pace: Cause,
    /// Cause of a receiver whose application did not read.
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

/// Owner of the stream.
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

/// Return the table's constraint for `constraint` in a phase.
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

/// Return the cause of a wait that `constraint` bound.
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
