//! Random worlds: whatever happens, the invariants hold, and when it is over the set is where Git wants it.
//!
//! More, or others: `PHASELINE_PRODUCT_WORLDS=20000 PHASELINE_PRODUCT_FIRST=0 cargo test --release --test it
//! product::worlds`; one, with its trace: `PHASELINE_PRODUCT_SEED=17`, cut off
//! earlier by `PHASELINE_PRODUCT_BOUND=600` (virtual seconds). What is not for every day yet is named in `play.rs`;
//! `PHASELINE_PRODUCT_WITH=all` has it as well.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::draft::Draft;
use super::git::Repo;
use super::life::Life;
use super::play::on_stage;

/// The worlds of a plain test run.
const WORLDS: u64 = 400;
/// Worlds that share a repository.
const SHARE: u64 = 100;

/// Plays a world; what is wrong, with the trace.
fn run(repo: &Rc<Repo>, seed: u64) -> Result<(), String> {
    let draft = Draft::of(seed);
    on_stage(async move {
        let mut life = Life::begin(repo, draft);
        let done = life.live().await;
        done.map_err(|why| format!("{why}\n{}\n{}", life.head, life.play.trace()))
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_worlds_keep_the_invariants_and_come_to_rest() {
    if let Some(seed) = number("PHASELINE_PRODUCT_SEED") {
        let done = run(&Rc::new(Repo::new()), seed);
        println!("{}", done.as_ref().err().map_or("nothing is wrong", String::as_str));
        assert!(done.is_ok());
        return;
    }
    let worlds = number("PHASELINE_PRODUCT_WORLDS").unwrap_or(WORLDS);
    let first = number("PHASELINE_PRODUCT_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let began = Instant::now();
    let failures: Vec<(u64, String)> = std::thread::scope(|scope| {
        let hand = || {
            let mut failures = Vec::new();
            let (mut repo, mut shared) = (Rc::new(Repo::new()), 0);
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + worlds || failures.len() >= 10 {
                    return failures;
                }
                shared += 1;
                if shared % SHARE == 0 {
                    repo = Rc::new(Repo::new());
                }
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&repo, seed)));
                if let Err(why) = done.unwrap_or_else(|_| Err("panic".into())) {
                    failures.push((seed, why));
                }
            }
        };
        let hands: Vec<_> = (0..2).map(|_| scope.spawn(hand)).collect();
        hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect()
    });
    let played = (next.load(Ordering::Relaxed) - first).min(worlds);
    println!("{played} worlds from {first} on in {:?}", began.elapsed());
    if let Some((seed, why)) = failures.first() {
        let heads = |why: &String| why.lines().next().unwrap_or_default().to_owned();
        let list: Vec<String> = failures.iter().map(|(seed, why)| format!("{seed}: {}", heads(why))).collect();
        panic!("PHASELINE_PRODUCT_SEED={seed}: {why}\n\n{} worlds failed:\n{}", failures.len(), list.join("\n"));
    }
}

#[test]
fn the_same_seed_gives_the_same_play() {
    // One for both: where it lies stands in the records.
    let repo = Rc::new(Repo::new());
    for seed in [0, 1, 2, 109] {
        let trace = || {
            let repo = repo.clone();
            on_stage(async move {
                let mut life = Life::begin(&repo, Draft::of(seed));
                let done = life.live().await;
                (done, life.play.trace())
            })
        };
        assert_eq!(trace(), trace(), "seed {seed}");
    }
}
