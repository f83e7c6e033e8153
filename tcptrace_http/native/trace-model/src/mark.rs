/// The packet that carried some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    pub frame: u64,
    pub time_ns: i64,
}

impl Mark {
    /// Whichever of the two was captured later. Bytes in stream order need not be in frame order.
    #[must_use]
    pub fn later(self, other: Mark) -> Mark {
        if other.frame > self.frame {
            other
        } else {
            self
        }
    }
}
