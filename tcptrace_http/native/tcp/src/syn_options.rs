//! Options of a SYN (RFC 9293, section 3.2), and the window scale.

use trace_model::Segment;

/// Largest shift of a window scale option (RFC 7323, section 2.3).
const WINDOW_SCALE_MAX: u8 = 14;

/// Options of one direction's SYN.
#[derive(Debug, Default)]
pub struct SynOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub uses_timestamps: bool,
    pub sack_permitted: bool,
}

impl SynOptions {
    pub(crate) fn take(&mut self, syn: &Segment<'_>) {
        self.mss = syn.options.mss.or(self.mss);
        self.window_scale = syn
            .options
            .window_scale
            .map(|shift| shift.min(WINDOW_SCALE_MAX));
        self.uses_timestamps = syn.options.timestamps.is_some();
        self.sack_permitted = syn.options.sack_permitted;
    }

    /// Return the receive window of `segment` in bytes.
    ///
    /// The window is scaled only if both ends sent the option, and never on a SYN (RFC 7323, section 2.2).
    #[must_use]
    pub fn window_bytes(&self, segment: &Segment<'_>, peer: &SynOptions, is_syn: bool) -> u32 {
        let raw = u32::from(segment.window);
        match (self.window_scale, peer.window_scale) {
            (Some(shift), Some(_)) if !is_syn => raw.checked_shl(u32::from(shift)).unwrap_or(raw),
            _ => raw,
        }
    }
}
