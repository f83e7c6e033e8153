//! BBR's model in a sender: its start, idle times, and application limits.

use crate::random::Random;
use crate::stack::Nanoseconds;
use crate::tcp::bbr::{Ack, Bbr, Mode, Repair};
use crate::tcp::delivery_rate::DeliveryRate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};
use crate::tcp::selective::Outcome;
use crate::tcp::sender::{Recovery, Sender};

/// Segments in flight and their delivery, without SACK: only the cumulative acknowledgment delivers.
#[derive(Clone, Debug, Default)]
pub struct Unsacked {
    board: Scoreboard,
    delivery: DeliveryRate,
}

impl Unsacked {
    pub fn sent(&mut self, start: u64, end: u64, is_new: bool, now: Nanoseconds) {
        let snapshot = self.delivery.sent(self.board.segments() == 0, now);
        if is_new {
            self.board.send(start, end, snapshot, now);
        } else {
            self.board.resend(start, snapshot, now);
        }
    }
}

impl Sender {
    /// Return BBR's state, if the stack has it.
    #[must_use]
    pub fn model_state(&self) -> Option<Mode> {
        self.bbr.as_deref().map(Bbr::mode)
    }

    /// Begin BBR's model with the RTT of the handshake.
    pub fn begin_model(&mut self, random: Option<Random>, now: Nanoseconds) {
        if let Some(bbr) = &mut self.bbr {
            bbr.begin(self.round_trip.smoothed(), self.window.cwnd, now);
            if let Some(random) = random {
                bbr.draw_from(random);
            }
        }
    }

    /// Let the model take an ACK with SACK, after loss detection.
    pub(in crate::tcp) fn follow_sacked(&mut self, outcome: &Outcome, now: Nanoseconds) {
        let Some(selective) = &mut self.selective else {
            return;
        };
        let ack = Ack {
            lost: outcome.lost,
            flights: [outcome.flight_before, selective.pipe()],
            sample: outcome.sample,
            repair: selective.repair(),
            ..ack_of(&outcome.delivered, now)
        };
        let mut delivery = selective.delivery;
        self.follow(ack, &mut delivery);
        if let Some(selective) = &mut self.selective {
            selective.delivery = delivery;
        }
    }

    /// Let the model take an ACK of new data without SACK.
    pub(super) fn follow_unsacked(&mut self, ack: u64, flight_before: u64, now: Nanoseconds) {
        let flight = self.flight();
        let Some(unsacked) = &mut self.unsacked else {
            return;
        };
        let delivered = unsacked.board.receive(ack, std::iter::empty());
        let ack = Ack {
            flights: [flight_before, flight],
            sample: unsacked.delivery.on_ack(&delivered, now),
            repair: match self.recovery {
                Recovery::None => Repair::Open,
                Recovery::Fast { .. } => Repair::FastRecovery,
                Recovery::Timeout { .. } => Repair::Timeout,
            },
            ..ack_of(&delivered, now)
        };
        let mut delivery = unsacked.delivery;
        self.follow(ack, &mut delivery);
        if let Some(unsacked) = &mut self.unsacked {
            unsacked.delivery = delivery;
        }
    }

    fn follow(&mut self, ack: Ack, delivery: &mut DeliveryRate) {
        let ack = Ack {
            smoothed_rtt: self.round_trip.smoothed(),
            next_release: self.rate_pacer.map_or(0, |pacer| pacer.next()),
            ..ack
        };
        if let Some(bbr) = &mut self.bbr {
            bbr.on_ack(&ack, delivery, &mut self.window);
        }
    }

    fn delivery(&mut self) -> Option<&mut DeliveryRate> {
        let unsacked = self.unsacked.as_mut().map(|it| &mut it.delivery);
        let selective = self.selective.as_mut().map(|it| &mut it.delivery);
        unsacked.or(selective)
    }

    /// Tell BBR of the first segment after a time without data in flight, if the application had no data
    /// (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.4.4).
    pub(super) fn restart_model(&mut self, now: Nanoseconds) {
        let is_idle = self.bbr.is_some() && self.pipe() == 0;
        if !is_idle || !self.delivery().is_some_and(|it| it.is_app_limited()) {
            return;
        }
        if let Some(bbr) = &mut self.bbr {
            bbr.restart(&mut self.window, now);
        }
    }

    /// Note before a write that the application left the path unused
    /// (draft-cheng-iccrg-delivery-rate-estimation-00, section 3.4): less than a segment is unsent, the
    /// window has room, and nothing lost waits.
    pub(super) fn note_application_limit(&mut self) {
        let unsent = self.written.saturating_sub(self.next);
        let flight = self.pipe();
        let has_lost = self.selective.as_ref().is_some_and(|it| it.has_lost());
        if unsent >= self.mss || flight >= self.window.cwnd || has_lost {
            return;
        }
        if let Some(delivery) = self.delivery() {
            delivery.limit_by_application(flight);
        }
    }
}

/// Return what an ACK delivered, with the RTT of the newest segment sent once: its receiver delayed it least.
fn ack_of(delivered: &Delivered, now: Nanoseconds) -> Ack {
    let sent_once = delivered.segments.iter();
    let newest = sent_once
        .filter(|segment| !segment.is_retransmitted())
        .map(|segment| segment.sent)
        .max();
    Ack {
        delivered: delivered.weight,
        rtt: newest.map(|sent| now.saturating_sub(sent)),
        now,
        ..Ack::default()
    }
}
