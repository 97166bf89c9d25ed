//! Measures what encryption costs.
//!
//! Two processes of one worker each exchange rows over loopback TCP, plain and encrypted in turn in
//! the same run. Prints MB/s of exchanged rows, the median of the rounds, and the ratio of the two.
//! `cargo bench --bench mesh`; without `--bench` one round of a few rows.

use std::net::TcpListener;
use std::time::{Duration, Instant};
use timely::dataflow::operators::probe::{Handle, Probe};
use workers::fold::gather::{Flow, gather, produce};
use workers::id::Id;
use workers::mesh::{Key, Mesh, Protection, Refused, execute};

/// Bytes of a row: an [`Id`].
const ROW_BYTES: usize = 16;
/// The timeout of start and silence; no run comes near it.
const LIMIT: Duration = Duration::from_secs(60);

/// The two processes of a job, each with its open listener.
fn meshes(protection: Protection) -> Vec<(Mesh, TcpListener)> {
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let bound = listeners.each_ref().map(|listener| listener.local_addr().expect("bound"));
    let mesh = |(index, listener): (usize, TcpListener)| {
        listener.set_nonblocking(true).expect("a socket");
        let mesh = Mesh {
            index,
            addresses: bound.iter().map(ToString::to_string).collect(),
            bind: bound[index],
            key: Key::of([7; 32]),
            prologue: b"bench".to_vec(),
            protection,
            start_timeout: LIMIT,
            handshake_timeout: LIMIT,
            silence_timeout: LIMIT,
            refused: Refused::default(),
        };
        (mesh, listener)
    };
    listeners.into_iter().enumerate().map(mesh).collect()
}

/// Seconds in which each process sends `rows` rows to the other, from the first row to the end of
/// the dataflow on both; the start does not count.
fn seconds(protection: Protection, rows: u64) -> f64 {
    let run = |(mesh, listener)| {
        std::thread::spawn(move || {
            let lost = |error: &workers::error::Error| panic!("{error}");
            let took = execute(1, Some((mesh, Some(listener))), lost, move |worker| {
                let (probe, other) = (Handle::new(), 1 - worker.index() as u64);
                let began = Instant::now();
                worker.dataflow::<(), _, _>(|scope| {
                    let sent: Flow<'_, Id> = produce(scope, "send", move |give| {
                        (0..rows).for_each(|n| give(Id { high: other, low: n }));
                    });
                    let got: Flow<'_, Id> = gather(
                        sent,
                        "receive",
                        |row: &Id| row.high,
                        move |got, _, _| {
                            assert_eq!(got.len() as u64, rows);
                        },
                    );
                    got.probe_with(&probe);
                });
                while !probe.done() {
                    worker.step_or_park(None);
                }
                began.elapsed().as_secs_f64()
            });
            took.expect("exchanged").into_iter().fold(0.0, f64::max)
        })
    };
    let threads: Vec<_> = meshes(protection).into_iter().map(run).collect();
    threads.into_iter().map(|thread| thread.join().expect("no panic")).fold(0.0, f64::max)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rows, rounds) = if is_bench { (8_000_000, 7) } else { (10_000, 1) };
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        // In turn, so that other load on the machine slows both.
        took[0].push(seconds(Protection::PlainOnLoopback, rows));
        took[1].push(seconds(Protection::Encrypted, rows));
    }
    let crossing = 2.0 * (rows as usize * ROW_BYTES) as f64 / 1e6;
    let [plain, encrypted] = took.map(|figures| crossing / median(figures));
    println!(
        "plain      {plain:.0} MB/s of rows between two processes, {rows} of {ROW_BYTES} bytes each way"
    );
    println!("encrypted  {encrypted:.0} MB/s");
    println!("encrypted / plain  {:.2}", encrypted / plain);
}
