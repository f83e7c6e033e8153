//! Finds the flow of a segment, and numbers flows as tshark numbers tcp.stream.
//!
//! Theory of operation. There are limits: how many flows may be open, and how many that are over are
//! still remembered. A capture is shared out to several threads by its host pairs, for what a flow waited
//! for depends on what the pair's others have shown of the path, and on nothing else of another flow. So
//! the rows are the very ones that one thread gives; as each share has its part of the limits, only what
//! is given up or forgotten depends on their number.

use std::cmp::Reverse;
use std::collections::VecDeque;

use hashbrown::HashTable;
use tcptrace_tcp::{Endpoint, FlowFacts, Hosts, Key};
use trace_model::{AnomalyKind, Packet, Segment};

use crate::ending_row::ending_row;
use crate::flaws::flaws;
use crate::flow::{Flow, Identity};
use crate::flow_row::flow_row;
use crate::h2_connection_row::h2_connection_row;
use crate::host_pairs::{HostPairs, PAIRS_MAX};
use crate::profile_row::profile_rows;
use crate::same_packet::SamePackets;
use crate::tables::Tables;
use crate::tls_handshake_row::tls_handshake_row;
use crate::window::Window;

/// Flows that are over and still remembered, for what comes late: a FIN or RST sent again. A server
/// that ends ten thousand connections a second has most of a second for that.
const CLOSED_MAX: usize = 8192;
/// Flows that may be open. A server with more connections is rare; a flood of SYNs is not.
const OPEN_MAX: usize = 131_072;
/// A queue of open flows that is shorter is not looked through for those that are over.
const QUEUE_MIN: usize = 64;

/// Which flows are looked at: those of the host pairs whose hash is `index` modulo `count`.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub index: usize,
    pub count: usize,
}

impl Default for Share {
    fn default() -> Self {
        Share::WHOLE
    }
}

impl Share {
    /// All flows.
    pub const WHOLE: Share = Share { index: 0, count: 1 };
    /// Above the number of cores that a capture is worth sharing out to.
    pub const COUNT_MAX: usize = 64;

    fn has(self, key: &Key) -> bool {
        if self.count == 1 {
            return true;
        }
        let hash = usize::try_from(key.hosts_hash() >> 32).unwrap_or(0);
        hash.checked_rem(self.count).unwrap_or(0) == self.index
    }

    /// This share's part of a limit.
    fn part_of(self, most: usize) -> usize {
        most.checked_div(self.count).unwrap_or(most)
    }
}

/// An open flow, as it waits for its turn to be evicted.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: usize,
    number: u32,
    /// Its last packet when it was queued: one that had another since is not idle.
    end_ns: i64,
}

/// The flows by what may yet be done with them.
#[derive(Debug, Default)]
struct Books {
    /// Oldest first. One that is over, or not at that place any more, is passed over.
    open: VecDeque<Waiting>,
    open_count: usize,
    /// Flows that are over, in that order: place and number.
    closed: VecDeque<(usize, u32)>,
}

/// What was done to the flow of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    is_opened: bool,
    is_closed: bool,
    /// It waits for its turn to be evicted already.
    is_queued: bool,
}

#[derive(Debug)]
pub struct FlowTable {
    share: Share,
    /// Place of each flow, by the hash of its key.
    places: HashTable<usize>,
    /// Flows at their places; a place is used again when its flow is forgotten.
    flows: Vec<Option<Box<Flow>>>,
    /// Those that are left to finish once the capture is over, last first.
    #[expect(
        clippy::vec_box,
        reason = "they were boxed before, and are moved by their boxes"
    )]
    ending: Vec<Box<Flow>>,
    same_packets: SamePackets,
    hosts: Hosts,
    free_places: Vec<usize>,
    /// Where the packet before went: packets come in trains.
    last: Option<(Key, usize)>,
    books: Books,
    next_number: u32,
    pairs: HostPairs,
    pub window: Window,
}

impl Default for FlowTable {
    fn default() -> Self {
        Self::new(Share::WHOLE)
    }
}

impl FlowTable {
    /// A table that takes the segments of its share only.
    #[must_use]
    pub fn new(share: Share) -> Self {
        FlowTable {
            share,
            places: HashTable::new(),
            flows: Vec::new(),
            same_packets: SamePackets::default(),
            hosts: Hosts::default(),
            ending: Vec::new(),
            free_places: Vec::new(),
            last: None,
            books: Books::default(),
            next_number: 0,
            pairs: HostPairs::new(share.part_of(PAIRS_MAX)),
            window: Window::default(),
        }
    }

