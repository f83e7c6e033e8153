//! Receive windows that a direction announced.

/// Smallest nonzero, largest and mean window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Windows {
    count: u64,
    sum: u64,
    least: Option<u32>,
    most: Option<u32>,
}

impl Windows {
    pub fn add(&mut self, window: u32) {
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(u64::from(window));
        self.most = self.most.max(Some(window));
        if window > 0 {
            self.least = Some(self.least.map_or(window, |least| least.min(window)));
        }
    }

    /// Return the statistics of both sets of windows together.
    #[must_use]
    pub fn with(self, other: Windows) -> Windows {
        let least = [self.least, other.least].into_iter().flatten().min();
        Windows {
            count: self.count.saturating_add(other.count),
            sum: self.sum.saturating_add(other.sum),
            least,
            most: self.most.max(other.most),
        }
    }

    #[must_use]
    pub fn least(&self) -> Option<u32> {
        self.least
    }

    #[must_use]
    pub fn most(&self) -> Option<u32> {
        self.most
    }

    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Windows of a direction, kept apart by SYN.
///
/// The window of a SYN is never scaled (RFC 7323, section 2.2), and does not count beside scaled windows.
#[derive(Debug, Default)]
pub struct AnnouncedWindows {
    on_syn: Windows,
    others: Windows,
    /// Last announced window.
    pub last: Option<u32>,
}

impl AnnouncedWindows {
    pub fn add(&mut self, window: u32, is_syn: bool) {
        if is_syn {
            self.on_syn.add(window);
        } else {
            self.others.add(window);
        }
        self.last = Some(window);
    }

    #[must_use]
    pub fn all(&self, is_scaled: bool) -> Windows {
        if is_scaled && self.others.count > 0 {
            self.others
        } else {
            self.others.with(self.on_syn)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_syn_does_not_count_beside_scaled_ones() {
        let mut announced = AnnouncedWindows::default();
        announced.add(100, true);
        announced.add(0, false);
        announced.add(400, false);
        let (plain, scaled) = (announced.all(false), announced.all(true));
        assert_eq!((plain.least(), plain.most()), (Some(100), Some(400)));
        assert_eq!((scaled.least(), scaled.mean()), (Some(400), Some(200.0)));
        let mut alone = AnnouncedWindows::default();
        alone.add(100, true);
        assert_eq!(alone.all(true).most(), Some(100));
    }
}
