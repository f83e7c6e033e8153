//! TLS between an application and its network: handshakes, tickets, and records of written data.
//!
//! Both ends of a connection wrap their application in a [`Secured`]. The application learns of the
//! connection once writing is possible. Its writes are encrypted, and its stream counts record bytes.
//! [`Network::stream_bytes`] gives the length with the overhead.

mod flights;
mod records;

use std::collections::BTreeMap;

use crate::app::exchange::{Exchanges, Timeline};
use crate::app::{AppEvent, AppId, Application, Content, End, Network};
use crate::random::Random;
use crate::simulation::BoxedApplication;
use crate::stack::Nanoseconds;
use crate::tls::{Tls, TlsVersion};
use crate::truth::{Side, Truth};
use records::{Records, APPLICATION_DATA};

/// First message number of handshakes. No exchange reaches this number.
const FIRST_MESSAGE: u64 = 1 << 63;
const HELLO: u64 = FIRST_MESSAGE;
const ANSWER: u64 = FIRST_MESSAGE + 1;
const CLIENT_FINISHED: u64 = FIRST_MESSAGE + 2;
const SERVER_FINISHED: u64 = FIRST_MESSAGE + 3;
/// Timer kind for a ready server answer. No application uses this kind.
const ANSWERED: u64 = 0xff << 56;

/// An application with secured connections.
pub struct Secured {
    app: AppId,
    inner: BoxedApplication,
    terms: Terms,
    states: BTreeMap<u32, State>,
}

#[derive(Clone, Debug)]
struct Terms {
    tls: Tls,
    seed: u64,
    /// The server name that a client requests.
    server_name: String,
}

/// The held-back data of one end of a connection.
#[derive(Debug, Default)]
struct State {
    /// Tickets that leave with the next response.
    tickets: Vec<Content>,
    /// True while the server prepares its answer.
    is_answering: bool,
    /// Events during the preparation.
    happened: Vec<AppEvent>,
}

impl Secured {
    /// Wrap an application with its number and the scenario's seed.
    #[must_use]
    pub fn new(
        app: AppId,
        inner: BoxedApplication,
        tls: Tls,
        seed: u64,
        server_name: &str,
    ) -> Self {
        Secured {
            app,
            inner,
            terms: Terms {
                tls,
                seed,
                server_name: server_name.to_owned(),
            },
            states: BTreeMap::new(),
        }
    }

    fn tell(&mut self, network: &mut dyn Network, at: End, what: AppEvent) {
        let mut secured = SecuredNetwork {
            network,
            terms: &self.terms,
            states: &mut self.states,
        };
        self.inner.on_event(&mut secured, at, what);
    }

    /// Write a flight, or a part of a flight.
    fn write(
        &self,
        network: &mut dyn Network,
        at: End,
        message: Option<u64>,
        flight: impl FnOnce(&mut Records, &Tls),
    ) {
        let mut records = self.terms.records(at, network.write_offset(at));
        flight(&mut records, &self.terms.tls);
        network.write(at, records.into_parts(), message, 0);
    }

    fn handshake(&mut self, network: &mut dyn Network, at: End, message: u64) {
        let tls = self.terms.tls;
        let is_tls13 = tls.version == TlsVersion::Tls13;
        match message {
            HELLO if tls.processing_ns == 0 => self.answer(network, at),
            HELLO => {
                self.states.entry(at.connection).or_default().is_answering = true;
                let ready = network.now().saturating_add(tls.processing_ns);
                network.wake(self.app, ready, ANSWERED | u64::from(at.connection));
            }
            ANSWER => {
                let finished = Some(CLIENT_FINISHED);
                self.write(network, at, finished, flights::client_finish);
                let may_write = is_tls13 || tls.resumed;
                if may_write && !tls.early_data {
                    self.tell(network, at, AppEvent::Connected);
                }
            }
            CLIENT_FINISHED if is_tls13 => self.give_tickets(network, at),
            CLIENT_FINISHED if !tls.resumed => {
                self.write(network, at, Some(SERVER_FINISHED), flights::finish);
            }
            SERVER_FINISHED => self.tell(network, at, AppEvent::Connected),
            _ => {}
        }
    }

    /// Write the server's flight and deliver the held events.
    fn answer(&mut self, network: &mut dyn Network, at: End) {
        self.write(network, at, Some(ANSWER), flights::answer);
        let state = self.states.entry(at.connection).or_default();
        state.is_answering = false;
        for what in std::mem::take(&mut state.happened) {
            self.on_event(network, at, what);
        }
    }

    fn give_tickets(&mut self, network: &mut dyn Network, at: End) {
        let tls = self.terms.tls;
        if !tls.tickets_with_response {
            for _ in 0..tls.tickets {
                self.write(network, at, None, flights::ticket);
            }
            return;
        }
        let mut records = self.terms.records(at, network.write_offset(at));
        for _ in 0..tls.tickets {
            flights::ticket(&mut records, &tls);
        }
        self.states.entry(at.connection).or_default().tickets = records.into_parts();
    }
}

