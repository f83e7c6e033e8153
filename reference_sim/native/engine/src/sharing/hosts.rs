//! The path memory of all hosts, and the connections that share it now.
//!
//! The driver of a sharing connection calls [`Hosts::before`] and [`Hosts::after`] around each event that can
//! change its window ([`Connection::receive`], [`Connection::timeout`]). [`Hosts::transmit`] chooses the
//! segment to send. With E-TCP, another connection can have the turn.

use std::collections::BTreeMap;

use super::accelerated_open::{ConnectionCounts, Opening};
use super::control_block::{divided, part_of_leaver, ControlBlocks};
use super::ensemble::{Ensemble, Loss};
use super::fast_open::{Cookies, FastOpen};
use super::stride::ContentKind;
use super::{HostPair, Path};
use crate::app::End;
use crate::segment::Segment;
use crate::stack::{Nanoseconds, Sharing};
use crate::tcp::Connection;
use crate::truth::SendReason;

/// Access to the ends of connections.
pub trait Ends {
    fn tcp(&mut self, at: End) -> Option<&mut Connection>;
}

/// The state of an end before an event.
#[derive(Clone, Debug)]
pub struct Before {
    was_established: bool,
    losses: u32,
    timeouts: u32,
    /// Members whose data the incoming ACK skipped.
    skipped: Vec<End>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    pair: HostPair,
    sharing: Sharing,
    count: Option<Count>,
}

impl Member {
    /// Return the hosts of the end's ensemble. A different stack between the same hosts has no ensemble.
    fn ensemble(&self) -> Option<HostPair> {
        matches!(self.sharing, Sharing::Etcp(_)).then_some(self.pair)
    }
}

/// T/TCP's count, by the side that opened the connection.
#[derive(Clone, Copy, Debug)]
enum Count {
    Own(u32),
    Peers(u32),
}

/// Shared state of all hosts.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    blocks: ControlBlocks,
    counts: ConnectionCounts,
    cookies: Cookies,
    members: BTreeMap<End, Member>,
    /// Open connections of each pair, in opening order.
    groups: BTreeMap<HostPair, Vec<End>>,
    ensembles: BTreeMap<HostPair, Ensemble>,
}

impl Hosts {
    /// Register an end created by its application or by a SYN. The end shares from now on, if its stack
    /// shares or opens connections by T/TCP.
    pub fn opened(
        &mut self,
        at: End,
        pair: HostPair,
        syn: Option<&Segment>,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) {
        let Some(tcp) = ends.tcp(at) else { return };
        let (sharing, accelerates) = (tcp.stack().shares(), tcp.stack().accelerated_open);
        let count = if accelerates {
            let (opening, count) = self.counted(pair, syn);
            tcp.open_with(opening, now);
            count
        } else {
            None
        };
        let may_get_cookie = !accelerates && self.open_fast(at, pair, syn, now, ends);
        if sharing != Sharing::None || count.is_some() || may_get_cookie {
            let member = Member {
                pair,
                sharing,
                count,
            };
            self.members.insert(at, member);
        }
        if sharing != Sharing::None {
            self.join(at, pair, sharing, now, ends);
        }
    }

    /// Open an end of a stack with Fast Open. Return true if its peer can give it a cookie.
    fn open_fast(
        &mut self,
        at: End,
        pair: HostPair,
        syn: Option<&Segment>,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) -> bool {
        let Some(tcp) = ends.tcp(at).filter(|tcp| tcp.stack().fast_open) else {
            return false;
        };
        let fast_open = match syn {
            None => Some(self.cookies.open(pair)),
            Some(syn) => Cookies::answer(pair, syn),
        };
        if let Some(fast_open) = fast_open {
            tcp.open_fast(fast_open, now);
        }
        matches!(fast_open, Some(FastOpen::Asks | FastOpen::Knows(_)))
    }

    /// Return the count of a connection, and the count to remember once the connection is established.
    fn counted(&mut self, pair: HostPair, syn: Option<&Segment>) -> (Opening, Option<Count>) {
        let own = self.counts.open(pair);
        let Some(syn) = syn else {
            return (own, Some(Count::Own(own.count)));
        };
        let peers = syn.options.connection_count;
        let opening = Opening {
            is_accelerated: peers.is_some_and(|count| self.counts.is_valid_syn(pair, count)),
            ..own
        };
        (opening, peers.map(Count::Peers))
    }

