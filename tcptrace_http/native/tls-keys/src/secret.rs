//! Secret bytes, wiped on drop and absent from all output.

use std::fmt;

use zeroize::Zeroizing;

/// A secret of the key schedule, or a key derived from a secret. A move leaves no copy behind.
pub(crate) struct Secret(Zeroizing<Box<[u8]>>);

impl Secret {
    /// Create a secret of `length` bytes that `fill` writes.
    pub(crate) fn filled(
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Option<()>,
    ) -> Option<Self> {
        let mut bytes = Zeroizing::new(vec![0; length].into_boxed_slice());
        fill(&mut bytes)?;
        Some(Secret(bytes))
    }

    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        Secret(Zeroizing::new(bytes.into()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secret({} bytes)", self.0.len())
    }
}