    /// Takes a segment to its flow, which may be a new one.
    pub fn segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>, tables: &mut Tables) {
        let Some(network) = packet.network else {
            return;
        };
        let source = Endpoint {
            address: network.source,
            port: segment.source_port,
        };
        let destination = Endpoint {
            address: network.destination,
            port: segment.destination_port,
        };
        let (key, source_is_low) = Key::new(source, destination);
        if !self.window.takes(&key, segment) {
            return;
        }
        if self.same_packets.is_again(packet, segment) {
            if let Some(flow) = self.known_flow(&key) {
                flow.seen_again(flow.side_of(source_is_low), packet, segment);
            }
            return;
        }
        let host_step = self.hosts.step(packet, segment);
        let Some(place) = self.place_of(&key) else {
            return;
        };
        let Some(slot) = self.flows.get_mut(place) else {
            return;
        };
        let next_number = &mut self.next_number;
        let is_shared = self.share.count > 1;
        let mut change = Change::default();
        let mut new_flow = || {
            let number = *next_number;
            *next_number = number.saturating_add(1);
            change.is_opened = true;
            if is_shared {
                tables.flow_starts.push(packet.frame);
            }
            let id = Identity {
                key,
                number,
                endpoints: [source, destination],
                first_is_low: source_is_low,
            };
            let mut flow = Box::new(Flow::new(id, packet, segment));
            flow.reports.statistics = tables.flow_statistics.as_ref().map(|_| Box::default());
            flow
        };
        let flow = slot.get_or_insert_with(&mut new_flow);
        let mut was_over = flow.is_over();
        if flow.is_reused_by(flow.side_of(source_is_low), segment) {
            let mut before = std::mem::replace(flow, new_flow());
            flow.reports.reuses_ports = true;
            finish(&mut before, tables);
            if !was_over {
                self.close_one();
            }
            was_over = false;
        }
        let Some(Some(flow)) = self.flows.get_mut(place) else {
            return;
        };
        self.pairs
            .on_segment(flow, (&key, source_is_low), packet, segment);
        flow.losses.host_step = host_step;
        flow.losses.counter_is_of_several = self.hosts.counter_is_of_several();
        flow.segment(flow.side_of(source_is_low), packet, segment, tables);
        change.is_closed = flow.is_over() && !was_over;
        change.is_opened |= was_over && !flow.is_over();
        if change.is_opened || change.is_closed {
            change.is_queued = std::mem::replace(&mut flow.is_queued, true);
            let waiting = Waiting {
                place,
                number: flow.id.number,
                end_ns: flow.end_ns,
            };
            self.changed(waiting, change, tables);
        }
    }

    /// The capture is over: finishes flows in order until there are `rows` in the tables. Whether all are
    /// finished; if not, it goes on with the next call.
    pub fn finish(&mut self, tables: &mut Tables, rows: usize) -> bool {
        if !self.flows.is_empty() {
            self.ending = self.flows.drain(..).flatten().collect();
            self.ending.sort_by_key(|flow| Reverse(flow.id.number));
        }
        while let Some(mut flow) = self.ending.pop() {
            finish(&mut flow, tables);
            if tables.rows() >= rows {
                break;
            }
        }
        self.ending.is_empty()
    }

    /// The window is over: of what comes, only that of its flows is taken.
    pub fn end_window(&mut self) {
        let flows = self.flows.iter().flatten();
        let read_on = flows.filter(|flow| flow.setup.syn_ns.is_some());
        self.window.end(read_on.filter_map(|flow| {
            let initial = flow.client_half().sequence.initial?;
            Some((flow.id.key, initial))
        }));
    }

    /// How many flows are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Least number of a row of the segments table that may yet be acknowledged.
    #[must_use]
    pub fn oldest_unsettled_row(&self) -> Option<usize> {
        let flows = self.flows.iter().flatten();
        flows
            .flat_map(|flow| [&flow.first, &flow.second])
            .filter_map(|half| half.outstanding.front()?.row)
            .min()
    }

    /// The flow with that key, if there is one in this share.
    fn known_flow(&mut self, key: &Key) -> Option<&mut Flow> {
        let flows = &self.flows;
        let is_its = |place: &usize| {
            let flow = flows.get(*place).and_then(Option::as_deref);
            flow.is_some_and(|flow| flow.id.key == *key)
        };
        let place = *self.places.find(key.hash(), is_its)?;
        self.flows.get_mut(place)?.as_deref_mut()
    }

    /// The place of the flow with that key, which is empty if there is no such flow yet; None if the flow
    /// belongs to another share.
    fn place_of(&mut self, key: &Key) -> Option<usize> {
        if let Some((last, place)) = &self.last {
            if last == key {
                return Some(*place);
            }
        }
        if !self.share.has(key) {
            return None;
        }
        let hash = key.hash();
        let flows = &mut self.flows;
        let key_at = |flows: &[Option<Box<Flow>>], place: usize| {
            flows
                .get(place)
                .and_then(|flow| Some(flow.as_ref()?.id.key))
        };
        let found = self
            .places
            .find(hash, |place| key_at(flows, *place).as_ref() == Some(key));
        let place = match found {
            Some(place) => *place,
            None => {
                let place = self.free_places.pop().unwrap_or_else(|| {
                    flows.push(None);
                    flows.len().saturating_sub(1)
                });
                let flows = &*flows;
                self.places.insert_unique(hash, place, |place| {
                    key_at(flows, *place).map_or(0, |key| key.hash())
                });
                place
            }
        };
        self.last = Some((*key, place));
        Some(place)
    }

    /// Keeps the books after a flow was opened, ended, or both.
    fn changed(&mut self, flow: Waiting, change: Change, tables: &mut Tables) {
        if change.is_opened {
            self.books.open_count = self.books.open_count.saturating_add(1);
            if !change.is_queued {
                self.books.open.push_back(flow);
            }
            self.evict(tables);
        }
        if change.is_closed {
            self.close_one();
            self.books.closed.push_back((flow.place, flow.number));
            self.forget_closed(tables);
        }
    }

    fn close_one(&mut self) {
        self.books.open_count = self.books.open_count.saturating_sub(1);
    }

    /// Forgets the flows that have been over the longest, beyond those that are remembered.
    fn forget_closed(&mut self, tables: &mut Tables) {
        while self.books.closed.len() > self.share.part_of(CLOSED_MAX) {
            let Some((place, number)) = self.books.closed.pop_front() else {
                return;
            };
            // One that was opened again, or whose ports were used again, is not over.
            if self
                .flow_at(place, number)
                .is_some_and(|flow| flow.is_over())
            {
                self.remove(place, tables);
            }
        }
    }

    /// Ends open flows that have been idle, beyond those that may be open: second chance, in the
    /// order in which they came.
    fn evict(&mut self, tables: &mut Tables) {
        loop {
            let books = &mut self.books;
            let is_full = books.open_count > self.share.part_of(OPEN_MAX);
            let entries_max = books.open_count.saturating_mul(2).max(QUEUE_MIN);
            if !is_full && books.open.len() <= entries_max {
                return;
            }
            let Some(oldest) = books.open.pop_front() else {
                return;
            };
            let Some(flow) = self.flow_at(oldest.place, oldest.number) else {
                continue;
            };
            if flow.is_over() {
                flow.is_queued = false;
            } else if is_full && flow.end_ns == oldest.end_ns {
                self.evict_one(oldest, tables);
            } else {
                let end_ns = flow.end_ns;
                let entry = Waiting { end_ns, ..oldest };
                self.books.open.push_back(entry);
            }
        }
    }

    fn evict_one(&mut self, flow: Waiting, tables: &mut Tables) {
        let most = self.share.part_of(OPEN_MAX);
        let detail = format!(
            "the flow was idle while more than {most} flows were open, and was given up: what comes \
             later on its ports counts as another flow"
        );
        tables.anomaly(AnomalyKind::LimitReached, None, flow.number, detail);
        self.close_one();
        self.remove(flow.place, tables);
    }

    fn flow_at(&mut self, place: usize, number: u32) -> Option<&mut Flow> {
        let flow = self.flows.get_mut(place)?.as_deref_mut()?;
        (flow.id.number == number).then_some(flow)
    }

    /// Finishes the flow at a place, and frees the place.
    fn remove(&mut self, place: usize, tables: &mut Tables) {
        let Some(mut flow) = self.flows.get_mut(place).and_then(Option::take) else {
            return;
        };
        finish(&mut flow, tables);
        let entry = self
            .places
            .find_entry(flow.id.key.hash(), |candidate| *candidate == place);
        if let Ok(entry) = entry {
            entry.remove();
        }
        self.free_places.push(place);
        self.last = None;
    }
}

fn finish(flow: &mut Flow, tables: &mut Tables) {
    flow.finish(tables);
    flow.properties.copies.tell(flow.id.number, tables);
    tables.of_flows.flows.push(&flow_row(flow));
    for profile in profile_rows(flow) {
        tables.of_flows.profiles.push(&profile);
    }
    if let Some(handshake) = tls_handshake_row(flow) {
        tables.of_flows.tls_handshakes.push(&handshake);
    }
    if let Some(connection) = h2_connection_row(flow) {
        tables.of_flows.h2_connections.push(&connection);
    }
    if let Some(ending) = ending_row(flow) {
        tables.of_flows.endings.push(&ending);
    }
    for flaw in flaws(flow) {
        tables.of_flows.flaws.push(&flaw);
    }
    if let (Some(table), Some(statistics)) = (&mut tables.flow_statistics, &flow.reports.statistics)
    {
        table.push(&statistics.row(&FlowFacts {
            client: flow.client(),
            client_half: flow.client_half(),
            server_half: flow.server_half(),
            start_ns: flow.begun.time_ns,
            end_ns: flow.end_ns,
        }));
    }
}
