//! Loss on the wire of a link. Each cause has its own random numbers.

use std::collections::BTreeMap;

use crate::random::Random;
use crate::scenario::{Loss, LostSegment};
use crate::segment::Segment;
use crate::truth::{Drop, Side};

/// A loss cause and its state.
#[derive(Debug)]
pub struct Lossy {
    loss: Loss,
    random: Random,
    /// Number of packets so far.
    count: u64,
    /// State of [`Loss::Bursts`].
    is_bad: bool,
    /// Streams of [`Loss::DataSegments`].
    streams: BTreeMap<(u32, Side), Stream>,
    /// Remaining losses of [`Loss::Segments`].
    left: Vec<LostSegment>,
}

/// The data segments of one direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    segments: u64,
    /// End of the data seen so far. Data up to here is a retransmission.
    end: u64,
}

/// The view of a packet that a loss cause gets.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    pub connection: u32,
    pub side: Side,
    pub segment: &'a Segment,
    /// Length on the wire, framing included.
    pub bytes: u32,
}

impl Lossy {
    #[must_use]
    pub fn new(loss: Loss, random: Random) -> Self {
        let left = match &loss {
            Loss::Segments { segments } => segments.clone(),
            _ => Vec::new(),
        };
        Lossy {
            loss,
            random,
            count: 0,
            is_bad: false,
            streams: BTreeMap::new(),
            left,
        }
    }

    /// Return the reason if this packet is lost.
    pub fn loses(&mut self, packet: Passing<'_>) -> Option<Drop> {
        let number = self.count;
        self.count += 1;
        match &self.loss {
            Loss::BitErrors { rate } => {
                let bits = 8.0 * f64::from(packet.bytes);
                // Probability of at least one bit error: 1 - (1 - rate)^bits.
                let chance = -libm::expm1(bits * libm::log1p(-rate));
                (self.random.uniform() < chance).then_some(Drop::BitError)
            }
            Loss::Packets { rate } => (self.random.uniform() < *rate).then_some(Drop::PacketLoss),
            Loss::Bursts {
                good_to_bad,
                bad_to_good,
                loss_in_good,
                loss_in_bad,
            } => {
                let rate = if self.is_bad {
                    loss_in_bad
                } else {
                    loss_in_good
                };
                let leaves = if self.is_bad {
                    bad_to_good
                } else {
                    good_to_bad
                };
                let is_lost = self.random.uniform() < *rate;
                self.is_bad ^= self.random.uniform() < *leaves;
                is_lost.then_some(Drop::BurstLoss)
            }
            Loss::Numbered { packets } => packets.contains(&number).then_some(Drop::Scripted),
            Loss::DataSegments { segments } => {
                let number = new_data(&mut self.streams, packet)?;
                segments.contains(&number).then_some(Drop::Scripted)
            }
            Loss::Segments { .. } => self.is_to_be_lost(packet).then_some(Drop::Scripted),
        }
    }

    /// Return true if the packet carries a place to lose. One packet can carry several.
    fn is_to_be_lost(&mut self, packet: Passing<'_>) -> bool {
        let carried = packet.segment.seq..packet.segment.end();
        let mut is_lost = false;
        for lost in &mut self.left {
            let is_carried = lost.connection == packet.connection && carried.contains(&lost.offset);
            if is_carried && lost.times > 0 {
                lost.times -= 1;
                is_lost = true;
            }
        }
        is_lost
    }

    /// Forget a finished connection.
    pub fn forget(&mut self, connection: u32) {
        self.streams.remove(&(connection, Side::Client));
        self.streams.remove(&(connection, Side::Server));
    }
}