impl Terms {
    fn records(&self, at: End, offset: u64) -> Records {
        let seed = self.seed.rotate_left(32) ^ u64::from(at.connection) << 2;
        Records::new(self.tls.version, seed, at.side, offset)
    }
}

impl Application for Secured {
    fn start(&mut self, network: &mut dyn Network) {
        let mut secured = SecuredNetwork {
            network,
            terms: &self.terms,
            states: &mut self.states,
        };
        self.inner.start(&mut secured);
    }

    fn woken(&mut self, network: &mut dyn Network, token: u64) {
        if token & ANSWERED == ANSWERED {
            let connection = token as u32;
            let side = Side::Server;
            if self.states.contains_key(&connection) {
                self.answer(network, End { connection, side });
            }
            return;
        }
        let mut secured = SecuredNetwork {
            network,
            terms: &self.terms,
            states: &mut self.states,
        };
        self.inner.woken(&mut secured, token);
    }

    fn on_event(&mut self, network: &mut dyn Network, at: End, mut what: AppEvent) {
        if let Some(state) = self.states.get_mut(&at.connection) {
            if state.is_answering && !matches!(what, AppEvent::Closed | AppEvent::Failed) {
                state.happened.push(what);
                return;
            }
        }
        match &mut what {
            AppEvent::Connected => {
                let name = self.terms.server_name.clone();
                self.write(network, at, Some(HELLO), |records, tls| {
                    flights::hello(records, tls, &name);
                });
                if !self.terms.tls.early_data {
                    return;
                }
            }
            AppEvent::Message { message } if *message >= FIRST_MESSAGE => {
                return self.handshake(network, at, *message);
            }
            // A partial record cannot be decrypted.
            AppEvent::Received { total } if at.side == Side::Client => {
                *total = network.exchanges().whole_records(at.connection, *total);
            }
            // The application has written again in the meantime.
            AppEvent::Written if network.is_writing(at) => return,
            AppEvent::Closed | AppEvent::Failed => {
                self.states.remove(&at.connection);
                if at.side == Side::Client {
                    network.exchanges().forget_records(at.connection);
                }
            }
            _ => {}
        }
        self.tell(network, at, what);
    }

    fn is_done(&self) -> bool {
        self.inner.is_done()
    }
}

/// The network that a secured application sees.
struct SecuredNetwork<'a> {
    network: &'a mut dyn Network,
    terms: &'a Terms,
    states: &'a mut BTreeMap<u32, State>,
}

impl SecuredNetwork<'_> {
    fn tickets(&self, at: End) -> &[Content] {
        let state = self.states.get(&at.connection);
        state.map_or(&[], |state| &state.tickets)
    }
}

impl Network for SecuredNetwork<'_> {
    fn write(&mut self, at: End, parts: Vec<Content>, message: Option<u64>, gap: Nanoseconds) {
        let mut records = self.terms.records(at, self.write_offset(at));
        let state = self.states.get_mut(&at.connection);
        let mut sealed = state.map_or_else(Vec::new, |state| std::mem::take(&mut state.tickets));
        let mut left: u64 = parts.iter().map(Content::bytes).sum();
        while left > 0 {
            let data = left.min(u64::from(self.terms.tls.record_bytes.max(1)));
            left -= data;
            records.sealed(APPLICATION_DATA, data, data);
            if at.side == Side::Server {
                let end = records.offset();
                self.network.exchanges().seal(at.connection, end);
            }
        }
        sealed.extend(records.into_parts());
        self.network.write(at, sealed, message, gap);
    }

    fn stream_bytes(&self, _: End, bytes: u64) -> u64 {
        self.terms.tls.stream_bytes(bytes)
    }

    fn write_offset(&self, at: End) -> u64 {
        let tickets: u64 = self.tickets(at).iter().map(Content::bytes).sum();
        self.network.write_offset(at) + tickets
    }

    fn now(&self) -> Nanoseconds {
        self.network.now()
    }

    fn connect(&mut self, app: AppId, node: u32, stack: u32, to_node: u32, to_port: u16) -> u32 {
        self.network.connect(app, node, stack, to_node, to_port)
    }

    fn listen(&mut self, app: AppId, node: u32, port: u16, stack: u32) {
        self.network.listen(app, node, port, stack);
    }

    fn close(&mut self, at: End) {
        self.network.close(at);
    }

    fn read(&mut self, at: End, is_reading: bool) {
        self.network.read(at, is_reading);
    }

    fn wake(&mut self, app: AppId, at: Nanoseconds, token: u64) {
        self.network.wake(app, at, token);
    }

    fn random(&mut self, app: AppId) -> &mut Random {
        self.network.random(app)
    }

    fn truth(&mut self) -> &mut Truth {
        self.network.truth()
    }

    fn exchanges(&mut self) -> &mut Exchanges {
        self.network.exchanges()
    }

    fn timeline(&mut self, connection: u32) -> &mut Timeline {
        self.network.timeline(connection)
    }

    fn mss(&self, at: End) -> u32 {
        self.network.mss(at)
    }

    fn is_writing(&self, at: End) -> bool {
        self.network.is_writing(at)
    }
}