    fn join(
        &mut self,
        at: End,
        pair: HostPair,
        sharing: Sharing,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) {
        let cached = self.cached(at, pair, now, ends);
        let group = self.groups.entry(pair).or_default();
        if let Sharing::Etcp(policy) = sharing {
            let is_half_closed = |end: &End| {
                ends.tcp(*end)
                    .is_some_and(|tcp| tcp.sender().fin_sent && !tcp.sender().has_unsent_data())
            };
            let others_are_half_closed = !group.is_empty() && group.iter().all(is_half_closed);
            let Some(stack) = ends.tcp(at).map(|tcp| tcp.stack()) else {
                return;
            };
            self.ensembles
                .entry(pair)
                .or_insert_with(|| Ensemble::open(policy, cached, stack))
                .join(at, others_are_half_closed);
        }
        group.push(at);
    }

    /// Return the remembered path state, as the stack of this end reads it.
    fn cached(
        &self,
        at: End,
        pair: HostPair,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) -> Option<Path> {
        if ends.tcp(at)?.stack().ages_shared_state {
            self.blocks.aged(pair, now)
        } else {
            self.blocks.cached(pair)
        }
    }

    /// Return the ends whose timers can change with an event at this end.
    #[must_use]
    pub fn group(&self, at: End) -> &[End] {
        let member = self.members.get(&at);
        let sharing = member.filter(|member| member.sharing != Sharing::None);
        sharing
            .and_then(|member| self.groups.get(&member.pair))
            .map_or(&[], Vec::as_slice)
    }

    #[must_use]
    pub fn has(&self, at: End) -> bool {
        self.members.contains_key(&at)
    }

    /// Set the content kind that this end's application writes from now on, as the head declares.
    pub fn set_content(&mut self, at: End, content: ContentKind) {
        let pair = self.members.get(&at).and_then(Member::ensemble);
        if let Some(ensemble) = pair.and_then(|pair| self.ensembles.get_mut(&pair)) {
            ensemble.set_content(at, content);
        }
    }

    /// Prepare an end for an event: the end adopts its group's state.
    pub fn before(
        &mut self,
        at: End,
        ack: Option<u64>,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) -> Option<Before> {
        let member = *self.members.get(&at)?;
        let group = self.group(at).to_vec();
        let mut skipped = Vec::new();
        let own = member
            .ensemble()
            .and_then(|pair| self.ensembles.get_mut(&pair));
        if let Some((ensemble, ack)) = own.zip(ack) {
            let more_waits = group.iter().any(|end| {
                ends.tcp(*end)
                    .is_some_and(|tcp| tcp.sender().has_unsent_data())
            });
            skipped = ensemble.on_ack(at, ack, more_waits);
        }
        let known = self.known(at, member, now, ends);
        let tcp = ends.tcp(at)?;
        if let Some(path) = known {
            tcp.adopt(&path);
        }
        Some(Before::of(tcp, skipped))
    }

    /// Return the path state that an end adopts. None: the end keeps its own state.
    fn known(
        &self,
        at: End,
        member: Member,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) -> Option<Path> {
        if member.sharing == Sharing::None {
            return None;
        }
        if let Some(ensemble) = self.ensembles.get(&member.pair) {
            return ensemble.path();
        }
        let own = ends.tcp(at).and_then(|tcp| tcp.path());
        let of_others = if member.sharing == Sharing::Ensemble {
            self.paths_of_others(at, ends)
        } else {
            Vec::new()
        };
        match (own, of_others.first()) {
            (Some(own), Some(other)) => Some(Path {
                round_trip: other.round_trip,
                ..own
            }),
            (Some(_), None) => None,
            (None, Some(other)) => Some(*other),
            (None, None) => self.cached(at, member.pair, now, ends),
        }
    }

    fn paths_of_others(&self, at: End, ends: &mut impl Ends) -> Vec<Path> {
        let others = self.group(at).iter().filter(|end| **end != at);
        others
            .filter_map(|end| ends.tcp(*end).and_then(|tcp| tcp.path()))
            .collect()
    }