/// Return the number of a data segment in its direction. Return None without data or for a retransmission.
fn new_data(streams: &mut BTreeMap<(u32, Side), Stream>, packet: Passing<'_>) -> Option<u64> {
    let segment = packet.segment;
    let end = segment.seq + u64::from(segment.payload);
    let stream = streams.entry((packet.connection, packet.side)).or_default();
    if segment.payload == 0 || end <= stream.end {
        return None;
    }
    stream.end = end;
    stream.segments += 1;
    Some(stream.segments - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u32 = 100_000;

    fn lossy(loss: Loss) -> Lossy {
        Lossy::new(loss, Random::new(7, 1))
    }

    fn passing(segment: &Segment) -> Passing<'_> {
        Passing {
            connection: 0,
            side: Side::Server,
            segment,
            bytes: 1250,
        }
    }

    fn data(seq: u64) -> Segment {
        Segment {
            seq,
            payload: 1000,
            ..Segment::default()
        }
    }

    /// Return a loss flag per packet.
    fn losses(loss: Loss) -> Vec<bool> {
        let mut lossy = lossy(loss);
        let segment = data(1);
        (0..PACKETS)
            .map(|_| lossy.loses(passing(&segment)).is_some())
            .collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn packets_are_lost_at_their_rate() {
        let share = share(&losses(Loss::Packets { rate: 0.1 }));
        assert!((share - 0.1).abs() < 0.003, "{share}");
    }

    #[test]
    fn bit_errors_lose_packets_by_their_length() {
        // 10,000 bits at an error rate of 1e-5: 1 - (1 - 1e-5)^10000 = 0.0952.
        let share = share(&losses(Loss::BitErrors { rate: 1e-5 }));
        assert!((share - 0.0952).abs() < 0.003, "{share}");
    }

    #[test]
    fn bursts_have_the_length_and_the_share_of_their_chain() {
        let lost = losses(Loss::Bursts {
            good_to_bad: 0.01,
            bad_to_good: 0.25,
            loss_in_good: 0.0,
            loss_in_bad: 1.0,
        });
        // The bad state has the share 0.01 / 0.26. A stay in it lasts 4 packets on average.
        assert!((share(&lost) - 0.03846).abs() < 0.003);
        let starts = lost.windows(2).filter(|two| *two == [false, true]).count();
        let mean = lost.iter().filter(|lost| **lost).count() as f64 / starts as f64;
        assert!((mean - 4.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn only_numbered_packets_are_lost() {
        let lost = losses(Loss::Numbered {
            packets: vec![0, 3],
        });
        assert_eq!(lost[..5], [true, false, false, true, false]);
        assert_eq!(lost.iter().filter(|lost| **lost).count(), 2);
    }

    #[test]
    fn a_data_segment_is_lost_once_in_each_connection_and_its_retransmission_passes() {
        let mut lossy = lossy(Loss::DataSegments { segments: vec![1] });
        let mut offer = |connection, seq, payload| {
            let segment = Segment {
                payload,
                ..data(seq)
            };
            let passing = Passing {
                connection,
                ..passing(&segment)
            };
            lossy.loses(passing).is_some()
        };
        let base = (1 << 32) - 1000;
        assert!(!offer(0, base, 0));
        assert!(!offer(0, base, 1000));
        assert!(offer(0, base + 1000, 1000));
        assert!(!offer(0, base + 1000, 1000));
        assert!(!offer(0, base + 2000, 1000));
        assert!(!offer(1, base, 1000));
        assert!(offer(1, base + 1000, 1000));
    }
    #[test]
    fn a_lost_segment_counts_losses_over_all_its_packets() {
        let lost = |connection, offset, times| LostSegment {
            connection,
            offset,
            times,
        };
        let mut lossy = lossy(Loss::Segments {
            segments: vec![lost(0, 1500, 2), lost(1, 0, 1)],
        });
        let mut offer = |connection, segment: &Segment| {
            let passing = Passing {
                connection,
                ..passing(segment)
            };
            lossy.loses(passing).is_some()
        };
        assert!(!offer(0, &data(1)));
        assert!(!offer(1, &data(1001)));
        assert!(offer(0, &data(1001)));
        assert!(offer(0, &data(501)));
        assert!(!offer(0, &data(1001)));
        let syn = Segment {
            flags: crate::segment::flags::SYN,
            ..Segment::default()
        };
        assert!(!offer(0, &syn));
        assert!(offer(1, &syn));
        assert!(!offer(1, &syn));
    }
}
