//! Waits: where the time of each transaction went, to the nanosecond.
//!
//! Theory of operation. A transaction lasts from its start (the SYN, where it opened its connection; else
//! the first byte of its request) to the last ACK of its response. Its time is given away from front to
//! back ([`partition`]): the handshake, the request, the path, the server, the response, the last ACK.
//! What happened inside request and response is known from a [`timeline`] of each direction, which gives
//! the time between two segments to what the later one waited for: an [`acks`] or nothing, a window that
//! still grew or one that did not ([`pace`]).
//!
//! A capture at the client sees the request leave and the response come, one at the server the reverse.
//! Both account for what the client experiences: the path's round trip once for request and response
//! together, and the response as it came to the client, which at the server its ACKs tell.
//!
//! Which rule comes from where: what limits a sender that has data, from RFC 4898 (SndLimTrans*) and
//! T-RAT (Zhang et al., SIGCOMM 2002); how a loss was noticed, from TAPO (Zhou et al., CoNEXT 2015); that
//! each packet has one that let it go, from tcpeval (Barford and Crovella, SIGCOMM 2000).

mod acks;
mod behind;
mod copied_opening;
mod joined_queue;
mod link;
mod link_burst;
mod lost_answer;
mod offered;
mod pace;
mod partition;
mod path;
mod phases;
mod server_time;
mod setup;
mod spans;
mod timeline;
mod transaction;

use tcptrace_tcp::LastHeard;
use trace_model::rows::RecoveryKind;

use crate::arrivals::Arrivals;
use crate::echoes::HeardOf;
use crate::shared_windows::Sharing;
use crate::used_window::Sockets;
use acks::Acks;
use behind::Behind;
use offered::Offered;
pub use partition::Moment;
pub use path::Path;
pub use setup::Setup;
use timeline::{Data, Question, Resent, Timeline, Words};

/// A segment with payload, of either direction.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Moment,
    /// Offset after its last byte in its half, whose first payload byte is at 1.
    pub end: i64,
    pub bytes: u32,
    pub segments: u32,
    /// Payload of a full segment.
    pub full_bytes: u32,
    pub opens_hole: bool,
    /// It was lost itself before, as the numbering of its sender's packets shows.
    pub recovery: Option<RecoveryKind>,
    /// ... of all packets of its host.
    pub is_told_by_host: bool,
    /// An ACK of its sender had a number beyond it, and came before it.
    pub was_told_of: bool,
    /// So many packets of its sender never came by since the data before.
    pub missing_before: u32,
    /// It comes with a SYN that a timer sent again: a packet behind that one came before.
    pub syn_was_lost: bool,
    /// It has the PSH flag.
    pub is_pushed: bool,
    /// It has the FIN flag.
    pub has_fin: bool,
    /// Its sender has sent what Nagle's algorithm would have held.
    pub nagle_is_off: bool,
    /// ... whatever variant of it.
    pub holds_no_short: bool,
    /// What its sender had heard, if timestamps tell.
    pub heard: HeardOf,
    pub sharing: Sharing,
}

/// Data that was sent before, or fills a hole.
#[derive(Clone, Copy, Debug)]
pub struct SentAgain {
    pub at: Moment,
    pub start: i64,
    pub end: i64,
    /// What held it up until now.
    pub recovery: Option<RecoveryKind>,
    /// What its sender had heard of its receiver.
    pub heard: LastHeard,
    /// Selective ACKs tell its sender what has come (RFC 2018).
    pub has_sack: bool,
    /// Where the first hole that is left begins.
    pub hole_start: Option<i64>,
    /// ACKs of other connections have passed over it (E-TCP, section 3), the last of them right before, and it has no FIN.
    pub is_for_others: bool,
    /// When its ACK comes behind all that its server had sent to the client, if the link is known.
    pub due_ns: Option<i64>,
}

/// What one flow's transactions waited for.
#[derive(Debug)]
pub struct Waits {
    requests: Timeline,
    responses: Timeline,
    /// ACKs of the responses, and of the requests.
    client_acks: Acks,
    server_acks: Acks,
    offered: Offered,
    /// When the client had the response before.
    previous_end: Option<Moment>,
    /// Who sent data last.
    server_spoke: bool,
    /// What the client has sent since.
    question: Option<Question>,
    /// When it sent something again last.
    asked_again_ns: Option<i64>,
    /// What its requests stood behind.
    behind: Behind,
    /// The capture holds no ACK of the server without data: its silence tells nothing.
    lacks_server_acks: bool,
}

