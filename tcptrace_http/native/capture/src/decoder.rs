//! The decoder: cuts chunks of a file into records and passes packets to the sink.
//!
//! Theory of operation. Records are read directly from the chunk. An incomplete record at the chunk's end is
//! kept in `tail`. `wanted` is the length at which the container format can read the tail further. The next
//! chunk first fills the tail to exactly that length. Only a record that spans chunks is copied, and at most
//! one record is kept. After fatal damage or an error, the rest of the file is ignored.

use trace_model::{AnomalyKind, PacketSink};

use crate::emitter::Emitter;
use crate::error::CaptureError;
use crate::kept_frame::KeptFrame;
use crate::pcap::{self, Pcap};
use crate::pcapng::{self, Pcapng};
use crate::progress::Progress;
use crate::provenance::Provenance;
use crate::unknown_format;

enum Container {
    Unrecognised,
    Pcap(Pcap),
    Pcapng(Pcapng),
    /// State after fatal damage or an error: the decoder reads nothing more.
    Stopped,
}

/// A decoder of one capture file, fed in chunks.
pub struct Decoder {
    container: Container,
    emitter: Emitter,
    /// The start of a record whose rest is not fed yet.
    tail: Vec<u8>,
    /// The tail's length at which it can be read further.
    wanted: usize,
    /// Remaining bytes of a skipped block.
    skip: u64,
    /// Offset in the file of the next record.
    offset: u64,
    /// Number of finished files of the stream.
    files: u32,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    #[must_use]
    pub fn new() -> Self {
        Decoder {
            container: Container::Unrecognised,
            emitter: Emitter::new(),
            tail: Vec::new(),
            wanted: 0,
            skip: 0,
            offset: 0,
            files: 0,
        }
    }

    /// Keep the bytes of the frame with this number, counted from 1.
    pub fn keep(&mut self, frame: u64) {
        self.emitter.keep = frame;
    }

    /// Return the frame to keep, if the decoder has read it.
    #[must_use]
    pub fn kept(&self) -> Option<&KeptFrame> {
        self.emitter.kept.as_ref()
    }

