//! Flow-control window (RFC 9113, section 5.2) at the capture point.

use std::collections::VecDeque;

use trace_model::Mark;

/// Initial window (RFC 9113, section 6.9.2).
pub(crate) const INITIAL_BYTES: i64 = 65_535;
/// Maximum number of pending grants: a receiver that grants single bytes must not cost memory.
const GRANTS_MAX: usize = 64;

/// Grant that extends the limit from `from` bytes on.
#[derive(Clone, Copy, Debug)]
struct Grant {
    from: i64,
    by: Mark,
}

/// Flow-control window of a stream or a connection in one direction.
#[derive(Debug, Default)]
pub(crate) struct Window {
    used: i64,
    /// Total number of allowed bytes; `None` if the start was not captured.
    limit: Option<i64>,
    grants: VecDeque<Grant>,
}

impl Window {
    pub(crate) fn of(limit: Option<i64>) -> Self {
        Window {
            limit,
            ..Window::default()
        }
    }

    /// Return the free bytes of the window.
    pub(crate) fn left(&self) -> Option<i64> {
        self.limit.map(|limit| limit.saturating_sub(self.used))
    }

    pub(crate) fn limit(&self) -> Option<i64> {
        self.limit
    }

    /// Extend the limit, or reduce it for negative `bytes`.
    pub(crate) fn give(&mut self, bytes: i64, by: Mark) {
        let Some(limit) = &mut self.limit else { return };
        if self.grants.len() < GRANTS_MAX && bytes > 0 {
            self.grants.push_back(Grant { from: *limit, by });
        }
        *limit = limit.saturating_add(bytes);
    }

    /// Use `bytes` of the window for DATA, and return the grant that the DATA had to wait for, if any.
    pub(crate) fn take(&mut self, bytes: u32) -> Option<Mark> {
        let at = self.used;
        self.used = at.saturating_add(i64::from(bytes));
        if bytes == 0 {
            return None;
        }
        while self.grants.front().is_some_and(|it| it.from < at) {
            self.grants.pop_front();
        }
        let grant = self.grants.front().filter(|it| it.from == at)?;
        Some(grant.by)
    }

    /// Mark the used bytes as unknown.
    pub(crate) fn lose(&mut self) {
        self.limit = None;
        self.grants = VecDeque::new();
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.grants.capacity().saturating_mul(size_of::<Grant>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(frame: u64) -> Mark {
        Mark { frame, time_ns: 0 }
    }

    #[test]
    fn data_behind_an_exhausted_window_waited_for_the_next_grant() {
        let mut window = Window::of(Some(100));
        assert_eq!(window.take(60), None);
        window.give(50, mark(7));
        assert_eq!(window.take(40), None);
        window.give(50, mark(8));
        assert_eq!(window.take(50), Some(mark(7)));
        assert_eq!(window.take(50), Some(mark(8)));
        assert_eq!(window.left(), Some(0));
    }

    #[test]
    fn unknown_window_holds_no_data() {
        let mut window = Window::of(None);
        window.give(50, mark(7));
        assert_eq!(window.take(50), None);
        assert_eq!(window.left(), None);
    }
}
