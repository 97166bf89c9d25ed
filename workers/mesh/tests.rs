//! Tests of whole meshes on loopback; each process is a thread.
//!
//! The listeners are bound before the processes start, so that no other test can take a port.

use super::Protection::{Encrypted, PlainOnLoopback};
use super::*;
use crate::mesh::connection::Connection;
use crate::mesh::handshake::{LANES, Lane, Party, dial, opening};
use crate::mesh::session::Signal;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;
use timely::dataflow::operators::{Capture, Exchange, ToStream, capture::Extract, vec::Map};

/// Far longer than any of these tests takes; a test waits this long only if it fails.
const GENEROUS: Duration = Duration::from_secs(60);
const THREADS: usize = 2;

/// The meshes of `processes` processes of one job, each with its open listener.
fn meshes(processes: usize, protection: Protection) -> Vec<(Mesh, TcpListener)> {
    let listeners: Vec<_> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let bound: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let mesh = |(index, listener): (usize, TcpListener)| {
        listener.set_nonblocking(true).unwrap();
        let mesh = Mesh {
            index,
            addresses: bound.iter().map(SocketAddr::to_string).collect(),
            bind: bound[index],
            key: Key::of([7; 32]),
            prologue: b"store, attempt, configuration, binary".to_vec(),
            protection,
            start_timeout: GENEROUS,
            handshake_timeout: Duration::from_secs(3),
            silence_timeout: GENEROUS,
            refused: Refused::default(),
        };
        (mesh, listener)
    };
    listeners.into_iter().enumerate().map(mesh).collect()
}

/// Every worker sends 0..1000 to the workers by value; returns what this worker received, sorted.
fn exchange(worker: &mut Worker) -> Vec<u64> {
    let (numbers, received) = std::sync::mpsc::channel();
    worker.dataflow::<u64, _, _>(|scope| {
        (0..1000u64)
            .to_stream(scope)
            .container::<Vec<_>>()
            .exchange(|x| *x)
            .map(|x| x * 3)
            .capture_into(numbers);
    });
    while worker.has_dataflows() {
        worker.step_or_park(None);
    }
    let mut received: Vec<u64> =
        received.extract().into_iter().flat_map(|(_, data)| data).collect();
    received.sort_unstable();
    received
}

fn silently(reason: &Error) {
    panic!("no process should be lost: {reason}");
}

type Outcome = Result<Vec<Vec<u64>>>;

/// Starts one process of a mesh.
fn started(mesh: (Mesh, TcpListener)) -> std::thread::JoinHandle<Outcome> {
    std::thread::spawn(move || execute(THREADS, Some((mesh.0, Some(mesh.1))), silently, exchange))
}

/// All processes succeeded, and each worker w received every x with x % workers == w once from
/// every worker.
fn assert_exchanged(processes: Vec<std::thread::JoinHandle<Outcome>>) {
    let workers = (processes.len() * THREADS) as u64;
    let got: Vec<_> =
        processes.into_iter().flat_map(|process| process.join().unwrap().unwrap()).collect();
    assert_eq!(got.len() as u64, workers);
    for (worker, got) in (0..).zip(got) {
        let mine = (0..1000u64).filter(|x| x % workers == worker);
        let expected: Vec<u64> = mine.flat_map(|x| (0..workers).map(move |_| x * 3)).collect();
        assert_eq!(got, expected, "worker {worker}");
    }
}

/// Connects to process 0 of `mesh` as process 1; the test then decides what it sends.
fn impostor(mesh: &Mesh, lane: Lane) -> Connection {
    let stream = TcpStream::connect(mesh.bind).unwrap();
    let deadline = Instant::now() + GENEROUS;
    dial(stream, &Party::of(&Mesh { index: 1, ..twin(mesh) }, 1), lane, 0, deadline).unwrap()
}

fn twin(mesh: &Mesh) -> Mesh {
    Mesh {
        addresses: mesh.addresses.clone(),
        prologue: mesh.prologue.clone(),
        key: mesh.key.clone(),
        refused: mesh.refused.clone(),
        ..*mesh
    }
}

fn losses() -> (impl Fn(&Error) + Send + Sync + 'static, Receiver<String>) {
    let (sender, reasons): (Sender<String>, _) = channel();
    (move |reason: &Error| sender.send(reason.to_string()).unwrap(), reasons)
}

/// Two and three processes exchange every record exactly once, plain and encrypted.
#[test]
fn processes_exchange() {
    for (processes, protection) in
        [(1, Encrypted), (2, PlainOnLoopback), (2, Encrypted), (3, PlainOnLoopback), (3, Encrypted)]
    {
        assert_exchanged(meshes(processes, protection).into_iter().map(started).collect());
    }
}

