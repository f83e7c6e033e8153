//! Rows of the records table, if wanted.

use trace_model::rows::{TlsContentType, TlsRecordRow};

use crate::messages::message_name;
use crate::record::{ContentType, Record};

/// The records since the last hand-out, and the facts of the current record.
#[derive(Debug, Default)]
pub struct RecordLog {
    rows: Vec<TlsRecordRow>,
    /// Clear-text handshake messages that end in the record.
    messages: Vec<u8>,
    /// The content type that decryption revealed.
    opened: Option<TlsContentType>,
}

impl RecordLog {
    /// Take the rows so far. The caller sets their flow.
    pub fn take(&mut self) -> impl Iterator<Item = TlsRecordRow> + '_ {
        self.rows.drain(..)
    }

    pub(crate) fn on_message(&mut self, kind: u8) {
        self.messages.push(kind);
    }

    pub(crate) fn on_opened(&mut self, content_type: Option<u8>) {
        self.opened = content_type.and_then(ContentType::of).map(word);
    }

    /// Take the current record, or its captured part.
    pub(crate) fn on_record(&mut self, record: &Record<'_>) {
        let names: Vec<String> = self.messages.drain(..).map(message_name).collect();
        self.rows.push(TlsRecordRow {
            flow: 0,
            direction: record.direction,
            content_type: word(record.begun.header.content),
            length: record.begun.header.length,
            offset: record.begun.start,
            first_frame: record.begun.first.frame,
            first_time: record.begun.first.time_ns,
            last_frame: record.last.frame,
            last_time: record.last.time_ns,
            handshake_messages: (!names.is_empty()).then(|| names.join(",")),
            decrypted_type: self.opened.take(),
            complete: record.is_complete,
        });
    }
}

fn word(content: ContentType) -> TlsContentType {
    match content {
        ContentType::ChangeCipherSpec => TlsContentType::ChangeCipherSpec,
        ContentType::Alert => TlsContentType::Alert,
        ContentType::Handshake => TlsContentType::Handshake,
        ContentType::ApplicationData => TlsContentType::ApplicationData,
        ContentType::Heartbeat => TlsContentType::Heartbeat,
    }
}
