//! State of the rules per direction.

use trace_model::rows::SegmentRow;
use trace_model::{flags, SeqNumber};

use super::unacknowledged::UnackedSegments;
use super::SeenSegment;

/// Largest shift of a window scale option (RFC 7323, section 2.3).
const WINDOW_SCALE_MAX: u8 = 14;

/// Knowledge about the window scale of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// The SYN was not captured: windows are shown unscaled, and no window counts as full.
    #[default]
    Unknown,
    /// The SYN had no window scale option.
    Unused,
    Shift(u8),
}

impl Scale {
    pub fn scaled(self, window: u16) -> u32 {
        let shift = match self {
            Scale::Shift(shift) => shift,
            Scale::Unknown | Scale::Unused => 0,
        };
        u32::from(window) << shift.min(WINDOW_SCALE_MAX)
    }
}

/// Fields of a direction's last segment.
#[derive(Debug, Default)]
pub struct LastSegment {
    /// Acknowledgment number and window from the header.
    pub ack: SeqNumber,
    pub has_ack: bool,
    pub time_ns: i64,
    pub window: Option<u16>,
    pub is_keep_alive: bool,
    pub is_zero_window_probe: bool,
}

impl LastSegment {
    pub fn new(seen: &SeenSegment, row: &SegmentRow) -> Self {
        LastSegment {
            ack: seen.ack,
            has_ack: seen.has_any(flags::ACK),
            time_ns: seen.time_ns,
            window: Some(seen.window),
            is_keep_alive: row.is_keep_alive,
            is_zero_window_probe: row.is_zero_window_probe,
        }
    }

    /// Return the acknowledged number, if the ACK flag is set.
    pub fn acknowledged(&self) -> Option<SeqNumber> {
        self.has_ack.then_some(self.ack)
    }
}

/// State of one direction.
#[derive(Debug)]
pub struct Sender {
    /// Initial sequence number; without a SYN, the number before the first number seen.
    pub initial: Option<SeqNumber>,
    /// Highest number sent, its frame and its time.
    pub next: Option<SeqNumber>,
    pub next_frame: u64,
    pub next_ns: i64,
    /// Highest number that an ACK may name without a hole before it.
    pub contiguous: Option<SeqNumber>,
    pub last: LastSegment,
    pub scale: Scale,
    /// Frame that first sent the acknowledgment number of `last`, and the number of repetitions.
    pub first_ack_frame: u64,
    pub duplicate_acks: u32,
    /// True if the peer's ACK of uncaptured data was reported once; further reports are suppressed.
    pub is_unseen_reported: bool,
    /// True after the peer's ACK of uncaptured data: the next duplicate ACK counts as the first.
    pub is_count_restarted: bool,
    /// False from a lost segment to the peer's next ACK.
    pub flight_is_known: bool,
    pub unacknowledged: UnackedSegments,
    /// Bytes in the SACK blocks of the last segment.
    pub sacked_bytes: u32,
    /// Payload bytes since the last PSH.
    pub push_bytes: u32,
    pub was_push: bool,
}

impl Default for Sender {
    fn default() -> Self {
        Sender {
            initial: None,
            next: None,
            next_frame: 0,
            next_ns: 0,
            contiguous: None,
            last: LastSegment::default(),
            scale: Scale::default(),
            first_ack_frame: 0,
            duplicate_acks: 0,
            is_unseen_reported: false,
            is_count_restarted: false,
            flight_is_known: true,
            unacknowledged: UnackedSegments::default(),
            sacked_bytes: 0,
            push_bytes: 0,
            was_push: false,
        }
    }
}

impl Sender {
    /// Return whether `seq` is the next expected number.
    pub fn expects(&self, seq: SeqNumber) -> bool {
        self.next == Some(seq)
    }

    /// Advance the highest numbers.
    pub fn advance(&mut self, seen: &SeenSegment, row: &SegmentRow) {
        if seen.occupies() {
            self.unacknowledged.push(seen);
        }
        let end = seen.end();
        // A zero window probe may be refused and advances no number.
        if row.is_zero_window_probe {
            return;
        }
        if self.next.is_none_or(|next| end.is_after(next)) {
            self.next = Some(end);
            self.next_frame = seen.frame;
            self.next_ns = seen.time_ns;
        }
        if self.contiguous.is_none_or(|at| at == seen.seq) {
            self.contiguous = self.next;
        }
    }

    /// Return the window that a segment announces; a SYN's window is never scaled (RFC 7323, section 2.2).
    pub fn window_bytes(&self, seen: &SeenSegment) -> u32 {
        if seen.has_any(flags::SYN) {
            u32::from(seen.window)
        } else {
            self.scale.scaled(seen.window)
        }
    }
}

/// Set the initial numbers; return true for a SYN-ACK with a number other than its sender's initial number.
pub fn begin(sender: &mut Sender, peer: &mut Sender, seen: &SeenSegment) -> bool {
    let is_syn = seen.has_any(flags::SYN);
    let before = |number: SeqNumber| SeqNumber(number.0.wrapping_sub(1));
    if seen.has_any(flags::ACK) {
        peer.initial.get_or_insert(before(seen.ack));
        if is_syn && sender.initial.is_some_and(|initial| initial != seen.seq) {
            sender.initial = Some(seen.seq);
            return true;
        }
    }
    if is_syn && sender.initial == Some(seen.seq) && !seen.has_any(flags::ACK) {
        // An RST may carry the number that the peer acknowledged, ahead of all others.
        sender.next = sender.contiguous;
    }
    let own = if is_syn { seen.seq } else { before(seen.seq) };
    sender.initial.get_or_insert(own);
    false
}

/// Take the window scale option of a SYN; without one, neither direction scales.
pub fn negotiate_scale(
    sender: &mut Sender,
    peer: &mut Sender,
    option: Option<u8>,
    is_syn_ack: bool,
) {
    match option {
        Some(_) if is_syn_ack && peer.scale == Scale::Unused => sender.scale = Scale::Unused,
        Some(shift) => sender.scale = Scale::Shift(shift),
        None => {
            sender.scale = Scale::Unused;
            peer.scale = Scale::Unused;
        }
    }
}