/// Without a mesh, the threads of one process exchange records.
#[test]
fn threads_exchange() {
    let got = execute(3, None, silently, exchange).unwrap();
    assert_eq!(got.iter().map(Vec::len).sum::<usize>(), 3000);
}

/// No threads, an index out of range, an invalid address, plain data beyond loopback and a taken
/// port are refused, each with its exit code.
#[test]
fn bad_jobs_are_refused() {
    let kind = |threads, mesh: Option<Mesh>| {
        execute(threads, mesh.map(|mesh| (mesh, None)), silently, |_| ()).unwrap_err().kind()
    };
    let (mesh, _listener) = meshes(2, Encrypted).remove(0);
    assert_eq!(kind(0, None), Kind::Config);
    assert_eq!(kind(1, Some(Mesh { index: 2, ..twin(&mesh) })), Kind::Config);
    for address in ["", "host", ":7000", "host:", "host:0", "host:70000", "host:ssh"] {
        let addresses = vec![mesh.addresses[0].clone(), address.into()];
        assert_eq!(kind(1, Some(Mesh { addresses, ..twin(&mesh) })), Kind::Config, "{address:?}");
    }
    let everywhere = SocketAddr::from(([0, 0, 0, 0], mesh.bind.port()));
    assert_eq!(
        kind(1, Some(Mesh { protection: PlainOnLoopback, bind: everywhere, ..twin(&mesh) })),
        Kind::Config
    );
    assert_eq!(listen(mesh.bind).unwrap_err().kind(), Kind::TryAgain);
}

/// A dialer with another key, job, encryption, number of processes or number of threads is refused
/// with exit code 76 and the reason. The right processes still complete.
#[test]
fn wrong_peers_are_refused() {
    let mut meshes = meshes(2, Encrypted);
    let honest = meshes.pop().unwrap();
    let first = twin(&meshes[0].0);
    let first_run = started(meshes.remove(0));
    let refused = |threads, wrong: Mesh| {
        let error = execute(threads, Some((wrong, None)), silently, |_| ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Protocol, "{error}");
        error.to_string()
    };
    let last = |change: &dyn Fn(&mut Mesh)| {
        let mut mesh = Mesh { index: 1, ..twin(&first) };
        change(&mut mesh);
        mesh
    };
    assert!(
        refused(
            THREADS,
            last(&|mesh| mesh.key = Key::of(std::array::from_fn(|at| if at == 31 { 6 } else { 7 })))
        )
        .contains("a wrong key")
    );
    assert!(refused(THREADS, last(&|mesh| mesh.prologue.push(0))).contains("a different build"));
    assert!(
        refused(THREADS, last(&|mesh| mesh.protection = PlainOnLoopback))
            .contains("a different build")
    );
    let third = |mesh: &mut Mesh| {
        mesh.addresses.push(mesh.addresses[0].clone());
        mesh.index = 2;
    };
    assert!(refused(THREADS, last(&third)).contains("a different build"));
    assert!(refused(THREADS + 1, last(&|_| ())).contains("a different build"));
    assert_exchanged(vec![first_run, started(honest)]);
}

/// A refusal has no proof. A single one, from a program that had a peer's address for a moment,
/// ended a process for good. The process calls again and joins the true peer.
#[test]
fn a_passing_refusal_ends_nothing() {
    let mut meshes = meshes(2, Encrypted);
    let calling = started(meshes.pop().unwrap());
    let (first, listener) = meshes.remove(0);
    let mut other_job = Mesh { start_timeout: Duration::from_millis(300), ..twin(&first) };
    other_job.prologue.push(0);
    let passing = started((other_job, listener.try_clone().unwrap()));
    assert_eq!(passing.join().unwrap().unwrap_err().kind(), Kind::TryAgain);
    assert!(first.refused.counts().contains_key("another_job"));
    assert_exchanged(vec![started((first, listener)), calling]);
}