    /// Finish an event at an end: its group adopts the new state.
    pub fn after(&mut self, at: End, before: &Before, now: Nanoseconds, ends: &mut impl Ends) {
        let Some(member) = self.members.get(&at).copied() else {
            return;
        };
        let Some(own) = ends.tcp(at).and_then(|tcp| tcp.path()) else {
            return;
        };
        if !before.was_established {
            self.established(at, member, own, now, ends);
        } else if let Some(ensemble) = member
            .ensemble()
            .and_then(|pair| self.ensembles.get_mut(&pair))
        {
            take_back(ensemble, at, before, ends);
        } else if member.sharing == Sharing::Ensemble {
            self.tell_round_trip(at, own, ends);
        }
        let Some(ensemble) = member
            .ensemble()
            .and_then(|pair| self.ensembles.get_mut(&pair))
        else {
            return;
        };
        for skipped in &before.skipped {
            let (Some(path), Some(tcp)) = (ensemble.path(), ends.tcp(*skipped)) else {
                continue;
            };
            tcp.adopt(&path);
            let counted = Before::of(tcp, Vec::new());
            tcp.skip_ack(now);
            take_back(ensemble, *skipped, &counted, ends);
        }
        for end in self.group(at).to_vec() {
            if let Some(tcp) = ends.tcp(end).filter(|_| end != at) {
                tcp.begin_run();
            }
        }
    }

    /// Handle an end's completed handshake. Its window comes from the others, past or present. Its round trip
    /// already counts.
    fn established(
        &mut self,
        at: End,
        member: Member,
        own: Path,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) {
        if let Some(kept) = ends.tcp(at).and_then(|tcp| tcp.given_cookie()) {
            self.cookies.keep(member.pair, kept);
        }
        let has_counts = ends.tcp(at).is_some_and(|tcp| tcp.has_counts());
        match member.count.filter(|_| has_counts) {
            Some(Count::Own(count)) => self.counts.connected(member.pair, count),
            Some(Count::Peers(count)) => self.counts.accepted(member.pair, count),
            None => {}
        }
        if member.sharing == Sharing::None {
            return;
        }
        if let Some(ensemble) = self.ensembles.get_mut(&member.pair) {
            let shared = ensemble.path().map_or(own, |path| Path {
                round_trip: own.round_trip,
                ..path
            });
            ensemble.take_back(at, shared, None);
            return;
        }
        let others = self.paths_of_others(at, ends);
        let part = if member.sharing == Sharing::Ensemble {
            divided(&others)
        } else {
            None
        };
        let start = part.or_else(|| self.cached(at, member.pair, now, ends));
        if let (Some(start), Some(tcp)) = (start, ends.tcp(at)) {
            tcp.adopt(&Path {
                round_trip: own.round_trip,
                ..start
            });
            tcp.pace();
        }
        let Some(part) = part else { return };
        for end in self.group(at).to_vec() {
            let Some(tcp) = ends.tcp(end).filter(|_| end != at) else {
                continue;
            };
            if let Some(path) = tcp.path() {
                tcp.adopt(&Path {
                    cwnd: part.cwnd,
                    ssthresh: part.ssthresh,
                    ..path
                });
            }
        }
    }

    fn tell_round_trip(&mut self, at: End, own: Path, ends: &mut impl Ends) {
        for end in self.group(at).to_vec() {
            if let Some(tcp) = ends.tcp(end) {
                if let Some(path) = tcp.path() {
                    tcp.adopt(&Path {
                        round_trip: own.round_trip,
                        ..path
                    });
                }
            }
        }
    }

    /// Return the next segment that this end sends now. With E-TCP, any end of its group can send.
    pub fn transmit(
        &mut self,
        at: End,
        now: Nanoseconds,
        ends: &mut impl Ends,
    ) -> Option<(End, Segment, SendReason)> {
        let pair = self.members.get(&at).and_then(Member::ensemble);
        let Some(ensemble) = pair.and_then(|pair| self.ensembles.get_mut(&pair)) else {
            let (segment, reason) = ends.tcp(at)?.transmit(now)?;
            return Some((at, segment, reason));
        };
        ensemble.restart_after_idle(now);
        let turns = ensemble.turns();
        // Retransmissions come first, then the member with the turn, then ACKs without data.
        let again = turns.iter().map(|end| (*end, Need::Again));
        let in_turn = turns.iter().map(|end| (*end, Need::Turn));
        let candidates = again.chain(in_turn).chain([(at, Need::Nothing)]);
        for (end, need) in candidates {
            let sent = send_of(ensemble, end, need, now, ends);
            if sent.is_some() {
                return sent;
            }
        }
        note_limits(ensemble, &turns, now, ends);
        None
    }