    /// Read the next chunk. Every cut of the file into chunks gives the same packets.
    ///
    /// # Errors
    /// The file is no capture, is damaged before its first packet, or has an unsupported link type. Bytes fed
    /// after an error are ignored.
    pub fn feed<S: PacketSink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), CaptureError> {
        let fed = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let read = &mut self.emitter.provenance.bytes_read;
        *read = read.saturating_add(fed);
        let result = self.read(bytes, sink);
        if result.is_err() {
            self.stop();
        }
        result
    }

    fn read<S: PacketSink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), CaptureError> {
        let mut input = bytes;
        loop {
            input = self.skipped(input);
            let is_tail_ready = !self.tail.is_empty() && self.tail.len() >= self.wanted;
            if input.is_empty() && !is_tail_ready || matches!(self.container, Container::Stopped) {
                return Ok(());
            }
            if self.tail.is_empty() {
                input = self.read_in_place(input, sink)?;
            } else {
                input = self.read_tail(input, sink)?;
            }
        }
    }

    /// Return the input without the bytes of a skipped block.
    fn skipped<'a>(&mut self, input: &'a [u8]) -> &'a [u8] {
        let here = usize::try_from(self.skip)
            .unwrap_or(usize::MAX)
            .min(input.len());
        let passed = u64::try_from(here).unwrap_or(u64::MAX);
        self.skip = self.skip.saturating_sub(passed);
        self.offset = self.offset.saturating_add(passed);
        input.get(here..).unwrap_or(&[])
    }

    /// Read records directly from the input. Move an incomplete record into the tail.
    fn read_in_place<'a, S: PacketSink>(
        &mut self,
        mut input: &'a [u8],
        sink: &mut S,
    ) -> Result<&'a [u8], CaptureError> {
        loop {
            match self.advance(input, sink)? {
                Progress::Advanced(used) => {
                    self.pass(used);
                    input = input.get(used..).unwrap_or(&[]);
                    if input.is_empty() {
                        return Ok(input);
                    }
                }
                Progress::Incomplete(wanted) => {
                    self.tail.extend_from_slice(input);
                    self.wanted = wanted;
                    return Ok(&[]);
                }
                Progress::Skip(total) => {
                    self.skip = total;
                    return Ok(input);
                }
                Progress::Malformed(what) => {
                    self.damaged(what, sink)?;
                    return Ok(&[]);
                }
            }
        }
    }

    /// Fill the tail to the wanted length, and read the tail if that length is reached.
    fn read_tail<'a, S: PacketSink>(
        &mut self,
        input: &'a [u8],
        sink: &mut S,
    ) -> Result<&'a [u8], CaptureError> {
        let missing = self.wanted.saturating_sub(self.tail.len()).min(input.len());
        let (now, rest) = input.split_at_checked(missing).unwrap_or((input, &[]));
        self.tail.extend_from_slice(now);
        if self.tail.len() < self.wanted {
            return Ok(rest);
        }
        let mut tail = std::mem::take(&mut self.tail);
        match self.advance(&tail, sink)? {
            Progress::Advanced(used) => {
                self.pass(used);
                tail.drain(..used.min(tail.len()));
                // The remaining tail can be read immediately.
                self.wanted = tail.len();
            }
            Progress::Incomplete(wanted) => self.wanted = wanted,
            Progress::Skip(total) => {
                let held = usize::try_from(total).unwrap_or(usize::MAX).min(tail.len());
                self.pass(held);
                self.skip = total.saturating_sub(u64::try_from(held).unwrap_or(u64::MAX));
                tail.drain(..held);
                self.wanted = tail.len();
            }
            Progress::Malformed(what) => {
                self.damaged(what, sink)?;
                return Ok(&[]);
            }
        }
        self.tail = tail;
        Ok(rest)
    }

    fn pass(&mut self, used: usize) {
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        self.offset = self.offset.saturating_add(used);
    }

    #[inline]
    fn advance<S: PacketSink>(
        &mut self,
        input: &[u8],
        sink: &mut S,
    ) -> Result<Progress, CaptureError> {
        match &mut self.container {
            Container::Pcap(pcap) => pcap.advance(input, &mut self.emitter, sink),
            Container::Pcapng(pcapng) => {
                Ok(pcapng.advance(input, self.offset, &mut self.emitter, sink))
            }
            Container::Unrecognised => self.recognise(input),
            Container::Stopped => Ok(Progress::Advanced(input.len())),
        }
    }

    /// Identify the format from the first bytes of the file.
    fn recognise(&mut self, input: &[u8]) -> Result<Progress, CaptureError> {
        let Some(start) = input.first_chunk::<{ unknown_format::MAGIC_BYTES }>() else {
            return Ok(Progress::Incomplete(unknown_format::MAGIC_BYTES));
        };
        if pcapng::is_pcapng(start) {
            self.emitter.provenance.format = "pcapng";
            self.container = Container::Pcapng(Pcapng::new());
            return Ok(Progress::Advanced(0));
        }
        if pcap::is_pcap(start) {
            return Ok(match Pcap::open(input, &mut self.emitter) {
                None => Progress::Incomplete(pcap::FILE_HEADER_BYTES),
                Some(Err(what)) => Progress::Malformed(what),
                Some(Ok(pcap)) => {
                    self.container = Container::Pcap(pcap);
                    Progress::Advanced(pcap::FILE_HEADER_BYTES)
                }
            });
        }
        match input.get(..unknown_format::FORMAT_BYTES) {
            Some(start) => Err(unknown_format::error(start)),
            None => Ok(Progress::Incomplete(unknown_format::FORMAT_BYTES)),
        }
    }

    /// Report fatal damage: as an anomaly after the first packet, else as an error.
    fn damaged<S: PacketSink>(&mut self, what: String, sink: &mut S) -> Result<(), CaptureError> {
        let after_packet = self.emitter.provenance.packets;
        if after_packet == 0 {
            return Err(CaptureError::MalformedCapture {
                what,
                offset: self.offset,
                after_packet,
            });
        }
        self.emitter.provenance.damaged_at_offset = Some(self.offset);
        self.emitter.notices.report(
            AnomalyKind::MalformedBlock,
            Some(after_packet),
            Some(self.offset),
            || format!("{what}; the rest of the file was not read"),
        );
        self.emitter.notices.flush(sink);
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        self.container = Container::Stopped;
        self.tail = Vec::new();
        self.skip = 0;
    }

    /// End one file of a stream of several files, such as rotated captures. The next bytes belong to the next
    /// file, and frame numbers continue. Return true if the file was read to its end.
    ///
    /// # Errors
    /// The errors are those of [`Decoder::finish`]. The next file can still be fed.
    pub fn next_file<S: PacketSink>(&mut self, sink: &mut S) -> Result<bool, CaptureError> {
        let is_damaged = matches!(self.container, Container::Stopped);
        let is_cut = self.is_inside_record();
        let outcome = match &self.container {
            Container::Unrecognised => Err(unknown_format::error_at_end(&self.tail)),
            Container::Pcapng(pcapng) => pcapng.outcome(&self.emitter, self.tail.len()),
            Container::Pcap(_) | Container::Stopped => Ok(()),
        };
        if outcome.is_ok() && is_cut {
            self.cut_short();
            self.emitter.notices.flush(sink);
        }
        self.stop();
        self.container = Container::Unrecognised;
        self.wanted = 0;
        self.offset = 0;
        self.files = self.files.saturating_add(1);
        outcome.map(|()| !is_cut && !is_damaged)
    }

    /// End the input. Report incomplete records at the end of the file, and the total of each anomaly kind.
    ///
    /// # Errors
    /// The file is empty, ends inside its header, or has no readable packet.
    pub fn finish<S: PacketSink>(&mut self, sink: &mut S) -> Result<(), CaptureError> {
        let is_cut = self.is_inside_record();
        match &self.container {
            Container::Unrecognised if self.files > 0 && self.tail.is_empty() => {}
            Container::Unrecognised => {
                let error = unknown_format::error_at_end(&self.tail);
                self.stop();
                return Err(error);
            }
            Container::Pcapng(pcapng) => {
                let outcome = pcapng.outcome(&self.emitter, self.tail.len());
                if outcome.is_err() {
                    self.stop();
                    return outcome;
                }
            }
            Container::Pcap(_) | Container::Stopped => {}
        }
        if is_cut {
            self.cut_short();
        }
        self.stop();
        self.emitter.finish(sink);
        Ok(())
    }

    fn is_inside_record(&self) -> bool {
        let is_inside_block = match &self.container {
            Container::Pcapng(pcapng) => pcapng.is_inside_block(),
            Container::Unrecognised | Container::Pcap(_) | Container::Stopped => false,
        };
        is_inside_block || self.skip > 0 || !self.tail.is_empty()
    }

    fn cut_short(&mut self) {
        let packets = self.emitter.provenance.packets;
        self.emitter.provenance.truncated = true;
        self.emitter.notices.report(
            AnomalyKind::CaptureCutShort,
            Some(packets).filter(|packets| *packets > 0),
            Some(self.offset),
            || format!("the file ends inside a record, after packet {packets}"),
        );
    }

    /// Return the provenance of the file, from the bytes read so far.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        self.emitter.provenance.clone()
    }
}

#[cfg(test)]
mod tests;
