//! Progress of a visit: the fetches of its plan that can be requested.

use std::sync::Arc;

use crate::scenario::{After, Fetch};

/// The stage of one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The condition of the fetch is not met.
    Waiting,
    /// The condition is met. A pause or a busy connection can still delay the request.
    Released,
    Asked,
    Done,
}

/// One visit to a page.
#[derive(Clone, Debug)]
pub struct Progress {
    pub page: u32,
    pub plan: u32,
    pub visit: u32,
    /// Sizes of all objects of the page.
    pub sizes: Arc<[u64]>,
    stages: Vec<Stage>,
    done: usize,
    /// Number of fetches that wait for part of a response.
    waiting_for_bytes: usize,
}

impl Progress {
    #[must_use]
    pub fn new(page: u32, plan: u32, visit: u32, sizes: Arc<[u64]>, fetches: &[Fetch]) -> Self {
        let is_for_bytes = |fetch: &&Fetch| matches!(fetch.after, After::Bytes { .. });
        Progress {
            page,
            plan,
            visit,
            sizes,
            stages: vec![Stage::Waiting; fetches.len()],
            done: 0,
            waiting_for_bytes: fetches.iter().filter(is_for_bytes).count(),
        }
    }

    /// Return the fetches that start the visit.
    pub fn start(&mut self, fetches: &[Fetch]) -> Vec<u32> {
        self.release(fetches, |after| *after == After::Start)
    }

    /// Record that a fetch has its connection.
    pub fn on_connected(&mut self, fetch: u32) {
        self.set(fetch, Stage::Asked);
    }

    /// Return the fetches released by the request of this fetch, which was written.
    pub fn on_requested(&mut self, fetches: &[Fetch], fetch: u32) -> Vec<u32> {
        self.release(fetches, |after| *after == After::Requested { fetch })
    }

    /// Return the fetches released by `body` received body bytes of this fetch.
    pub fn on_received(&mut self, fetches: &[Fetch], fetch: u32, body: u64) -> Vec<u32> {
        if self.waiting_for_bytes == 0 {
            return Vec::new();
        }
        let is_in = |after: &After| matches!(*after, After::Bytes { fetch: of, bytes } if of == fetch && bytes <= body);
        self.release(fetches, is_in)
    }

    /// Return the fetches released by this fetch's complete response.
    pub fn on_completed(&mut self, fetches: &[Fetch], fetch: u32) -> Vec<u32> {
        if self.stage(fetch) != Some(Stage::Done) {
            self.set(fetch, Stage::Done);
            self.done += 1;
        }
        let is_of = |after: &After| match *after {
            After::Start => false,
            After::Complete { fetch: of }
            | After::Bytes { fetch: of, .. }
            | After::Requested { fetch: of } => of == fetch,
        };
        self.release(fetches, is_of)
    }

    /// Record that the request must be repeated.
    pub fn on_lost(&mut self, fetch: u32) {
        self.set(fetch, Stage::Released);
    }

    /// Return true if a fetch waits for part of a response.
    #[must_use]
    pub fn waits_for_bytes(&self) -> bool {
        self.waiting_for_bytes > 0
    }

    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done == self.stages.len()
    }

    #[must_use]
    pub fn stage(&self, fetch: u32) -> Option<Stage> {
        self.stages.get(fetch as usize).copied()
    }

    /// Return true if a fetch other than `except` can still need a connection of this lane.
    #[must_use]
    pub fn needs(&self, fetches: &[Fetch], lane: Option<u32>, except: u32) -> bool {
        let mut others = fetches.iter().zip(&self.stages).enumerate();
        others.any(|(number, (fetch, stage))| {
            number != except as usize
                && matches!(stage, Stage::Waiting | Stage::Released)
                && (fetch.lane.is_none() || fetch.lane == lane)
        })
    }

    fn set(&mut self, fetch: u32, stage: Stage) {
        if let Some(at) = self.stages.get_mut(fetch as usize) {
            *at = stage;
        }
    }

    fn release(&mut self, fetches: &[Fetch], is_met: impl Fn(&After) -> bool) -> Vec<u32> {
        let mut released = Vec::new();
        for (number, fetch) in fetches.iter().enumerate() {
            let Some(stage @ Stage::Waiting) = self.stages.get_mut(number) else {
                continue;
            };
            if is_met(&fetch.after) {
                *stage = Stage::Released;
                self.waiting_for_bytes -= usize::from(matches!(fetch.after, After::Bytes { .. }));
                released.push(number as u32);
            }
        }
        released
    }
}
