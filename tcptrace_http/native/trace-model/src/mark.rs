/// The packet that carried given bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    pub frame: u64,
    pub time_ns: i64,
}

impl Mark {
    /// Return the mark captured later. The stream order of bytes can differ from the frame order.
    #[must_use]
    pub fn later(self, other: Mark) -> Mark {
        if other.frame > self.frame {
            other
        } else {
            self
        }
    }
}
