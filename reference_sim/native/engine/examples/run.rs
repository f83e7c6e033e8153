//! Runs the scenario of a JSON document (an argument, or standard input) and prints the run time: `cargo run
//! --release -p reference-sim-engine --example run scenario.json`.

use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

use reference_sim_engine::scenario::Scenario;
use reference_sim_engine::simulation::run;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut document = String::new();
    match std::env::args().nth(1) {
        Some(path) => document = std::fs::read_to_string(path)?,
        None => drop(std::io::stdin().read_to_string(&mut document)?),
    }
    let scenario: Arc<Scenario> = Arc::new(serde_json::from_str(&document)?);
    let started = Instant::now();
    let outcome = run(&scenario)?;
    let seconds = started.elapsed().as_secs_f64();
    let truth = &outcome.truth;
    let frames: usize = outcome.taps.iter().map(|tap| tap.len()).sum();
    let hops: u64 = truth.links.iter().map(|link| link.packets).sum();
    println!(
        "{:.3} s simulated in {seconds:.4} s: {} events ({:.1} M/s), {hops} hops, {} transactions, {} connections, {frames} frames",
        truth.end as f64 / 1e9,
        truth.events,
        truth.events as f64 / seconds / 1e6,
        truth.transactions.len(),
        truth.connections.len(),
    );
    Ok(())
}