/// Hundreds of silent connections, junk, partial openings and openings under a forged index do not
/// keep the true peers out, even if they hold every place when those dial. Refusals are counted by
/// reason.
#[test]
fn strangers_do_not_disturb_the_start() {
    let mut meshes = meshes(3, Encrypted);
    let first = twin(&meshes[0].0);
    let last = meshes.pop().unwrap();
    let mut runs = vec![started(meshes.remove(0))];
    let forged: Vec<_> = [(1, 0), (2, 0), (2, 1)]
        .map(|(index, accepting)| {
            let party = Party::of(&Mesh { index, key: Key::of([8; 32]), ..twin(&first) }, THREADS);
            opening(&party, Lane::Data, accepting).unwrap().0
        })
        .into();
    let mut mute = Vec::new();
    for turn in 0..400 {
        let Ok(mut stream) = TcpStream::connect(first.bind) else {
            continue;
        };
        // The acceptor may have closed it already.
        let _ = match turn % 4 {
            0 => stream.write_all(&[0xff; 8]),
            1 => stream.write_all(&forged[turn / 4 % 3]),
            2 => stream.write_all(&forged[0][..40]),
            _ => Ok(()),
        };
        mute.push(stream);
    }
    runs.push(started(meshes.remove(0)));
    runs.push(started(last));
    assert_exchanged(runs);
    let refused = first.refused.counts();
    assert!(refused.contains_key("stranger") && refused.contains_key("wrong_key"), "{refused:?}");
    drop(mute);
}

/// A peer that never comes is named at the deadline, with its address and the reason if it was
/// refused.
#[test]
fn a_missing_peer_is_named() {
    let mut three = meshes(3, Encrypted);
    drop(three.pop());
    let addresses = three[0].0.addresses.clone();
    for (mesh, _) in &mut three {
        mesh.start_timeout = Duration::from_millis(600);
    }
    let wrong = Party::of(&Mesh { index: 2, key: Key::of([8; 32]), ..twin(&three[0].0) }, THREADS);
    let mut stranger = TcpStream::connect(three[0].0.bind).unwrap();
    stranger.write_all(&opening(&wrong, Lane::Data, 0).unwrap().0).unwrap();
    let runs: Vec<_> = three.into_iter().map(started).collect();
    for (index, run) in runs.into_iter().enumerate() {
        let error = run.join().unwrap().unwrap_err();
        let line = error.to_string();
        assert_eq!(error.kind(), Kind::TryAgain, "{line}");
        assert!(
            line.contains(&format!("process 2 at {}", addresses[2])) || line.contains("left"),
            "{line}"
        );
        assert!(index > 0 || line.contains("a wrong key"), "{line}");
    }
    let mut alone = meshes(2, Encrypted);
    let (mut mesh, listener) = alone.pop().unwrap();
    drop(alone);
    mesh.start_timeout = Duration::from_millis(300);
    let error = execute(1, Some((mesh, Some(listener))), silently, |_| ()).unwrap_err();
    assert!(error.kind() == Kind::TryAgain && error.to_string().contains("process 0"), "{error}");
}

