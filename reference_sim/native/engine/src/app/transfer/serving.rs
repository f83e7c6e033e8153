//! The server side of transfers: it replies to commands, and sends ordered files.

use std::sync::Arc;

use super::ftp_text::{
    reply_line, text_content, ABORTED, COMMANDS, COMPLETE, OPENING, QUIT, READY, RETR,
};
use super::{Role, Transfer, FILE};
use crate::app::body::{Body, BodyKind};
use crate::app::exchange::Order;
use crate::app::http_text::whole;
use crate::app::{End, Network};
use crate::scenario::{self, Scenario};
use crate::truth::Side;

/// Port of the control connection (RFC 959, section 8). The port below is for data.
const CONTROL_PORT: u16 = 21;
const DATA_PORT: u16 = 20;
/// Port distance between servers on one node with different stacks.
const PORT_STEP: u16 = 1000;

impl Transfer {
    /// Handle commands that the server read.
    pub(super) fn on_server_message(&mut self, network: &mut dyn Network, at: End, commands: u64) {
        let Some(order) = network.exchanges().ordered(at.connection) else {
            return;
        };
        let mut text = String::new();
        for command in COMMANDS
            .into_iter()
            .filter(|command| commands & command != 0)
        {
            text += &reply_line(command, &order);
        }
        let reply = if commands & RETR != 0 { OPENING } else { READY };
        network.write(at, vec![text_content(text)], Some(reply), 0);
        if commands & RETR != 0 {
            self.open_data(network, at, &order);
        }
        if commands & QUIT != 0 {
            self.close(network, at);
        }
    }

    fn open_data(&mut self, network: &mut dyn Network, control: End, order: &Order) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.transfers.get(self.index) else {
            return;
        };
        let (node, stack) = (terms.server_node, terms.server_stack);
        let connection = network.connect(self.app, node, stack, order.node, order.port);
        let at = End {
            connection,
            side: Side::Client,
        };
        let role = Role::Sender {
            order: control.connection,
            control: Some(control),
        };
        self.roles.insert(at, role);
    }

    /// Write the ordered file at its sender.
    pub(super) fn write_file(&mut self, network: &mut dyn Network, at: End, order: &Order) {
        let file = Body {
            seed: u64::from(order.number),
            kind: BodyKind::Binary,
            total: order.bytes,
        };
        network.write(at, vec![whole(file)], Some(FILE), 0);
        if order.closes {
            self.close(network, at);
        }
    }

    /// Send the ordered file on an open data connection.
    pub(super) fn send(&mut self, network: &mut dyn Network, at: End) {
        let Some(Role::Sender { order, .. }) = self.roles.get(&at) else {
            return;
        };
        if let Some(order) = network.exchanges().ordered(*order) {
            self.write_file(network, at, &order);
        }
    }

    pub(super) fn on_accepted(&mut self, network: &mut dyn Network, at: End) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.transfers.get(self.index) else {
            return;
        };
        if network.exchanges().ordered(at.connection).is_none() {
            // A connection to the client's data port, not opened by a client.
            self.roles.insert(at, Role::Receiver);
        } else if terms.control {
            self.roles.insert(at, Role::Server);
            let greeting = text_content("220 Service ready for new user.\r\n".into());
            network.write(at, vec![greeting], Some(READY), 0);
        } else {
            let role = Role::Sender {
                order: at.connection,
                control: None,
            };
            self.roles.insert(at, role);
            self.send(network, at);
        }
    }

    /// Reply to the end of a data connection: the client closed it after the whole file, or it broke (RFC
    /// 959, section 4.2: 226, 426).
    pub(super) fn reply_to_end(&mut self, network: &mut dyn Network, at: End, is_complete: bool) {
        let Some(Role::Sender { control, .. }) = self.roles.get_mut(&at) else {
            return;
        };
        let Some(control) = control.take() else {
            return;
        };
        if self.roles.get(&control) != Some(&Role::Server) {
            return;
        }
        let (text, message) = if is_complete {
            ("226 Closing data connection.\r\n", COMPLETE)
        } else {
            ("426 Connection closed; transfer aborted.\r\n", ABORTED)
        };
        network.write(control, vec![text_content(text.into())], Some(message), 0);
    }
}

/// Return the server port of a transfer: the standard port for the first stack on its node.
pub(super) fn server_port(scenario: &Scenario, terms: &scenario::Transfer) -> u16 {
    let mut stacks: Vec<u32> = Vec::new();
    for other in &scenario.transfers {
        let is_here = other.server_node == terms.server_node && other.control == terms.control;
        if is_here && !stacks.contains(&other.server_stack) {
            stacks.push(other.server_stack);
        }
    }
    let place = stacks.iter().position(|stack| *stack == terms.server_stack);
    let base = if terms.control {
        CONTROL_PORT
    } else {
        DATA_PORT
    };
    base.wrapping_add(PORT_STEP.wrapping_mul(place.unwrap_or(0) as u16))
}

/// Return true if this transfer serves all transfers at its server's node and port.
pub(super) fn is_first(scenario: &Scenario, index: usize, terms: &scenario::Transfer) -> bool {
    let is_same = |other: &scenario::Transfer| {
        (other.server_node, other.server_stack, other.control)
            == (terms.server_node, terms.server_stack, terms.control)
    };
    scenario.transfers.iter().position(is_same) == Some(index)
}