impl Waits {
    /// From the segment in which the first message was found, whose sender is told by `is_request`.
    #[must_use]
    pub fn new(at: Moment, is_request: bool) -> Self {
        Waits {
            requests: Timeline::new(Words::OF_REQUESTS, is_request.then_some(at)),
            responses: Timeline::new(Words::OF_RESPONSES, (!is_request).then_some(at)),
            client_acks: Acks::default(),
            server_acks: Acks::default(),
            offered: Offered::default(),
            previous_end: None,
            server_spoke: !is_request,
            question: None,
            asked_again_ns: None,
            behind: Behind::default(),
            lacks_server_acks: false,
        }
    }

    /// The first segment of the request was not pushed: its sender had more of it.
    pub fn request_goes_on(&mut self) {
        self.requests.goes_on();
    }

    fn timeline(&mut self, from_server: bool) -> &mut Timeline {
        if from_server {
            &mut self.responses
        } else {
            &mut self.requests
        }
    }

    /// New data was seen.
    pub fn sent(&mut self, from_server: bool, sent: Sent, path: Path) {
        let data = Data {
            at: sent.at,
            end: sent.end,
            bytes: sent.bytes,
            segments: sent.segments,
            full_bytes: sent.full_bytes,
            opens_hole: sent.opens_hole,
            recovery: sent.recovery,
            is_told_by_host: sent.is_told_by_host && sent.recovery.is_some(),
            was_told_of: sent.was_told_of,
            missing_before: sent.missing_before,
            syn_was_lost: sent.syn_was_lost,
            is_pushed: sent.is_pushed,
            has_fin: sent.has_fin,
            nagle_is_off: sent.nagle_is_off,
            holds_no_short: sent.holds_no_short,
            buffer_as_offered: self.offered.alike(),
            windows_are_rounded: self.offered.is_rounded,
            sharing: sent.sharing,
        };
        if std::mem::replace(&mut self.server_spoke, from_server) != from_server {
            self.timeline(from_server).begins();
        }
        if from_server {
            let heard = had_heard(sent, path.of_responses().is_at_sender);
            self.client_acks.are_heard(heard);
            let data = self.if_lost_before(data, path);
            let question = self.question.take();
            self.responses
                .new_data(data, question, path.of_responses(), &self.client_acks);
        } else {
            self.client_acks.came_with(sent.at.time_ns, sent.bytes);
            self.responses.ack_came_with(sent.at.time_ns, sent.bytes);
            self.behind.note(sent.at, sent.into());
            self.question = Some(Question::of(self.question, sent.at.time_ns, sent.bytes));
            self.requests
                .new_data(data, None, path.of_requests(), &self.server_acks);
        }
    }

    pub fn sent_again(&mut self, from_server: bool, sent: SentAgain, path: Path) {
        let data = Resent {
            at: sent.at,
            start: sent.start,
            end: sent.end,
            recovery: sent.recovery,
            heard: sent.heard,
            has_sack: sent.has_sack,
            is_for_others: sent.is_for_others,
            due_ns: sent.due_ns.filter(|_| from_server),
        };
        if from_server {
            self.responses
                .resent(data, sent.hole_start, path.of_responses());
        } else {
            self.asked_again_ns = Some(sent.at.time_ns);
            self.requests
                .resent(data, sent.hole_start, path.of_requests());
        }
    }

    /// The server's connections to the client were found to share a window.
    pub fn windows_are_shared(&mut self) {
        self.responses.windows_are_shared();
    }

    /// What all connections between the two hosts have told of the slowest link until now.
    pub fn link_is(&mut self, link: Arrivals) {
        self.responses.link_is(link);
    }

    /// Whether the capture lacks the server's ACKs without data.
    pub fn server_acks_are_missing(&mut self, are_missing: bool) {
        self.lacks_server_acks = are_missing;
    }

    /// The server's numbers pass over packets that it sends to others: they tell of no losses.
    pub fn packets_go_elsewhere(&mut self) {
        self.responses.packets_go_elsewhere();
    }

    /// How much longer than a packet without payload a segment of a response takes on the slowest link, as far
    /// as its pace is known.
    #[must_use]
    pub fn response_takes_ns(&self, bytes: u32) -> i64 {
        self.responses.takes_ns(bytes)
    }

    /// How long a segment of a response takes on the slowest link, as far as the distances of several have agreed.
    #[must_use]
    pub fn response_is_on_link_ns(&self, bytes: u32) -> i64 {
        self.responses.is_on_link_ns(bytes)
    }

    /// The least that the window of the responses was when the newest segment was let go.
    #[must_use]
    pub fn response_window_bytes(&self) -> u64 {
        self.responses.least_window_bytes()
    }

    /// What it shows of its server's sockets, as far as that tells other connections.
    #[must_use]
    pub fn sockets(&self) -> Sockets {
        self.responses.sockets()
    }

