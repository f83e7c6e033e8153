//! Files in sequence from a server to a client: bare data connections, or FTP with its control connection
//! (RFC 959).
//!
//! A `Transfer` plays both ends: the client that wants the files, and the server. If several transfers have
//! their server at one node and stack, the first of them listens and serves all. The table of exchanges
//! ([`Order`]) holds the purpose of each connection.
//!
//! With a control connection, files come in active mode: the client announces its listening port (PORT). The
//! server opens the data connection and ends the file with a close.

mod ftp_text;
mod serving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::exchange::Order;
use super::{AppEvent, AppId, Application, End, Network};
use crate::scenario::{self, Scenario};
use crate::stack::Nanoseconds;
use crate::truth::{RetrievalRow, Side};
use ftp_text::{
    command_line, text_content, ABORTED, COMPLETE, PASS, PORT, QUIT, READY, RETR, TYPE, USER,
};
use serving::{is_first, server_port};

/// Port on which the first client listens for data connections. Each client has its own port.
const FIRST_CLIENT_PORT: u16 = 20_000;

/// Message number at the end of a file.
const FILE: u64 = 0;

/// A transfer of the scenario.
pub struct Transfer {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
    roles: BTreeMap<End, Role>,
    /// Ends closed from this side.
    closed: BTreeSet<End>,
    control: Option<End>,
    /// Commands that wait for a reply.
    commands: VecDeque<u64>,
    /// Number of started files.
    files: u32,
    row: Option<usize>,
    /// True once the file is complete.
    is_delivered: bool,
    /// True once the reply to the file's end arrived.
    is_replied: bool,
    is_over: bool,
}

/// The role of this application at one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
    Receiver,
    /// A receiver that has its file.
    Served,
    /// The sender of a file ordered on the connection `order`. The reply to the file's end is still due on
    /// the connection `control`.
    Sender {
        order: u32,
        control: Option<End>,
    },
}

impl Transfer {
    #[must_use]
    pub fn new(app: AppId, scenario: &Arc<Scenario>, index: usize) -> Self {
        Transfer {
            app,
            scenario: Arc::clone(scenario),
            index,
            roles: BTreeMap::new(),
            closed: BTreeSet::new(),
            control: None,
            commands: VecDeque::new(),
            files: 0,
            row: None,
            is_delivered: false,
            is_replied: false,
            is_over: false,
        }
    }

    fn terms(&self) -> Option<&scenario::Transfer> {
        self.scenario.transfers.get(self.index)
    }

    /// Return the size of a file, if the transfer has this number.
    fn file(&self, number: u32) -> Option<u64> {
        let terms = self.terms()?;
        let (number, count) = (number as usize, terms.files.len());
        if count == 0 || (number >= count && !terms.forever) {
            return None;
        }
        terms.files.get(number % count).copied()
    }

    fn client_port(&self) -> u16 {
        FIRST_CLIENT_PORT.wrapping_add(self.index as u16)
    }