/// A second process with the same index is refused, and the first one is not disturbed.
#[test]
fn an_index_is_taken_once() {
    let mut meshes = meshes(3, Encrypted);
    let last = meshes.pop().unwrap();
    let second = meshes.pop().unwrap();
    let first = twin(&meshes[0].0);
    let party = Party::of(&second.0, THREADS);
    let mut runs = vec![started(meshes.remove(0)), started(second)];
    let error = loop {
        let stream = TcpStream::connect(first.bind).unwrap();
        match dial(stream, &party, Lane::Beat, 0, Instant::now() + GENEROUS) {
            // The true process 1 was not there yet; it gets its place when this connection closes.
            Ok(connection) => drop(connection),
            Err(error) => break format!("{error:?}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(error.contains("has joined as number 1"), "{error}");
    runs.push(started(last));
    assert_exchanged(runs);
}

/// A peer whose heartbeat closes, falls silent or is forged is reported once, and `execute` returns
/// exit code 75 although its workers wait.
#[test]
fn a_lost_peer_is_reported() {
    for (case, expected) in
        [("drop", "without a farewell"), ("mute", "silent for 500ms"), ("forge", "did not seal")]
    {
        let (mut mesh, listener) = meshes(2, PlainOnLoopback).remove(0);
        mesh.silence_timeout = Duration::from_millis(500);
        let peer = twin(&mesh);
        let (on_lost, reasons) = losses();
        let run = std::thread::spawn(move || {
            execute(1, Some((mesh, Some(listener))), on_lost, |_| std::thread::sleep(GENEROUS))
        });
        let [data, mut beat] = LANES.map(|lane| impostor(&peer, lane));
        beat.send(Signal::Ready).unwrap();
        assert_eq!(beat.receive(Instant::now() + GENEROUS).unwrap(), Signal::Ready);
        match case {
            "drop" => beat.stream.shutdown(Shutdown::Both).unwrap(),
            "forge" => beat.stream.write_all(&[0; 17]).unwrap(),
            _ => {}
        }
        let reason = reasons.recv_timeout(GENEROUS / 2).unwrap();
        assert!(
            reason.starts_with("lost process 1: ") && reason.contains(expected),
            "{case}: {reason}"
        );
        let error = run.join().unwrap().unwrap_err();
        assert_eq!(
            (error.kind(), error.peer(), error.to_string()),
            (Kind::TryAgain, Some(1), reason)
        );
        drop(data);
        assert!(
            reasons.recv_timeout(Duration::from_millis(100)).is_err(),
            "{case}: reported twice"
        );
    }
}

/// A worker's panic becomes an error, although the other worker waits for it.
#[test]
fn a_panicking_worker_does_not_hang_the_rest() {
    let work = |worker: &mut Worker| match worker.index() {
        0 => panic!("as the test bids"),
        _ => exchange(worker),
    };
    let error = execute(2, None, silently, work).unwrap_err();
    assert!(
        error.kind() == Kind::Internal && error.to_string().contains("as the test bids"),
        "{error}"
    );
}

/// Panics of timely's threads end the process, with an exit code that distinguishes a lost peer
/// from a fault; other panics do not.
#[test]
fn panics_are_judged() {
    let broken = "timely communication error: reading data: socket closed";
    let lost = fatal_panic("timely:recv-3", broken).unwrap();
    let line = lost.to_string();
    assert!(
        (lost.kind(), lost.peer()) == (Kind::TryAgain, Some(3))
            && line.starts_with("lost process 3: "),
        "{line}"
    );
    assert_eq!(fatal_panic("main", broken).unwrap().kind(), Kind::TryAgain);
    assert_eq!(
        fatal_panic("timely:work-0", "MergeQueue poisoned.").unwrap().kind(),
        Kind::TryAgain
    );
    assert_eq!(fatal_panic("timely:work-0", "index out of bounds").unwrap().kind(), Kind::Internal);
    assert!(fatal_panic("main", "index out of bounds").is_none());
}

/// With `exit_on_panic` a panicking worker ends its process with exit code 70, after an error of
/// one line. The test runs itself again as that process.
#[test]
fn a_panicking_worker_ends_its_process() {
    const CHILD: &str = "PAGEFOLD_TEST_PANIC";
    if std::env::var_os(CHILD).is_some() {
        exit_on_panic(|error| eprintln!("reported: {error}"));
        let _ = execute(2, None, silently, |worker| match worker.index() {
            0 => panic!("as the\ntest bids"),
            _ => std::thread::sleep(GENEROUS),
        });
        return;
    }
    let path = format!("{}::a_panicking_worker_ends_its_process", module_path!());
    let (_, test) = path.split_once("::").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let error = String::from_utf8(child.stderr).unwrap();
    assert_eq!(child.status.code(), Some(70), "{error}");
    assert!(error.contains("reported: timely:work-0 panicked: as the test bids"), "{error}");
}

/// Three processes exchange messages, and meanwhile records over the same listeners. A process that
/// leaves is no loss; one that is dropped without leaving is lost to all others.
#[test]
fn processes_exchange_messages() {
    let (report, losses) = channel();
    let processes: Vec<_> = meshes(3, PlainOnLoopback)
        .into_iter()
        .map(|(mesh, listener)| {
            let report = report.clone();
            std::thread::spawn(move || {
                let on_lost = move |lost: &Error| report.send(lost.peer()).unwrap();
                let mut control =
                    ControlChannel::begin(&mesh, THREADS, &listener, on_lost).unwrap();
                for peer in (0..3).filter(|peer| *peer != mesh.index) {
                    control.send(peer, format!("{} to {peer}", mesh.index).as_bytes()).unwrap();
                }
                let mut received: Vec<_> = (0..2).map(|_| control.receive().unwrap()).collect();
                received.sort();
                let expected = (0..3).filter(|peer| *peer != mesh.index);
                let expected: Vec<_> = expected
                    .map(|peer| (peer, format!("{peer} to {}", mesh.index).into_bytes()))
                    .collect();
                assert_eq!(received, expected);
                assert!(control.send(mesh.index, b"to myself").is_err());
                (control, mesh, listener)
            })
        })
        .collect();
    let parts: Vec<_> = processes.into_iter().map(|part| part.join().unwrap()).collect();
    let (channels, meshes): (Vec<_>, Vec<_>) =
        parts.into_iter().map(|(control, mesh, open)| (control, (mesh, open))).unzip();
    assert_exchanged(meshes.into_iter().map(started).collect());
    assert!(losses.try_recv().is_err());
    let mut channels = channels.into_iter();
    let (first, second) = (channels.next().unwrap(), channels.next().unwrap());
    drop(channels);
    for _ in 0..2 {
        assert_eq!(losses.recv_timeout(GENEROUS).unwrap(), Some(2));
    }
    let leaving = std::thread::spawn(move || first.leave());
    second.leave();
    leaving.join().unwrap();
    assert!(losses.try_recv().is_err());
}
