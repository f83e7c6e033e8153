//! Requests on their way and their responses: what the two applications know of each other's
//! messages, since streams carry no bytes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::app::http2::Frames;
use crate::rows::Rows;
use crate::scenario::HttpVersion;
use crate::stack::Nanoseconds;
use crate::truth::{Side, TransactionRow};

/// Number of an exchange, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u64);

impl ExchangeId {
    /// The message number of its request ([`super::Network::write`]).
    #[must_use]
    pub fn request(self) -> u64 {
        self.0 * 2
    }

    #[must_use]
    pub fn response(self) -> u64 {
        self.0 * 2 + 1
    }

    /// Which exchange a message belongs to.
    #[must_use]
    pub fn of(message: u64) -> Self {
        ExchangeId(message / 2)
    }
}

/// What was asked for, and what was answered.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub browser: u32,
    pub visit: u32,
    pub page: u32,
    pub plan: u32,
    pub fetch: u32,
    /// Of all objects of the page, at this visit.
    pub sizes: Arc<[u64]>,
    pub version: HttpVersion,
    /// The client would send another request on this connection.
    pub wants_keep_alive: bool,
    /// Its row of the truth's transactions.
    pub row: usize,
    /// Once the response is written.
    pub response: Option<Response>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The offset of its first byte in the server's stream (the first byte of all is 1). All bytes are those of the
    /// stream: what sealing adds counts to the body, unless the head is a write of its own.
    pub offset: u64,
    pub head_bytes: u64,
    pub body_bytes: u64,
    /// The server closes the connection after it, and says so.
    pub closes: bool,
}

impl Response {
    /// Of its body, when so many bytes of the stream have come.
    #[must_use]
    pub fn body_received(&self, total: u64) -> u64 {
        self.received(total)
            .saturating_sub(self.head_bytes)
            .min(self.body_bytes)
    }

    /// Of head and body, or more when other responses follow.
    #[must_use]
    pub fn received(&self, total: u64) -> u64 {
        (total + 1).saturating_sub(self.offset)
    }
}

/// A file that was asked for on a connection: on its control connection, or by opening its data
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub bytes: u64,
    /// Of the file among those of its client.
    pub number: u32,
    /// Where the client listens for data connections.
    pub node: u32,
    pub port: u16,
    /// The data connection is closed after it.
    pub closes: bool,
}

/// The exchanges that are not over, by number, and the files that are on order.
#[derive(Clone, Debug, Default)]
pub struct Exchanges {
    first: u64,
    open: VecDeque<Option<Exchange>>,
    orders: BTreeMap<u32, Order>,
    /// By connection: where the records end that its server wrote, and its client has not read.
    records: BTreeMap<u32, VecDeque<u64>>,
    /// The frames of HTTP/2.
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

    /// It is over: the client has its response, or will never have it.
    pub fn remove(&mut self, id: ExchangeId) -> Option<Exchange> {
        let index = id.0.checked_sub(self.first)?;
        let exchange = self.open.get_mut(index as usize)?.take();
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.first += 1;
        }
        exchange
    }

    /// The file that is wanted on this connection now.
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

    /// A server has written a record that ends at this offset (exclusive).
    pub fn seal(&mut self, connection: u32, end: u64) {
        self.records.entry(connection).or_default().push_back(end);
    }

    /// Of so many bytes of a server's stream (the SYN not counted), those up to the last whole record.
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

/// A moment in a transaction's life that only the transport knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    RequestSent,
    RequestReceived,
    ResponseStarted,
    ResponseReceived,
}

/// When the stream is past this offset, the moment has come.
#[derive(Clone, Copy, Debug)]
struct Mark {
    moment: Moment,
    offset: u64,
    row: usize,
}

/// What a connection's transactions wait for; the times go to the truth.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    marks: Vec<Mark>,
    transactions: u32,
}

impl Timeline {
    /// A transaction begins on this connection; its number there.
    pub fn begin(&mut self) -> u32 {
        self.transactions += 1;
        self.transactions - 1
    }

    /// A request from the offset `from` to (exclusive) `to` is written.
    pub fn request(&mut self, from: u64, to: u64, row: usize) {
        self.mark(Moment::RequestSent, from, row);
        self.mark(Moment::RequestReceived, to - 1, row);
    }

    /// A response from the offset `from` to (exclusive) `to` is written.
    pub fn response(&mut self, from: u64, to: u64, row: usize) {
        self.response_begins(from, row);
        self.response_ends(to, row);
    }

    pub fn response_begins(&mut self, from: u64, row: usize) {
        self.mark(Moment::ResponseStarted, from, row);
    }

    /// Its end (exclusive) is written.
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

    /// `side` has sent new data up to this offset (exclusive).
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

    /// `side` has its peer's data up to this offset (exclusive) in order.
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