    /// Start the next file.
    fn next(&mut self, network: &mut dyn Network) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.transfers.get(self.index) else {
            return;
        };
        let Some(bytes) = self.file(self.files) else {
            return self.finish(network);
        };
        self.is_delivered = false;
        self.is_replied = !terms.control;
        self.begin_row(network);
        let order = Order {
            bytes,
            number: self.files,
            node: terms.node,
            port: self.client_port(),
            closes: !terms.one_connection,
        };
        self.files += 1;
        let open = self.control.or_else(|| self.kept(terms));
        let at = match open {
            Some(at) => at,
            None => self.open(network, terms),
        };
        network.exchanges().order(at.connection, order);
        if terms.control {
            let first = [USER, PASS, TYPE, PORT, RETR];
            let commands = if open.is_some() {
                &[PORT, RETR][..]
            } else {
                &first
            };
            self.commands.extend(commands);
            if open.is_some() {
                self.command(network, terms, at);
            }
        } else if open.is_some() {
            let sender = End {
                side: Side::Server,
                ..at
            };
            self.write_file(network, sender, &order);
        }
    }

    /// Return the connection that carries all files.
    fn kept(&self, terms: &scenario::Transfer) -> Option<End> {
        let is_receiver = |role: &&Role| **role == Role::Receiver;
        let mut ends = self.roles.iter().filter(|(_, role)| is_receiver(role));
        let end = ends.next().map(|(end, _)| *end);
        end.filter(|_| terms.one_connection && !terms.control)
    }

    fn open(&mut self, network: &mut dyn Network, terms: &scenario::Transfer) -> End {
        let port = server_port(&self.scenario, terms);
        let connection =
            network.connect(self.app, terms.node, terms.stack, terms.server_node, port);
        let at = End {
            connection,
            side: Side::Client,
        };
        if terms.control {
            self.control = Some(at);
        }
        let role = if terms.control {
            Role::Client
        } else {
            Role::Receiver
        };
        self.roles.insert(at, role);
        at
    }

    fn begin_row(&mut self, network: &mut dyn Network) {
        let start = network.now();
        let client = self.scenario.browsers.len() + self.index;
        let rows = &mut network.truth().retrievals;
        self.row = Some(rows.add(RetrievalRow {
            client: client as u32,
            is_transfer: true,
            visit: self.files,
            start,
            end: None,
            bytes: 0,
        }));
    }

    /// End the transfer after its last file.
    fn finish(&mut self, network: &mut dyn Network) {
        let scenario = Arc::clone(&self.scenario);
        self.is_over = true;
        if let (Some(at), Some(terms)) = (self.control, scenario.transfers.get(self.index)) {
            self.commands.push_back(QUIT);
            self.command(network, terms, at);
        }
        // On a connection for all files, only the client knows which file is the last one.
        let receiver = self.roles.iter().find(|(_, role)| **role == Role::Receiver);
        if let (None, Some((at, _))) = (self.control, receiver) {
            let at = *at;
            self.close(network, at);
        }
    }

    /// Send the next command, or all due commands.
    fn command(&mut self, network: &mut dyn Network, terms: &scenario::Transfer, at: End) {
        let count = if terms.waits_for_replies {
            1
        } else {
            self.commands.len()
        };
        let count = count.min(self.commands.len());
        let commands: Vec<u64> = self.commands.drain(..count).collect();
        if commands.is_empty() {
            return;
        }
        let address = self
            .scenario
            .nodes
            .get(terms.node as usize)
            .map(|node| node.address);
        let mut text = String::new();
        for command in &commands {
            let file = self.files.saturating_sub(1);
            text += &command_line(
                *command,
                file,
                address.unwrap_or_default(),
                self.client_port(),
            );
        }
        let message = commands.iter().fold(0, |bits, command| bits | command);
        network.write(at, vec![text_content(text)], Some(message), 0);
    }

    /// Handle a reply, or a complete file, at the client.
    fn on_client_message(&mut self, network: &mut dyn Network, at: End, message: u64) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.transfers.get(self.index) else {
            return;
        };
        match message {
            READY if terms.waits_for_replies => self.command(network, terms, at),
            COMPLETE => self.is_replied = true,
            ABORTED => self.on_abort(),
            _ => {}
        }
        self.next_if_done(network);
    }

    /// Handle an aborted file. The next file does not use the rest of its connection.
    fn on_abort(&mut self) {
        for role in self.roles.values_mut() {
            if *role == Role::Receiver {
                *role = Role::Served;
            }
        }
        (self.is_delivered, self.is_replied) = (true, true);
    }

    fn next_if_done(&mut self, network: &mut dyn Network) {
        if self.is_delivered && self.is_replied && !self.is_over {
            self.next(network);
        }
    }

    fn on_file(&mut self, network: &mut dyn Network, now: Nanoseconds) {
        let bytes = self.file(self.files.saturating_sub(1));
        if let Some(row) = self.row {
            let bytes = bytes.unwrap_or_default();
            network.truth().retrieved(row, Some(now), bytes);
        }
        self.is_delivered = true;
        self.next_if_done(network);
    }

    fn close(&mut self, network: &mut dyn Network, at: End) {
        if self.closed.insert(at) {
            network.close(at);
        }
    }

    fn on_message(&mut self, network: &mut dyn Network, at: End, message: u64) {
        match self.roles.get(&at) {
            Some(Role::Receiver) if message == FILE => {
                let terms = self.terms();
                if !terms.is_some_and(|terms| terms.one_connection && !terms.control) {
                    self.roles.insert(at, Role::Served);
                }
                let now = network.now();
                self.on_file(network, now);
            }
            Some(Role::Client) => self.on_client_message(network, at, message),
            Some(Role::Server) => self.on_server_message(network, at, message),
            _ => {}
        }
    }

    /// Handle the end of a connection. If a client's file can no longer arrive, the client continues with the
    /// next file.
    fn on_end(&mut self, network: &mut dyn Network, at: End) {
        self.reply_to_end(network, at, false);
        let role = self.roles.remove(&at);
        self.closed.remove(&at);
        if at.side == Side::Client
            && matches!(role, Some(Role::Client | Role::Receiver | Role::Served))
        {
            network.exchanges().forget_order(at.connection);
        }
        let is_broken = match role {
            Some(Role::Client) => true,
            Some(Role::Receiver) => !self.is_delivered,
            _ => false,
        };
        if role == Some(Role::Client) {
            self.control = None;
            self.commands.clear();
        }
        if is_broken && !self.is_over {
            self.is_delivered = true;
            self.is_replied |= role == Some(Role::Client);
            self.next_if_done(network);
        }
    }
}

impl Application for Transfer {
    fn start(&mut self, network: &mut dyn Network) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.transfers.get(self.index) else {
            return;
        };
        if is_first(&scenario, self.index, terms) {
            let port = server_port(&scenario, terms);
            network.listen(self.app, terms.server_node, port, terms.server_stack);
        }
        if terms.control {
            network.listen(self.app, terms.node, self.client_port(), terms.stack);
        }
        network.wake(self.app, terms.start_ns, 0);
    }

    fn woken(&mut self, network: &mut dyn Network, _token: u64) {
        self.next(network);
    }

    fn on_event(&mut self, network: &mut dyn Network, at: End, what: AppEvent) {
        let scenario = Arc::clone(&self.scenario);
        match what {
            AppEvent::Accepted => self.on_accepted(network, at),
            AppEvent::Connected => {
                match (self.roles.get(&at), scenario.transfers.get(self.index)) {
                    (Some(Role::Client), Some(terms)) if !terms.waits_for_replies => {
                        self.command(network, terms, at);
                    }
                    (Some(Role::Sender { .. }), _) => self.send(network, at),
                    _ => {}
                }
            }
            AppEvent::Message { message } => self.on_message(network, at, message),
            AppEvent::PeerClosed => match self.roles.get(&at) {
                Some(Role::Client) => {
                    self.close(network, at);
                    self.control = None;
                }
                Some(_) => {
                    self.reply_to_end(network, at, true);
                    self.close(network, at);
                }
                None => {}
            },
            AppEvent::Closed | AppEvent::Failed => self.on_end(network, at),
            AppEvent::Received { .. } | AppEvent::Written => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_over && self.roles.is_empty()
    }
}
