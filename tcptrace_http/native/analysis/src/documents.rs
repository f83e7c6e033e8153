//! HTML documents of finished transactions, and the table `links` on request.
//!
//! Most analyses need links only for pages.

use std::sync::Arc;

use tcptrace_http_messages::Links;
use trace_model::column::Columns;
use trace_model::rows::{LinkRow, LinksTable};

/// Maximum size of the table: about 3000 pages with the maximum number of links each.
const LINKS_BYTES_MAX: usize = 256 << 20;

/// Document that contains references.
#[derive(Clone, Debug)]
pub struct Document {
    pub flow: u32,
    pub transaction: u32,
    pub links: Arc<Links>,
}

/// Documents in order of arrival, up to a memory limit.
#[derive(Debug, Default)]
pub struct Documents {
    taken: Vec<Document>,
    bytes: usize,
    /// Memory of the table `links` for these documents.
    row_bytes: usize,
    left_out: u64,
}

impl Document {
    /// Return the memory of the document.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Document>().saturating_add(self.links.bytes())
    }

    /// Return the memory of its table rows.
    fn row_bytes(&self) -> usize {
        let base_bytes = self.links.base().map_or(0, str::len);
        let fixed = size_of::<LinkRow>().saturating_add(base_bytes);
        let rows = self.links.count();
        rows.saturating_mul(fixed)
            .saturating_add(self.links.url_bytes())
    }
}

impl Documents {
    pub fn push(&mut self, document: Document) {
        if self.row_bytes > LINKS_BYTES_MAX {
            let links = document.links.count() as u64;
            self.left_out = self.left_out.saturating_add(links);
            return;
        }
        let bytes = document.bytes();
        self.bytes = self.bytes.saturating_add(bytes);
        // A link with very many segments takes more memory in the document than in its row.
        let row_bytes = document.row_bytes().max(bytes);
        self.row_bytes = self.row_bytes.saturating_add(row_bytes);
        self.taken.push(document);
    }

    /// Return the memory of the documents; from half of the limit on, return the limit.
    ///
    /// The caller then takes the documents before one is omitted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        if self.row_bytes > LINKS_BYTES_MAX / 2 {
            LINKS_BYTES_MAX
        } else {
            self.bytes
        }
    }

    /// Take the documents; the list then has room for the same number.
    #[must_use]
    pub fn take(&mut self) -> Vec<Document> {
        self.bytes = 0;
        self.row_bytes = 0;
        std::mem::take(&mut self.taken)
    }

    /// Return the message about omitted documents.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} rows of links omitted: the table reached its limit of {} MiB",
                self.left_out,
                LINKS_BYTES_MAX >> 20
            )
        })
    }
}

/// Return the table `links`.
#[must_use]
pub fn link_rows(documents: &[Document]) -> Columns {
    let mut table = LinksTable::default();
    for document in documents {
        let base = document.links.base().map(String::from);
        for (url, known) in document.links.iter() {
            table.push(&LinkRow {
                flow: document.flow,
                transaction: document.transaction,
                frame: known.frame,
                time: known.time_ns,
                url: url.to_owned(),
                base: base.clone(),
            });
        }
    }
    table.into_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::Mark;

    #[test]
    fn documents_are_kept_up_to_the_row_limit() {
        let url = "x".repeat(2000);
        let links = vec![(url.as_str(), Mark::default()); 500];
        let links = Arc::new(Links::by_hand(Some("/b/"), links.into_iter()));
        let mut documents = Documents::default();
        let most = LINKS_BYTES_MAX / 500 / 2000;
        for transaction in 0..most as u32 + 10 {
            documents.push(Document {
                flow: 1,
                transaction,
                links: Arc::clone(&links),
            });
            // The documents must be taken when the table would be half full.
            match transaction as usize {
                100 => assert!(documents.bytes() < 200_000_000),
                150 => assert_eq!(documents.bytes(), LINKS_BYTES_MAX),
                _ => {}
            }
        }
        let kept = documents.take();
        assert!((most - 20..=most).contains(&kept.len()), "{}", kept.len());
        let left_out = (most + 10 - kept.len()) * 500;
        let message = documents.complaint().unwrap_or_default();
        assert!(message.starts_with(&format!("{left_out} rows of links omitted")));
        assert_eq!(link_rows(&kept[..2]).rows, 1000);
    }
}
