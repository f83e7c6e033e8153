//! Reassembly of datagrams from fragments (RFC 791, section 3.2; RFC 8200, section 4.5).
//!
//! Theory of operation. A partial datagram is a list of disjoint pieces by offset. Of bytes that arrive
//! twice, the first copy is kept. The last fragment sets the datagram's length. The datagram is complete when
//! the pieces cover that length without a hole. The table is bounded in datagrams and in bytes. When the
//! table is full, the oldest datagram is dropped. An incomplete datagram is reported as an anomaly.

use crate::layers::view::View;
use crate::layers::{report, Frame, Stop};
use std::collections::BTreeMap;
use trace_model::{AnomalyKind, IpAddress, Network};

/// Maximum number of partial datagrams. Hosts hold far fewer, because a host sends the fragments of one
/// datagram back to back.
pub(super) const MAX_DATAGRAMS: usize = 4096;
/// Memory limit of all partial datagrams: four times Linux's default (net.ipv4.ipfrag_high_thresh, 4 MiB). A
/// capture point can see many hosts.
pub(super) const MAX_TABLE_BYTES: usize = 16 << 20;
/// Memory overhead per piece. This overhead bounds tiny fragments too.
const PIECE_OVERHEAD_BYTES: usize = 64;
/// Later fragments belong to another datagram (RFC 8200, section 4.5: 60 seconds).
const REASSEMBLY_TIMEOUT_NS: i64 = 60_000_000_000;
/// Maximum of every IP length field.
const MAX_DATAGRAM_BYTES: u32 = 65_535;

/// The fragment fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::layers) struct Fragment {
    /// Offset of the fragment in the payload of the datagram, in bytes.
    pub offset: u32,
    pub more_follow: bool,
    pub identification: u32,
    /// Protocol of the datagram's payload. Only the first fragment's field is used.
    pub protocol: u8,
}

impl Fragment {
    /// Return true if the fragment is a whole datagram (RFC 6946: an atomic fragment).
    pub fn is_whole(&self) -> bool {
        self.offset == 0 && !self.more_follow
    }
}

/// A complete payload, with the IP header of the completing fragment.
pub(in crate::layers) struct Datagram {
    pub network: Network,
    pub bytes: Vec<u8>,
}

/// The common key of a datagram's fragments. The key includes the protocol in IPv4 (RFC 791, section 3.2),
/// and excludes it in IPv6 (RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    source: IpAddress,
    destination: IpAddress,
    identification: u32,
    protocol: Option<u8>,
}

impl Key {
    fn of(network: &Network, fragment: Fragment) -> Self {
        Key {
            source: network.source,
            destination: network.destination,
            identification: fragment.identification,
            protocol: (!network.source.is_v6).then_some(fragment.protocol),
        }
    }
}

/// A partial datagram.
struct Partial {
    first_frame: u64,
    begun_ns: i64,
    /// Rank of the datagram by its first fragment's arrival.
    order: u64,
    pieces: BTreeMap<u32, Vec<u8>>,
    covered_bytes: u32,
    /// Length of the payload, set by the last fragment.
    total_bytes: Option<u32>,
    /// Protocol of the payload, set by the first fragment.
    protocol: Option<u8>,
}

/// The outcome of adding a fragment.
#[derive(Default)]
struct Added {
    kept_bytes: usize,
    differs: bool,
}