    /// Remove an end that is closed for good.
    pub fn closed(&mut self, at: End, now: Nanoseconds, ends: &mut impl Ends) {
        let Some(member) = self.members.remove(&at) else {
            return;
        };
        let measured = ends.tcp(at).and_then(|tcp| tcp.last_path());
        let Some(group) = self.groups.get_mut(&member.pair) else {
            return;
        };
        group.retain(|end| *end != at);
        let staying = group.clone();
        if staying.is_empty() {
            self.groups.remove(&member.pair);
        }
        if let Some(ensemble) = self.ensembles.get_mut(&member.pair) {
            ensemble.leave(at);
            if staying.is_empty() {
                let path = ensemble.path();
                self.ensembles.remove(&member.pair);
                if let Some(path) = path {
                    self.blocks.keep(member.pair, path, now);
                }
            }
            return;
        }
        let Some(measured) = measured.filter(|_| member.sharing != Sharing::None) else {
            return;
        };
        if member.sharing == Sharing::Temporal || staying.is_empty() {
            self.blocks.closed(member.pair, measured, now);
            return;
        }
        let part = part_of_leaver(&measured, staying.len() as u64);
        for end in staying {
            if let Some(tcp) = ends.tcp(end) {
                if let Some(path) = tcp.path() {
                    tcp.adopt(&Path {
                        cwnd: path.cwnd + part,
                        ..path
                    });
                }
            }
        }
    }
}

impl Before {
    fn of(tcp: &Connection, skipped: Vec<End>) -> Self {
        let window = &tcp.sender().window;
        Before {
            was_established: tcp.path().is_some(),
            losses: window.losses,
            timeouts: window.timeouts,
            skipped,
        }
    }
}

fn take_back(ensemble: &mut Ensemble, at: End, before: &Before, ends: &mut impl Ends) {
    let Some(tcp) = ends.tcp(at) else { return };
    let Some(path) = tcp.path() else { return };
    let window = &tcp.sender().window;
    let loss = if window.timeouts > before.timeouts {
        Some(Loss::Timeout)
    } else if window.losses > before.losses {
        Some(Loss::DuplicateAcks)
    } else {
        None
    };
    ensemble.take_back(at, path, loss);
}

/// The reason why a member is asked for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// A retransmission of lost data: within the window, without a turn.
    Again,
    /// The member has data and the turn.
    Turn,
    /// No data is granted.
    Nothing,
}

/// Record the limit of each member once no member sends more. A member can have sent its last data in another
/// end's drive. An end asked for a bare ACK was granted no data.
fn note_limits(ensemble: &Ensemble, members: &[End], now: Nanoseconds, ends: &mut impl Ends) {
    for end in members {
        if let Some(tcp) = ends.tcp(*end) {
            tcp.grant(ensemble.grant(now));
            tcp.note_limit();
        }
    }
}

fn send_of(
    ensemble: &mut Ensemble,
    at: End,
    need: Need,
    now: Nanoseconds,
    ends: &mut impl Ends,
) -> Option<(End, Segment, SendReason)> {
    let tcp = ends.tcp(at)?;
    let is_needed = match need {
        Need::Again => tcp.sender().is_sending_again(),
        Need::Turn => tcp.sender().has_unsent_data(),
        Need::Nothing => true,
    };
    if !is_needed {
        return None;
    }
    if let Some(path) = ensemble.path().filter(|_| tcp.path().is_some()) {
        tcp.adopt(&path);
    }
    let mut grant = ensemble.grant(now);
    if need == Need::Nothing {
        grant.bytes = 0;
    }
    tcp.grant(grant);
    let sent_before = tcp.sender().max;
    let (segment, reason) = tcp.transmit(now)?;
    if segment.payload > 0 {
        // Data on a SYN begins after the SYN.
        let start = segment.seq.max(1);
        ensemble.sent(at, start, segment.payload, start < sent_before, now);
    }
    Some((at, segment, reason))
}
