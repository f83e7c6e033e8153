//! What waits are called in either direction.

use trace_model::rows::Cause;

/// Words for the causes that differ by direction.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Words {
    pub(in crate::waits) burst: Cause,
    pub(in crate::waits) idle: Cause,
}

impl Words {
    pub(in crate::waits) const OF_RESPONSES: Words = Words {
        burst: Cause::SendLimitedBottleneck,
        idle: Cause::ServerDataUnavailable,
    };
    pub(in crate::waits) const OF_REQUESTS: Words = Words {
        burst: Cause::RequestSend,
        idle: Cause::ClientThink,
    };
}
