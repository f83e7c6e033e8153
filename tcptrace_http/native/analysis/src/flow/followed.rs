//! What is followed of a flow that is more than a SYN.

use std::sync::LazyLock;

use trace_model::{flags, Segment};

use super::Flow;
use crate::pauses::PauseTracker;
use crate::queues::Queues;
use crate::shared_windows::Sharing;

/// Of the server's data. A SYN that nobody has answered has none of it: of such flows there may be very many at once.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// What other connections between the same hosts have to do with the present segment.
    pub(super) sharing: Sharing,
    pub(super) pauses: PauseTracker,
    pub(super) queues: Queues,
}

static NOTHING: LazyLock<Sharing> = LazyLock::new(Sharing::default);

impl Flow {
    /// Its next segment comes, and other connections have this to do with it.
    pub fn shares(&mut self, segment: &Segment<'_>, sharing: Sharing) {
        let is_bare_syn =
            segment.has(flags::SYN) && !segment.has(flags::ACK) && segment.payload.is_empty();
        if !is_bare_syn || self.followed.is_some() {
            self.followed().sharing = sharing;
        }
    }

    #[inline]
    pub(super) fn followed(&mut self) -> &mut Followed {
        self.followed.get_or_insert_default()
    }

    /// What other connections between the same hosts have to do with the present segment.
    #[inline]
    pub(super) fn sharing(&self) -> &Sharing {
        self.followed
            .as_deref()
            .map_or_else(|| &*NOTHING, |it| &it.sharing)
    }

    /// Whether the server has sent what is short although something was unacknowledged: no algorithm of Nagle's holds it.
    pub(super) fn nagle_is_off(&self) -> bool {
        self.followed
            .as_deref()
            .is_some_and(|it| it.pauses.nagle_is_off())
    }

    /// ... although another short one was.
    pub(super) fn holds_no_short(&self) -> bool {
        self.followed
            .as_deref()
            .is_some_and(|it| it.pauses.holds_no_short())
    }

    /// Times that the server sent a short segment while another one was unacknowledged.
    pub fn nagle_disproofs(&self) -> u32 {
        self.followed
            .as_deref()
            .map_or(0, |it| it.pauses.nagle_disproofs)
    }
}
