//! The file of a TLS key log. Its secrets are wiped from memory after use.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

/// Bytes per read.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Clone)]
pub struct KeyFile {
    pub name: String,
    pub text: Arc<Zeroizing<Vec<u8>>>,
}

impl KeyFile {
    /// Read the file. A growing buffer would leave secrets behind, so each buffer is wiped when a longer one
    /// replaces it.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut text = Zeroizing::new(Vec::with_capacity(CHUNK_BYTES));
        let mut chunk = Zeroizing::new(vec![0; CHUNK_BYTES]);
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                break;
            }
            if text.len().saturating_add(count) > text.capacity() {
                let room = text.capacity().saturating_mul(2).saturating_add(count);
                let mut longer = Zeroizing::new(Vec::with_capacity(room));
                longer.extend_from_slice(&text);
                text = longer;
            }
            text.extend_from_slice(chunk.get(..count).unwrap_or_default());
        }
        Ok(KeyFile {
            name: path.display().to_string(),
            text: Arc::new(text),
        })
    }
}
