//! Files one after the other (RFC 959).

use std::sync::Arc;

use super::{AppId, Application, End, Happening, Network};
use crate::scenario::Scenario;

/// A transfer of the scenario.
pub struct Transfer {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
}

impl Transfer {
    #[must_use]
    pub fn new(app: AppId, scenario: &Arc<Scenario>, index: usize) -> Self {
        Transfer {
            app,
            scenario: Arc::clone(scenario),
            index,
        }
    }
}

impl Application for Transfer {
    fn start(&mut self, network: &mut dyn Network) {
        if let Some(terms) = self.scenario.transfers.get(self.index) {
            network.listen(self.app, terms.server_node, 20, terms.server_stack);
        }
    }

    fn woken(&mut self, _network: &mut dyn Network, _token: u64) {}

    fn happened(&mut self, _network: &mut dyn Network, _at: End, _what: Happening) {}

    fn is_done(&self) -> bool {
        true
    }
}
