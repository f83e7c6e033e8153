//! Requests under way and their responses. Streams carry no bytes, so each application learns the other's
//! messages here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::app::http2::Frames;
use crate::rows::Rows;
use crate::scenario::HttpVersion;
use crate::stack::Nanoseconds;
use crate::truth::{Side, TransactionRow};

/// Number of an exchange, in creation order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u64);

impl ExchangeId {
    /// Return the message number of the request ([`super::Network::write`]).
    #[must_use]
    pub fn request(self) -> u64 {
        self.0 * 2
    }

    #[must_use]
    pub fn response(self) -> u64 {
        self.0 * 2 + 1
    }

    /// Return the exchange of a message.
    #[must_use]
    pub fn of(message: u64) -> Self {
        ExchangeId(message / 2)
    }
}

/// A request and its response.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub browser: u32,
    pub visit: u32,
    pub page: u32,
    pub plan: u32,
    pub fetch: u32,
    /// Sizes of all objects of the page at this visit.
    pub sizes: Arc<[u64]>,
    pub version: HttpVersion,
    /// True if the client would send another request on this connection.
    pub wants_keep_alive: bool,
    /// Row in the truth's transactions.
    pub row: usize,
    /// Set once the response is written.
    pub response: Option<Response>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Offset of the response's first byte in the server's stream, whose first byte is 1. All byte counts are
    /// stream bytes. The overhead of encryption counts to the body, unless the head is a separate write.
    pub offset: u64,
    pub head_bytes: u64,
    pub body_bytes: u64,
    /// True if the server announces the close and closes the connection after the response.
    pub closes: bool,
}

impl Response {
    /// Return the received body bytes, given `total` received stream bytes.
    #[must_use]
    pub fn body_received(&self, total: u64) -> u64 {
        self.received(total)
            .saturating_sub(self.head_bytes)
            .min(self.body_bytes)
    }

    /// Return the received bytes of head and body. Following responses raise this number further.
    #[must_use]
    pub fn received(&self, total: u64) -> u64 {
        (total + 1).saturating_sub(self.offset)
    }
}

/// A file requested on a control connection, or by opening its data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub bytes: u64,
    /// Number of the file among its client's files.
    pub number: u32,
    /// Node at which the client listens for data connections.
    pub node: u32,
    pub port: u16,
    /// True if the data connection closes after the file.
    pub closes: bool,
}

/// Open exchanges by number, and ordered files.
#[derive(Clone, Debug, Default)]
pub struct Exchanges {
    first: u64,
    open: VecDeque<Option<Exchange>>,
    orders: BTreeMap<u32, Order>,
    /// Per connection: ends of the records that the server wrote and the client has not read.
    records: BTreeMap<u32, VecDeque<u64>>,
    /// The HTTP/2 frames under way.
    pub frames: Frames,
}

impl Exchanges {
    pub fn add(&mut self, exchange: Exchange) -> ExchangeId {
        self.open.push_back(Some(exchange));
        ExchangeId(self.first + self.open.len() as u64 - 1)
    }

    #[must_use]
    pub fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        let index = id.0.checked_sub(self.first)?;
        self.open.get(index as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        let index = id.0.checked_sub(self.first)?;
        self.open.get_mut(index as usize)?.as_mut()
    }