impl Partial {
    /// Keep the new bytes of a fragment.
    fn add(&mut self, offset: u32, bytes: &[u8]) -> Added {
        let mut added = Added::default();
        let end = offset.saturating_add(length(bytes));
        let mut at = offset;
        while at < end {
            let (hole_end, after_hole) = match self.piece_at(at) {
                Some((start, piece)) => {
                    let piece_end = start.saturating_add(length(piece));
                    let overlap_end = piece_end.min(end);
                    let ours = part(bytes, offset, at, overlap_end);
                    added.differs |= ours != part(piece, start, at, overlap_end);
                    (at, overlap_end)
                }
                None => {
                    let next = self
                        .pieces
                        .range(at..)
                        .next()
                        .map_or(end, |(start, _)| (*start).min(end));
                    (next, next)
                }
            };
            if hole_end > at {
                let new = part(bytes, offset, at, hole_end);
                self.covered_bytes = self.covered_bytes.saturating_add(length(new));
                added.kept_bytes = added
                    .kept_bytes
                    .saturating_add(new.len())
                    .saturating_add(PIECE_OVERHEAD_BYTES);
                self.pieces.insert(at, new.to_vec());
            }
            at = after_hole;
        }
        added
    }

    /// Return the piece that holds the byte at an offset.
    fn piece_at(&self, offset: u32) -> Option<(u32, &[u8])> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        (start.saturating_add(length(piece)) > offset).then_some((*start, piece.as_slice()))
    }

    /// Return the end of the last piece.
    fn reach(&self) -> u32 {
        self.pieces
            .last_key_value()
            .map_or(0, |(start, piece)| start.saturating_add(length(piece)))
    }

    fn is_complete(&self) -> bool {
        // Pieces are disjoint and end at or before the total, so equal sums leave no hole.
        self.total_bytes == Some(self.covered_bytes) && self.protocol.is_some()
    }

    fn table_bytes(&self) -> usize {
        self.pieces.values().fold(0, |sum: usize, piece| {
            sum.saturating_add(piece.len())
                .saturating_add(PIECE_OVERHEAD_BYTES)
        })
    }
}

/// Fragments of incomplete datagrams.
#[derive(Default)]
pub(in crate::layers) struct FragmentTable {
    partials: BTreeMap<Key, Partial>,
    /// Keys in the arrival order of the datagrams.
    by_order: BTreeMap<u64, Key>,
    begun: u64,
    table_bytes: usize,
}

impl FragmentTable {
    /// Add the fragment in `view`. Return the datagram if the fragment completes it.
    pub fn add(
        &mut self,
        frame: &Frame<'_>,
        network: &Network,
        fragment: Fragment,
        view: View<'_>,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) -> Option<Datagram> {
        if view.is_cut() {
            report(
                Stop::Cut {
                    header: "IP fragment",
                },
                view,
                notice,
            );
            return None;
        }
        let end = fragment.offset.saturating_add(view.length());
        if end > MAX_DATAGRAM_BYTES {
            let field = "end of the IP fragment";
            report(
                Stop::TooLarge {
                    field,
                    value: end,
                    most: MAX_DATAGRAM_BYTES,
                },
                view,
                notice,
            );
            return None;
        }
        let key = Key::of(network, fragment);
        self.drop_stale(key, frame, notice);
        let partial = self.begin(key, frame);
        let added = Self::insert(partial, fragment, view, end, notice)?;
        let is_complete = partial.is_complete();
        self.table_bytes = self.table_bytes.saturating_add(added.kept_bytes);
        if is_complete {
            let partial = self.remove(key)?;
            let protocol = partial.protocol?;
            let bytes = partial.pieces.into_values().flatten().collect();
            return Some(Datagram {
                network: Network {
                    protocol,
                    header_offset: 0,
                    ..*network
                },
                bytes,
            });
        }
        self.make_room(notice);
        None
    }

