use super::lan::Lan;
use super::scene::{Run, SILENCE, Scene};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The stranger's orders: addresses, and how many connections to make to all of them together.
const ORDER: &str = "PAGEFOLD_TEST_STRANGER";
const CONNECTIONS: usize = 10_000;
/// Further connections until the start is over: more than the stranger will make.
const MORE: usize = 10 * CONNECTIONS;
/// How many connections a stranger keeps open.
const KEPT: usize = 200;
/// By how much strangers may raise the memory of a process during its start, in KiB.
const MORE_KIB: u64 = 4096;
const HELLO_BYTES: usize = 52;
const OPENING_BYTES: usize = 100;

/// An opening as the protocol defines it, with an invalid proof.
fn opening(job: &[u8], dialing: u32, accepting: u32) -> [u8; OPENING_BYTES] {
    let mut bytes = [0x5a; OPENING_BYTES];
    bytes[..12].copy_from_slice(b"pgfdmesh\x01\x00\x00\x00");
    bytes[12..16].copy_from_slice(&dialing.to_le_bytes());
    bytes[16..20].copy_from_slice(&accepting.to_le_bytes());
    bytes[20..HELLO_BYTES].copy_from_slice(job);
    bytes
}

/// The answer to `bytes`; none if the other side closes the connection.
fn answer(stream: &mut TcpStream, bytes: &[u8]) -> Option<[u8; OPENING_BYTES]> {
    let mut reply = [0; OPENING_BYTES];
    stream.write_all(bytes).ok()?;
    stream.read_exact(&mut reply).ok()?;
    Some(reply)
}

fn connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    Some(stream)
}

/// Makes `connections` of every kind to process `accepting` at `address`, and returns how many were
/// made.
fn pester(address: SocketAddr, accepting: u32, connections: usize) -> usize {
    let other = [0xee; 32];
    // The digest of the job is no secret: every caller gets it.
    let reply =
        (0..100).find_map(|_| answer(&mut connect(address)?, &opening(&other, 2, accepting)));
    let job: [u8; 32] =
        reply.and_then(|reply| reply[20..HELLO_BYTES].try_into().ok()).expect("an answer");
    let (mut kept, mut made) = (VecDeque::new(), 0);
    for n in 0..connections {
        let Some(mut stream) = connect(address) else { continue };
        made += 1;
        // The other side may have closed the connection, which is no failure.
        match n % 6 {
            0 => drop(stream.write_all(&[n as u8; 64])),
            1 => {}
            2 => drop(stream.write_all(&opening(&job, 2, accepting)[..70])),
            3 => drop(answer(&mut stream, &opening(&other, 2, accepting))),
            4 => drop(answer(&mut stream, &opening(&job, 2, accepting))),
            _ => drop(answer(&mut stream, &opening(&job, accepting, accepting))),
        }
        kept.push_back(stream);
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }
    made
}

/// The stranger: not a test, but a program that a test starts on a host. Its command is `cargo test
/// --test suite hosts::strangers::strangers_during_the_start`, by root; alone it has no orders.
#[test]
#[ignore = "a program that `strangers_during_the_start` starts"]
fn the_stranger() {
    let order = std::env::var(ORDER).expect("orders");
    let (addresses, connections) = order.split_once(' ').expect("two words");
    let connections: usize = connections.parse().expect("a number");
    let addresses: Vec<SocketAddr> =
        addresses.split(',').map(|address| address.parse().expect("an address")).collect();
    let each = connections / addresses.len();
    let made: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(addresses)
            .map(|(n, address)| scope.spawn(move || pester(address, n, each)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    println!("connections made: {made}");
}

fn stranger(lan: &Lan, port: u16, connections: usize) -> Command {
    let program = std::env::current_exe().expect("a path");
    let mut command = lan.command(3, program.to_str().expect("UTF-8"));
    let addresses = format!("{}:{port},{}:{port}", lan.address(0), lan.address(1));
    command.args(["--exact", "--ignored", "--nocapture", "hosts::strangers::the_stranger"]);
    command
        .env(ORDER, format!("{addresses} {connections}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The peak memory of the processes that others dial, in KiB.
fn memory(lan: &Lan) -> Vec<u64> {
    let of = |host: usize| {
        let process = lan.workers(host).pop().expect("a worker");
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("alive");
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux").trim();
        line.trim_end_matches(" kB").parse().expect("a number")
    };
    [0, 1].map(of).into()
}

/// Starts a run whose start waits for the third host, whose cable is unplugged.
fn held<'a>(lan: &'a Lan) -> (Scene<'a>, Run) {
    let scene = Scene::new(lan, None, "");
    lan.plug(2, false);
    let run = scene.start();
    let began = std::time::Instant::now();
    while (0..3).any(|host| lan.workers(host).is_empty()) {
        assert!(began.elapsed() < 4 * SILENCE, "no start");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(SILENCE / 2);
    (scene, run)
}

/// Strangers do not end a run and do not keep a host out.
///
/// 10,000 connections during the start bring garbage, silence, half an opening, another build, a
/// wrong key or an impossible index; more follow while the third host joins. Each is counted with
/// its reason, some are logged, and the peak memory stays within 4 MiB of an undisturbed start.
#[test]
fn strangers_during_the_start() {
    let Some(lan) = Lan::new(4) else { return };
    let (scene, run) = held(&lan);
    let calm = memory(&lan);
    lan.plug(2, true);
    run.succeeded(&scene, 1);
    let (scene, mut run) = held(&lan);
    let output = stranger(&lan, scene.port, CONNECTIONS).output().expect("started");
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let made =
        words.lines().find_map(|line| line.split_once("connections made: ")).expect("a count").1;
    let made: u64 = made.trim().parse().expect("a number");
    let pestered = memory(&lan);
    let mut more = stranger(&lan, scene.port, MORE).stdout(Stdio::null()).spawn().expect("started");
    lan.plug(2, true);
    run.says("refused connections during the start", 4 * SILENCE).expect("a line");
    let log = run.log();
    let ended = run.succeeded(&scene, 1);
    let _ = more.kill();
    more.wait().expect("waited");
    assert!(log.contains("refused a connection"), "{log}");
    let shares = ended["process"].as_array().expect("a list");
    let counts: Vec<_> = shares.iter().map(|share| share["refused"].to_string()).collect();
    println!(
        "{made} connections; refused: {counts:?}; KiB undisturbed {calm:?}, pestered {pestered:?}"
    );
    assert!(made >= CONNECTIONS as u64 * 99 / 100, "{made}");
    assert!(ended["refused"].as_u64().is_some_and(|refused| refused >= made), "{ended}");
    assert!(
        ended["refused"].as_u64().is_some_and(|refused| refused < made + MORE as u64),
        "the third host came last"
    );
    for word in ["stranger", "another_job", "wrong_key", "wrong_index"] {
        assert!(
            shares[0]["refused"][word].as_u64().is_some_and(|n| n > 100),
            "{word}: {}",
            counts[0]
        );
    }
    for (calm, pestered) in calm.iter().zip(&pestered) {
        assert!(*pestered <= calm + MORE_KIB, "{pestered} KiB and not {calm}");
    }
}
