//! Flow table: it finds the flow of a segment, and numbers flows like tshark's tcp.stream.
//!
//! Theory of operation. The numbers of open flows and of remembered finished flows are limited. Several
//! threads share a capture by host pairs: the waits of a flow depend on the path facts of its pair, and on no
//! other flow. The rows are therefore the same as those of one thread. Each share has its part of the limits.
//! Only the flows that a limit drops depend on the number of shares.

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

/// Maximum number of finished flows in memory, for late packets such as a retransmitted FIN or RST.
///
/// A server that ends ten thousand connections per second has most of a second for them.
const CLOSED_MAX: usize = 8192;
/// Maximum number of open flows: servers rarely have more connections, but SYN floods do.
const OPEN_MAX: usize = 131_072;
/// Minimum length of the open-flow queue before finished flows are removed from it.
const QUEUE_MIN: usize = 64;

/// Share of the flows: the host pairs whose hash is `index` modulo `count`.
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
    /// Share with all flows.
    pub const WHOLE: Share = Share { index: 0, count: 1 };
    /// Maximum number of shares, above the number of cores that one capture can use.
    pub const COUNT_MAX: usize = 64;

    fn has(self, key: &Key) -> bool {
        if self.count == 1 {
            return true;
        }
        let hash = usize::try_from(key.hosts_hash() >> 32).unwrap_or(0);
        hash.checked_rem(self.count).unwrap_or(0) == self.index
    }

    /// Return this share's part of a limit.
    fn part_of(self, most: usize) -> usize {
        most.checked_div(self.count).unwrap_or(most)
    }
}

/// Open flow in the eviction queue.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: usize,
    number: u32,
    /// Time of its last packet when it was queued; a later packet shows that the flow is not idle.
    end_ns: i64,
}

/// Open and finished flows in the order of their removal.
#[derive(Debug, Default)]
struct FlowQueues {
    /// Open flows, the oldest first; entries of finished or removed flows are skipped.
    open: VecDeque<Waiting>,
    open_count: usize,
    /// Finished flows in the order of their ends: place and number.
    closed: VecDeque<(usize, u32)>,
}

/// State change of a segment's flow.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    is_opened: bool,
    is_closed: bool,
    /// True if the flow is already in the eviction queue.
    is_queued: bool,
}

#[derive(Debug)]
pub struct FlowTable {
    share: Share,
    /// Place of each flow by the hash of its key.
    places: HashTable<usize>,
    /// Flows by place; the place of a removed flow is reused.
    flows: Vec<Option<Box<Flow>>>,
    /// Flows to finish at the end of the capture, the last first.
    #[expect(
        clippy::vec_box,
        reason = "the flows are boxed already, and their boxes move"
    )]
    ending: Vec<Box<Flow>>,
    same_packets: SamePackets,
    hosts: Hosts,
    free_places: Vec<usize>,
    /// Key and place of the last packet's flow, as a cache.
    last: Option<(Key, usize)>,
    flow_queues: FlowQueues,
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
    /// Create a table that takes only the segments of its share.
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
            flow_queues: FlowQueues::default(),
            next_number: 0,
            pairs: HostPairs::new(share.part_of(PAIRS_MAX)),
            window: Window::default(),
        }
    }

    /// Pass a segment to its flow, which may be new.
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
        if self.same_packets.is_duplicate(packet, segment) {
            if let Some(flow) = self.known_flow(&key) {
                flow.count_copy(flow.side_of(source_is_low), packet, segment);
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
        flow.losses.is_counter_shared = self.hosts.is_counter_shared();
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
            self.update_queues(waiting, change, tables);
        }
    }

    /// Finish flows in order until the tables have `rows` rows, and return whether all are finished.
    ///
    /// The next call continues.
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

    /// End the window: from now on only packets of its own flows are taken.
    pub fn end_window(&mut self) {
        let flows = self.flows.iter().flatten();
        let read_on = flows.filter(|flow| flow.setup.syn_ns.is_some());
        self.window.end(read_on.filter_map(|flow| {
            let initial = flow.client_half().sequence.initial?;
            Some((flow.id.key, initial))
        }));
    }

    /// Return the number of flows in memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Return the lowest row of the segments table that an ACK may still settle.
    #[must_use]
    pub fn oldest_unsettled_row(&self) -> Option<usize> {
        let flows = self.flows.iter().flatten();
        flows
            .flat_map(|flow| [&flow.first, &flow.second])
            .filter_map(|half| half.outstanding.front()?.row)
            .min()
    }

    /// Return the flow with that key in this share, if any.
    fn known_flow(&mut self, key: &Key) -> Option<&mut Flow> {
        let flows = &self.flows;
        let is_its = |place: &usize| {
            let flow = flows.get(*place).and_then(Option::as_deref);
            flow.is_some_and(|flow| flow.id.key == *key)
        };
        let place = *self.places.find(key.hash(), is_its)?;
        self.flows.get_mut(place)?.as_deref_mut()
    }

    /// Return the place of the flow with that key; `None` if the flow belongs to another share.
    ///
    /// The place is empty if the flow is new.
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

    /// Update the queues after a flow was opened, ended, or both.
    fn update_queues(&mut self, flow: Waiting, change: Change, tables: &mut Tables) {
        if change.is_opened {
            self.flow_queues.open_count = self.flow_queues.open_count.saturating_add(1);
            if !change.is_queued {
                self.flow_queues.open.push_back(flow);
            }
            self.evict(tables);
        }
        if change.is_closed {
            self.close_one();
            self.flow_queues.closed.push_back((flow.place, flow.number));
            self.forget_closed(tables);
        }
    }

    fn close_one(&mut self) {
        self.flow_queues.open_count = self.flow_queues.open_count.saturating_sub(1);
    }

    /// Remove the oldest finished flows beyond the limit.
    fn forget_closed(&mut self, tables: &mut Tables) {
        while self.flow_queues.closed.len() > self.share.part_of(CLOSED_MAX) {
            let Some((place, number)) = self.flow_queues.closed.pop_front() else {
                return;
            };
            // A reopened flow, or a flow whose ports were reused, is not over.
            if self
                .flow_at(place, number)
                .is_some_and(|flow| flow.is_over())
            {
                self.remove(place, tables);
            }
        }
    }

    /// End idle open flows beyond the limit by the second-chance algorithm, in the order of their starts.
    fn evict(&mut self, tables: &mut Tables) {
        loop {
            let flow_queues = &mut self.flow_queues;
            let is_full = flow_queues.open_count > self.share.part_of(OPEN_MAX);
            let entries_max = flow_queues.open_count.saturating_mul(2).max(QUEUE_MIN);
            if !is_full && flow_queues.open.len() <= entries_max {
                return;
            }
            let Some(oldest) = flow_queues.open.pop_front() else {
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
                self.flow_queues.open.push_back(entry);
            }
        }
    }

    fn evict_one(&mut self, flow: Waiting, tables: &mut Tables) {
        let most = self.share.part_of(OPEN_MAX);
        let detail = format!(
            "the flow was idle while more than {most} flows were open, and was ended: later packets on \
             its ports count as another flow"
        );
        tables.anomaly(AnomalyKind::LimitReached, None, flow.number, detail);
        self.close_one();
        self.remove(flow.place, tables);
    }

    fn flow_at(&mut self, place: usize, number: u32) -> Option<&mut Flow> {
        let flow = self.flows.get_mut(place)?.as_deref_mut()?;
        (flow.id.number == number).then_some(flow)
    }

    /// Finish the flow at a place, and free the place.
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
    flow.properties.copies.report(flow.id.number, tables);
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
