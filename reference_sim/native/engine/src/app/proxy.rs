//! A proxy that splits connections: requests come in by one stack and go out by another.

use std::sync::Arc;

use super::{AppId, Application, End, Happening, Network};
use crate::scenario::Scenario;

/// A proxy of the scenario.
pub struct Proxy {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
}

impl Proxy {
    #[must_use]
    pub fn new(app: AppId, scenario: &Arc<Scenario>, index: usize) -> Self {
        Proxy {
            app,
            scenario: Arc::clone(scenario),
            index,
        }
    }
}

impl Application for Proxy {
    fn start(&mut self, network: &mut dyn Network) {
        if let Some(terms) = self.scenario.proxies.get(self.index) {
            network.listen(self.app, terms.node, terms.port, terms.stack);
        }
    }

    fn woken(&mut self, _network: &mut dyn Network, _token: u64) {}

    fn happened(&mut self, _network: &mut dyn Network, _at: End, _what: Happening) {}

    fn is_done(&self) -> bool {
        true
    }
}
