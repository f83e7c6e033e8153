//! A scenario that runs: the world, and the applications in it.

use crate::app::{Application, End, Network};
use crate::scenario::Scenario;
use crate::stack::Nanoseconds;
use crate::tap::Tap;
use crate::truth::Truth;
use crate::validate::{self, ScenarioFault};
use crate::world::{Notice, World};

/// What a simulation gives.
#[derive(Debug)]
pub struct Outcome {
    pub truth: Truth,
    /// In the order of the scenario's taps.
    pub taps: Vec<Tap>,
}

/// An application that may move to another thread.
pub type BoxedApplication = Box<dyn Application + Send>;

pub struct Simulation {
    world: World,
    applications: Vec<BoxedApplication>,
    duration: Option<Nanoseconds>,
    is_over: bool,
}

/// Runs a scenario to its end.
///
/// # Errors
/// The first thing in the scenario that cannot be.
pub fn run(scenario: &Scenario) -> Result<Outcome, ScenarioFault> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.step_until(Nanoseconds::MAX);
    Ok(simulation.finish())
}

impl Simulation {
    /// Starts the applications of a scenario.
    ///
    /// # Errors
    /// The first thing in the scenario that cannot be.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioFault> {
        Self::with(scenario, applications(scenario))
    }

    /// Starts these applications, which the scenario need not name.
    ///
    /// # Errors
    /// The first thing in the scenario that cannot be.
    pub fn with(
        scenario: &Scenario,
        applications: Vec<BoxedApplication>,
    ) -> Result<Self, ScenarioFault> {
        validate::validate(scenario)?;
        let mut simulation = Simulation {
            world: World::new(scenario, applications.len() as u32),
            applications,
            duration: scenario.duration_ns,
            is_over: false,
        };
        for application in &mut simulation.applications {
            application.start(&mut simulation.world);
            simulation.world.drive_called();
        }
        simulation.tell();
        Ok(simulation)
    }

    /// Goes on until this time, or the end; whether there is more to come.
    pub fn step_until(&mut self, time: Nanoseconds) -> bool {
        let end = self.duration.unwrap_or(Nanoseconds::MAX);
        let until = time.min(end);
        while self.world.next_time().is_some_and(|next| next <= until) {
            self.world.step();
            self.tell();
            if self.is_done() {
                self.is_over = true;
                return false;
            }
        }
        self.is_over = self.world.next_time().is_none_or(|next| next > end);
        !self.is_over
    }

    /// Goes on for so many events, or to the end; whether there is more to come.
    pub fn step(&mut self, events: u64) -> bool {
        let last = self.events().saturating_add(events);
        let end = self.duration.unwrap_or(Nanoseconds::MAX);
        while self.events() < last {
            if self.world.next_time().is_none_or(|next| next > end) || self.is_done() {
                self.is_over = true;
                return false;
            }
            self.world.step();
            self.tell();
        }
        true
    }

    /// Events that were handled.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.world.fabric().truth.events
    }

    #[must_use]
    pub fn now(&self) -> Nanoseconds {
        self.world.now()
    }

    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The truth and the captures as they are now.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        if let Some(duration) = self.duration.filter(|_| self.is_over) {
            if !self.is_done() {
                self.world.advance_to(duration);
            }
        }
        self.world.finish();
        let fabric = self.world.into_fabric();
        Outcome {
            truth: fabric.truth,
            taps: fabric.taps,
        }
    }

    /// Tells the applications what has happened, and drives what they call.
    fn tell(&mut self) {
        loop {
            while let Some((app, notice)) = self.world.notice() {
                let Some(application) = self.applications.get_mut(app.0 as usize) else {
                    continue;
                };
                match notice {
                    Notice::Woken { token } => application.woken(&mut self.world, token),
                    Notice::Happened { at, what } => {
                        application.happened(&mut self.world, at, what);
                    }
                }
            }
            if !self.world.drive_called() {
                return;
            }
        }
    }

    /// Whether nothing that is still to come would show.
    fn is_done(&self) -> bool {
        self.world.is_quiet() && self.applications.iter().all(|it| it.is_done())
    }
}

/// The applications of a scenario in the order of their numbers: servers, proxies, browsers,
/// transfers.
fn applications(_scenario: &Scenario) -> Vec<BoxedApplication> {
    Vec::new()
}
