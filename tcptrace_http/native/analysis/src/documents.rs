//! The HTML documents of finished transactions, and the table `links` where it is asked for: most who analyse a
//! capture need no more of it than pages do.

use std::sync::Arc;

use tcptrace_http_messages::Links;
use trace_model::column::Columns;
use trace_model::rows::{LinkRow, LinksTable};

/// Links of some three thousand pages with as many as are kept of one: memory of the table, if it is made.
const LINKS_BYTES_MAX: usize = 256 << 20;

/// A document that refers to something.
#[derive(Clone, Debug)]
pub struct Document {
    pub flow: u32,
    pub transaction: u32,
    pub links: Arc<Links>,
}

/// Documents as they come, few enough to be kept.
#[derive(Debug, Default)]
pub struct Documents {
    taken: Vec<Document>,
    bytes: usize,
    /// Memory of the table, if it were made.
    row_bytes: usize,
    left_out: u64,
}

impl Document {
    /// Memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Document>().saturating_add(self.links.bytes())
    }

    /// Memory of its rows.
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
        // Of a link with very many segments the document takes more than its row.
        let row_bytes = document.row_bytes().max(bytes);
        self.row_bytes = self.row_bytes.saturating_add(row_bytes);
        self.taken.push(document);
    }

    /// Memory of the documents that there are; once the table would be half full that of a full one, so that they are
    /// taken before any is left out.
    #[must_use]
    pub fn bytes(&self) -> usize {
        if self.row_bytes > LINKS_BYTES_MAX / 2 {
            LINKS_BYTES_MAX
        } else {
            self.bytes
        }
    }

    /// Takes the documents that there are; there is room for as many again.
    #[must_use]
    pub fn take(&mut self) -> Vec<Document> {
        self.bytes = 0;
        self.row_bytes = 0;
        std::mem::take(&mut self.taken)
    }

    /// What to say of those that were left out.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} more rows of links are not kept: the table has reached {} MiB",
                self.left_out,
                LINKS_BYTES_MAX >> 20
            )
        })
    }
}

/// The table `links`.
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
    fn documents_are_kept_until_their_rows_would_take_too_much() {
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
            // They are to be taken when the table would be half full.
            match transaction as usize {
                100 => assert!(documents.bytes() < 200_000_000),
                150 => assert_eq!(documents.bytes(), LINKS_BYTES_MAX),
                _ => {}
            }
        }
        let kept = documents.take();
        assert!((most - 20..=most).contains(&kept.len()), "{}", kept.len());
        let left_out = (most + 10 - kept.len()) * 500;
        let said = documents.complaint().unwrap_or_default();
        assert!(said.starts_with(&format!("{left_out} more rows of links are not kept")));
        assert_eq!(link_rows(&kept[..2]).rows, 1000);
    }
}