    /// Remove an exchange: the client has its response, or will never have it.
    pub fn remove(&mut self, id: ExchangeId) -> Option<Exchange> {
        let index = id.0.checked_sub(self.first)?;
        let exchange = self.open.get_mut(index as usize)?.take();
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.first += 1;
        }
        exchange
    }

    /// Set the file ordered on this connection.
    pub fn order(&mut self, connection: u32, order: Order) {
        self.orders.insert(connection, order);
    }

    #[must_use]
    pub fn ordered(&self, connection: u32) -> Option<Order> {
        self.orders.get(&connection).copied()
    }

    pub fn forget_order(&mut self, connection: u32) {
        self.orders.remove(&connection);
    }

    /// Record the exclusive end of a record that a server wrote.
    pub fn seal(&mut self, connection: u32, end: u64) {
        self.records.entry(connection).or_default().push_back(end);
    }

    /// Return how many of a server's `total` stream bytes (without the SYN) end at the last whole record.
    pub fn whole_records(&mut self, connection: u32, total: u64) -> u64 {
        let Some(ends) = self.records.get_mut(&connection) else {
            return 0;
        };
        let has_come = |end: &&u64| **end <= total + 1;
        while ends.get(1).as_ref().is_some_and(has_come) {
            ends.pop_front();
        }
        ends.front().filter(has_come).map_or(0, |end| end - 1)
    }

    pub fn forget_records(&mut self, connection: u32) {
        self.records.remove(&connection);
    }
}

/// A moment of a transaction that only the transport knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    RequestSent,
    RequestReceived,
    ResponseStarted,
    ResponseReceived,
}

/// A stream offset whose passing defines a moment.
#[derive(Clone, Copy, Debug)]
struct Mark {
    moment: Moment,
    offset: u64,
    row: usize,
}

/// The pending moments of a connection's transactions. Their times go to the truth.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    marks: Vec<Mark>,
    transactions: u32,
}

impl Timeline {
    /// Begin a transaction on this connection, and return its number there.
    pub fn begin(&mut self) -> u32 {
        self.transactions += 1;
        self.transactions - 1
    }

    /// Record a written request from offset `from` to `to` (exclusive).
    pub fn request(&mut self, from: u64, to: u64, row: usize) {
        self.mark(Moment::RequestSent, from, row);
        self.mark(Moment::RequestReceived, to - 1, row);
    }

    /// Record a written response from offset `from` to `to` (exclusive).
    pub fn response(&mut self, from: u64, to: u64, row: usize) {
        self.response_begins(from, row);
        self.response_ends(to, row);
    }

    pub fn response_begins(&mut self, from: u64, row: usize) {
        self.mark(Moment::ResponseStarted, from, row);
    }

    /// Record the exclusive end of a written response.
    pub fn response_ends(&mut self, to: u64, row: usize) {
        self.mark(Moment::ResponseReceived, to - 1, row);
    }

    fn mark(&mut self, moment: Moment, offset: u64, row: usize) {
        self.marks.push(Mark {
            moment,
            offset,
            row,
        });
    }

    /// Record that `side` sent new data up to this offset (exclusive).
    pub fn sent(
        &mut self,
        side: Side,
        end: u64,
        now: Nanoseconds,
        transactions: &mut Rows<TransactionRow>,
    ) {
        if side == Side::Client {
            self.reach(&[Moment::RequestSent], end, now, transactions);
        }
    }

    /// Record that `side` received data in order up to this offset (exclusive).
    pub fn came(
        &mut self,
        side: Side,
        end: u64,
        now: Nanoseconds,
        transactions: &mut Rows<TransactionRow>,
    ) {
        let moments: &[Moment] = match side {
            Side::Server => &[Moment::RequestReceived],
            Side::Client => &[Moment::ResponseStarted, Moment::ResponseReceived],
        };
        self.reach(moments, end, now, transactions);
    }

    fn reach(
        &mut self,
        moments: &[Moment],
        end: u64,
        now: Nanoseconds,
        transactions: &mut Rows<TransactionRow>,
    ) {
        self.marks.retain(|mark| {
            let is_reached = mark.offset < end && moments.contains(&mark.moment);
            if is_reached {
                if let Some(row) = transactions.find(mark.row) {
                    *time_of(row, mark.moment) = Some(now);
                }
            }
            !is_reached
        });
    }
}

fn time_of(row: &mut TransactionRow, moment: Moment) -> &mut Option<Nanoseconds> {
    match moment {
        Moment::RequestSent => &mut row.request_first_sent,
        Moment::RequestReceived => &mut row.request_received,
        Moment::ResponseStarted => &mut row.response_first_received,
        Moment::ResponseReceived => &mut row.response_last_received,
    }
}