    /// Check the fragment against the known fields of its datagram, and add the fragment.
    fn insert(
        partial: &mut Partial,
        fragment: Fragment,
        view: View<'_>,
        end: u32,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) -> Option<Added> {
        let field = "end of the IP fragment";
        match partial.total_bytes {
            Some(total) if end > total => {
                report(
                    Stop::TooLarge {
                        field,
                        value: end,
                        most: total,
                    },
                    view,
                    notice,
                );
                return None;
            }
            None if !fragment.more_follow => {
                if partial.reach() > end {
                    report(
                        Stop::TooSmall {
                            field,
                            value: end,
                            least: partial.reach(),
                        },
                        view,
                        notice,
                    );
                    return None;
                }
                partial.total_bytes = Some(end);
            }
            Some(_) | None => {}
        }
        if fragment.offset == 0 {
            partial.protocol.get_or_insert(fragment.protocol);
        }
        let added = partial.add(fragment.offset, view.bytes());
        if added.differs {
            let (offset, first) = (fragment.offset, partial.first_frame);
            notice(
                AnomalyKind::OverlappingDataDiffers,
                format!(
                    "IP fragment at {offset} differs from bytes since frame {first}; \
                     the first copy is kept"
                ),
            );
        }
        Some(added)
    }

    fn begin(&mut self, key: Key, frame: &Frame<'_>) -> &mut Partial {
        let (begun, by_order) = (&mut self.begun, &mut self.by_order);
        self.partials.entry(key).or_insert_with(|| {
            *begun = begun.saturating_add(1);
            by_order.insert(*begun, key);
            Partial {
                first_frame: frame.frame,
                begun_ns: frame.time_ns,
                order: *begun,
                pieces: BTreeMap::new(),
                covered_bytes: 0,
                total_bytes: None,
                protocol: None,
            }
        })
    }

    /// Drop an earlier datagram whose identification is reused.
    fn drop_stale(
        &mut self,
        key: Key,
        frame: &Frame<'_>,
        notice: &mut impl FnMut(AnomalyKind, String),
    ) {
        let is_stale = self.partials.get(&key).is_some_and(|partial| {
            frame.time_ns.saturating_sub(partial.begun_ns) > REASSEMBLY_TIMEOUT_NS
        });
        if is_stale {
            self.give_up(key, "not complete within 60 seconds", notice);
        }
    }

    fn make_room(&mut self, notice: &mut impl FnMut(AnomalyKind, String)) {
        while self.partials.len() > MAX_DATAGRAMS || self.table_bytes > MAX_TABLE_BYTES {
            let Some((_, key)) = self.by_order.first_key_value() else {
                return;
            };
            self.give_up(*key, "dropped to bound memory", notice);
        }
    }

    fn remove(&mut self, key: Key) -> Option<Partial> {
        let partial = self.partials.remove(&key)?;
        self.by_order.remove(&partial.order);
        self.table_bytes = self.table_bytes.saturating_sub(partial.table_bytes());
        Some(partial)
    }

    fn give_up(&mut self, key: Key, why: &str, notice: &mut impl FnMut(AnomalyKind, String)) {
        let Some(partial) = self.remove(key) else {
            return;
        };
        let Key {
            source,
            destination,
            identification,
            ..
        } = key;
        let (frame, got) = (partial.first_frame, partial.covered_bytes);
        let total = partial
            .total_bytes
            .map_or_else(|| "an unknown number".to_owned(), |total| total.to_string());
        notice(
            AnomalyKind::IncompleteFragments,
            format!(
                "datagram {identification:#06x} from {source} to {destination}, \
                 started in frame {frame}, has {got} of {total} bytes: {why}"
            ),
        );
    }

    /// Drop the datagrams that are incomplete at the end of the capture.
    pub fn finish(&mut self, notice: &mut impl FnMut(AnomalyKind, String)) {
        while let Some((_, key)) = self.by_order.first_key_value() {
            self.give_up(*key, "the capture ended", notice);
        }
    }
}

/// Return the bytes from `from` to `to` of a piece that starts at `start`.
fn part(piece: &[u8], start: u32, from: u32, to: u32) -> &[u8] {
    let (from, to) = (
        from.saturating_sub(start) as usize,
        to.saturating_sub(start) as usize,
    );
    piece.get(from..to).unwrap_or(&[])
}

/// Return the length of a piece. A piece is part of a datagram, so its length fits.
fn length(piece: &[u8]) -> u32 {
    u32::try_from(piece.len()).unwrap_or(u32::MAX)
}