    /// How large the window of the responses was when the server had stopped with all sent up to `end`, if a loss had
    /// lowered it.
    #[must_use]
    pub fn response_lowered_window_bytes(&self, end: i64) -> Option<u64> {
        self.responses.lowered_window_bytes(end)
    }

    /// When what left then of a response was written, as far as that was later than it seems.
    #[must_use]
    pub fn response_written_ns(&self, left_ns: i64) -> Option<i64> {
        self.responses.written_ns(left_ns)
    }

    /// When an ACK went by that made room for the newest data of a response in its sender's buffer, if that was full.
    #[must_use]
    pub fn response_made_buffer_room_ns(&self) -> Option<i64> {
        self.responses.made_buffer_room_ns()
    }

    /// Near the server: how much later an ACK came than the data of a response that it acknowledges lets it.
    #[must_use]
    pub fn response_ack_was_late_ns(&self, time_ns: i64) -> Option<i64> {
        self.responses.ack_was_late_ns(time_ns)
    }

    /// ... and when the slowest link had carried all before `start`, as the server sees it.
    #[must_use]
    pub fn response_had_drained_ns(&self, start: u64) -> Option<i64> {
        self.responses.had_drained_ns(half_offset(start))
    }

    /// The client's ACK of the SYN-ACK came after this time, and brought so many bytes of the request.
    pub fn shook_hands(&mut self, (elapsed_ns, bytes): (i64, u32), path: Path) {
        self.responses
            .shook_hands(elapsed_ns, bytes, path.of_responses());
    }

    /// The client's first data came so long after its bare ACK of the SYN-ACK, and so much of it.
    pub fn asked_after(&mut self, (elapsed_ns, bytes): (i64, u32), path: Path) {
        self.responses
            .asked_after(elapsed_ns, bytes, path.of_responses());
    }

    /// A probe of a window of zero went by.
    pub fn probed(&mut self, from_server: bool, at: Moment) {
        self.timeline(from_server).probe(at);
    }

    /// The window that an end's SYN told, which is never scaled.
    pub fn offered_in_syn(&mut self, window: Option<u16>) {
        self.offered.note_in_syn(window);
    }

    /// An ACK that acknowledged something new or moved the window.
    pub fn acknowledged(
        &mut self,
        by_client: bool,
        at: Moment,
        acked: i64,
        window: u32,
        path: Path,
    ) {
        let route = path.of_responses();
        let rtt_ns = route.rtt_ns();
        self.offered.note(by_client, window);
        if by_client {
            self.client_acks.push(at.time_ns, acked, window, rtt_ns);
            self.responses.acknowledged(at, acked, route);
        } else {
            self.server_acks.push(at.time_ns, acked, window, rtt_ns);
            self.requests.acknowledged(at, acked, path.of_requests());
        }
    }

    /// A duplicate ACK of the client's, of something out of order if it has SACKs.
    pub fn acknowledged_again(&mut self, at_ns: i64, has_sacks: bool, path: Path) {
        let route = path.of_responses();
        self.responses.acknowledged_again(at_ns, has_sacks, route);
    }

    /// The client acknowledged all that was sent once more.
    pub fn acknowledged_all_again(&mut self) {
        self.responses.acknowledged_all_again();
    }

    /// Whether it shows later only how slow the slowest link is, and so what transactions waited for that are over.
    #[must_use]
    pub fn may_learn_link(&self, path: Path) -> bool {
        !path.of_responses().is_at_sender && self.responses.may_learn_link()
    }

    /// A response was found to begin at this offset of the stream, which counts from 0, and its request to have gone by
    /// at `asked_ns`.
    pub fn response_opens(&mut self, start: u64, asked_ns: Option<i64>) {
        self.responses.opens(half_offset(start), asked_ns);
    }

    pub fn response_ends(&mut self, start: u64, end: u64) {
        self.responses.closes(half_offset(start), half_offset(end));
    }

    /// Memory that it takes.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        [
            self.requests.held_bytes(),
            self.responses.held_bytes(),
            self.client_acks.held_bytes(),
            self.server_acks.held_bytes(),
            self.behind.held_bytes(),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// What the sender of data had heard, near its receiver. What is missing before it left before. Where it stood behind its
/// own connection's data alone, both had left long before they came, and the link is what it waited for behind that.
fn had_heard(sent: Sent, is_at_sender: bool) -> HeardOf {
    let is_behind_others = sent.sharing.queued_ns > 0 && !sent.sharing.is_shared;
    match sent.heard {
        _ if is_at_sender || sent.opens_hole => HeardOf::default(),
        heard if is_behind_others => heard,
        heard => HeardOf {
            at_once_ns: None,
            ..heard
        },
    }
}

/// The number of a stream's byte in its half: the SYN is 0, the first byte 1.
fn half_offset(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX).saturating_add(1)
}
