//! Supervises the processes of one attempt.
//!
//! The result is what they say at the end, or the first cause of a failure, the process to blame,
//! and whether another attempt may help. In either case all processes are asked to end, waited for,
//! and killed where that is possible from this host.
//!
//! The limits: a process that ends without a final message fails the attempt at once; silence,
//! towards the launcher or between two processes, after the silence timeout; a process that does
//! not open its listener, after the start timeout; a worker that finishes no portion of its work,
//! or workers that all wait, after the progress timeout. One failure causes others, so the
//! supervisor collects reports for a moment longer before it chooses the cause; [`Symptom`] ranks
//! them.

use crate::cluster::blame::{Problem, Symptom, cause, start_failure};
use crate::cluster::control::{Assignment, Done, Message, Order, SEND_INTERVAL, kind_of, settle};
use crate::cluster::probe::Finding;
use crate::cluster::process::{Process, ProcessEvent};
use crate::processes::ObservedProcess;
use crate::topology::{Host, Launch, Topology};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::mesh::Key;

/// How long to wait for an event before the clock is checked again.
const TICK: Duration = Duration::from_millis(50);
/// How long reports are collected after the first failure.
const SETTLE: Duration = Duration::from_millis(700);
/// How long processes may take to end by themselves.
const GRACE: Duration = Duration::from_secs(3);

/// Why an attempt failed.
pub struct AttemptFailure {
    /// The first cause.
    pub error: Error,
    /// The process to blame, if any.
    pub blamed: Option<usize>,
    /// Whether another attempt may succeed.
    pub mends: bool,
    /// The time until which a process may still be running, if its end was not seen.
    pub may_live_until: Option<Instant>,
}

impl From<Error> for AttemptFailure {
    fn from(error: Error) -> AttemptFailure {
        AttemptFailure { error, blamed: None, mends: false, may_live_until: None }
    }
}

/// What a process says at the end, if it did not fail.
pub enum End {
    /// It had a task.
    Done(Done),
    /// It had a probe, which found this.
    Probed(Vec<Finding>),
}

impl End {
    /// The end of a process that had a task.
    pub fn done(self) -> Result<Done> {
        match self {
            End::Done(done) => Ok(done),
            End::Probed(_) => Err(Error::internal("a worker did not say what it did")),
        }
    }

    /// The findings of a process that had a probe.
    pub fn findings(self) -> Result<Vec<Finding>> {
        match self {
            End::Probed(findings) => Ok(findings),
            End::Done(_) => Err(Error::internal("a worker did not say what it found")),
        }
    }
}

/// The state of one process.
struct Supervised {
    process: Process,
    last_message_at: Instant,
    sent_hello: bool,
    address: Option<String>,
    /// The number of turns of each worker, and when it last changed.
    turns: BTreeMap<usize, (u64, Instant)>,
    end: Option<End>,
    is_closed: bool,
}

impl Supervised {
    /// Notes the number of turns of each worker.
    fn note_turns(&mut self, turns: impl IntoIterator<Item = (usize, u64)>) {
        for (worker, turns) in turns {
            let now = (turns, self.last_message_at);
            let last = self.turns.entry(worker).or_insert(now);
            if last.0 != turns {
                *last = now;
            }
        }
    }

    /// What is wrong with a process that is silent, or that has not opened its listener `since` the
    /// attempt began.
    fn silent_or_missing(
        &self,
        now: Instant,
        since: Duration,
        limits: &Topology,
    ) -> Option<String> {
        let still = now.saturating_duration_since(self.last_message_at);
        if self.sent_hello && still > limits.silence_timeout {
            return Some(format!("silent for {:.1} s", still.as_secs_f64()));
        }
        (self.address.is_none() && since > limits.start_timeout).then(|| {
            let what = if self.sent_hello { "it has no socket open" } else { "it never called" };
            format!("missing after {} s: {what}", limits.start_timeout.as_secs())
        })
    }

    /// What is wrong with a process of which a worker finishes no portion of its work.
    fn stuck(&self, now: Instant, limit: Duration) -> Option<String> {
        let is_over = |at: Instant| now.saturating_duration_since(at) > limit;
        let (worker, _) = self.turns.iter().find(|(_, (_, at))| is_over(*at))?;
        let seconds = limit.as_secs();
        Some(format!("stuck: worker {worker} has finished no portion of its work for {seconds} s"))
    }
}

/// What the watch over an attempt remembers from one look at the clock to the next.
struct Clock {
    began: Instant,
    /// The last look.
    ticked: Instant,
    last_beat: Instant,
    /// Whether all processes know where the others listen.
    is_meshed: bool,
    /// The work of all processes, and when it last changed.
    work: u64,
    worked: Instant,
    /// When the first problem was found.
    failed: Option<Instant>,
}

impl Clock {
    fn start(now: Instant) -> Clock {
        Clock {
            began: now,
            ticked: now,
            last_beat: now,
            is_meshed: false,
            work: 0,
            worked: now,
            failed: None,
        }
    }

    /// How long this process itself was stopped since the last look.
    fn stalled(&mut self, now: Instant) -> Duration {
        let since = now - std::mem::replace(&mut self.ticked, now);
        let stalled = if since > 20 * TICK { since } else { Duration::ZERO };
        self.worked += stalled;
        stalled
    }

    fn beat_is_due(&mut self, now: Instant) -> bool {
        let is_due = now - self.last_beat >= SEND_INTERVAL;
        if is_due {
            self.last_beat = now;
        }
        is_due
    }
}

/// The processes of one attempt.
pub struct Supervisor<'a> {
    topology: &'a Topology,
    hosts: &'a [Host],
    observed: &'a [Arc<ObservedProcess>],
    digest: &'a str,
    processes: Vec<Supervised>,
    events: Receiver<(usize, ProcessEvent)>,
    problems: Vec<Problem>,
}

impl<'a> Supervisor<'a> {
    /// Runs the processes on `hosts`, each with the `order` for its assignment. Their progress is
    /// written to `observed`, one entry for each process. `digest` is that of this binary.
    pub fn work(
        topology: &'a Topology,
        hosts: &'a [Host],
        observed: &'a [Arc<ObservedProcess>],
        digest: &'a str,
        order: &dyn Fn(Assignment) -> Order,
    ) -> std::result::Result<Vec<End>, AttemptFailure> {
        let (sender, events) = channel();
        let is_remote = topology.launch == Launch::Ssh;
        let mut processes = Vec::new();
        for (process, host) in hosts.iter().enumerate() {
            processes.push(Supervised {
                process: Process::start(process, host, is_remote, &sender)?,
                last_message_at: Instant::now(),
                sent_hello: false,
                address: None,
                turns: BTreeMap::new(),
                end: None,
                is_closed: false,
            });
        }
        drop(sender);
        let mut supervisor = Supervisor {
            topology,
            hosts,
            observed,
            digest,
            processes,
            events,
            problems: Vec::new(),
        };
        let outcome = supervisor.watch(order);
        let may_live_until = supervisor.end();
        outcome?;
        match cause(&supervisor.problems) {
            None => Ok(supervisor
                .processes
                .into_iter()
                .filter_map(|supervised| supervised.end)
                .collect()),
            Some((problem, blamed)) => {
                Err(AttemptFailure { may_live_until, ..supervisor.failure(problem, blamed) })
            }
        }
    }

    /// Handles events until all processes have sent a final message, or until a problem was found
    /// and the others had a moment to report theirs.
    fn watch(&mut self, order: &dyn Fn(Assignment) -> Order) -> Result<()> {
        let orders = self.orders(order)?;
        let mut clock = Clock::start(Instant::now());
        // A process knows the silence limit from its start, so that it does not outlive a launcher
        // that stops before the process has its task.
        self.beat()?;
        loop {
            self.handle_events(&orders)?;
            let now = Instant::now();
            self.shift_timeouts(clock.stalled(now));
            if clock.beat_is_due(now) {
                self.beat()?;
            }
            if self.processes.iter().all(|supervised| supervised.end.is_some()) {
                return Ok(());
            }
            self.send_addresses(&mut clock)?;
            if self.problems.is_empty() {
                self.check_timeouts(now, &mut clock);
            }
            if !self.problems.is_empty() {
                let until = *clock.failed.get_or_insert(now) + self.settle();
                if now >= until || self.all_have_reported() {
                    // Processes that became silent together with the first one have not been
                    // checked since.
                    self.check_timeouts(now, &mut clock);
                    return Ok(());
                }
            }
        }
    }

    /// Waits for an event, but not for long, and handles all that have arrived.
    fn handle_events(&mut self, orders: &[Order]) -> Result<()> {
        match self.events.recv_timeout(TICK) {
            Ok((process, event)) => {
                self.handle_event(process, event, orders)?;
                // Read everything that has arrived before any process is judged to be silent.
                while let Ok((process, event)) = self.events.try_recv() {
                    self.handle_event(process, event, orders)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
        }
        Ok(())
    }

    /// Moves the times of all last messages, and of the last work of all workers, by the time that
    /// this process itself was stopped: this must not count as the silence of others.
    fn shift_timeouts(&mut self, stalled: Duration) {
        for supervised in &mut self.processes {
            supervised.last_message_at += stalled;
            supervised.turns.values_mut().for_each(|(_, at)| *at += stalled);
        }
    }

    /// Tells all processes where the others listen, once all of them do.
    fn send_addresses(&mut self, clock: &mut Clock) -> Result<()> {
        let addresses: Vec<String> =
            self.processes.iter().filter_map(|supervised| supervised.address.clone()).collect();
        if clock.is_meshed || addresses.len() < self.hosts.len() {
            return Ok(());
        }
        clock.is_meshed = true;
        let peers = Order::Peers(addresses);
        self.processes.iter().try_for_each(|supervised| supervised.process.send(&peers))
    }

    /// Tells every process that this one is alive.
    fn beat(&self) -> Result<()> {
        let beat = Order::Beat { silence_timeout: self.topology.silence_timeout };
        self.processes.iter().try_for_each(|supervised| supervised.process.send(&beat))
    }

    /// How long reports are collected: longer while all of them only name other processes.
    fn settle(&self) -> Duration {
        let is_secondhand = |problem: &Problem| {
            matches!(problem.symptom, Symptom::LostPeer(_) | Symptom::LostUnknown)
        };
        match self.problems.iter().all(is_secondhand) {
            true => SETTLE.max(settle(self.topology.silence_timeout)),
            false => SETTLE,
        }
    }

    /// Whether no process is left that could report something new.
    fn all_have_reported(&self) -> bool {
        let mut all = self.processes.iter().enumerate();
        all.all(|(process, supervised)| supervised.is_closed || self.has_problem(process))
    }

    fn has_problem(&self, process: usize) -> bool {
        self.problems.iter().any(|problem| problem.process == Some(process))
    }

    /// The first order of each process.
    fn orders(&self, order: &dyn Fn(Assignment) -> Order) -> Result<Vec<Order>> {
        let key = Key::random()?;
        let here = std::env::current_dir()
            .map_err(|e| Error::new(Kind::Io, "no working folder").caused_by(e))?;
        let assignment = |(process, host): (usize, &Host)| Assignment {
            process,
            processes: self.hosts.len(),
            address: host.address.clone(),
            bind: host.bind,
            port: host.port,
            folder: host.folder.clone().unwrap_or_else(|| PathBuf::from(&here)),
            is_child: self.topology.launch == Launch::Local,
            key: key.clone(),
            protection: self.topology.protection,
            start_timeout: self.topology.start_timeout,
            silence_timeout: self.topology.silence_timeout,
        };
        Ok(self.hosts.iter().enumerate().map(|host| order(assignment(host))).collect())
    }

    fn report(
        &mut self,
        process: Option<usize>,
        symptom: Symptom,
        kind: Kind,
        line: String,
        mends: bool,
    ) {
        tracing::debug!(?process, sign = ?symptom, line, "something is wrong");
        self.problems.push(Problem { process, symptom, kind, line, mends });
    }

    fn handle_event(
        &mut self,
        process: usize,
        event: ProcessEvent,
        orders: &[Order],
    ) -> Result<()> {
        let has_problem = self.has_problem(process);
        let Some(supervised) = self.processes.get_mut(process) else { return Ok(()) };
        supervised.last_message_at = Instant::now();
        match event {
            ProcessEvent::Message(message) => self.handle_message(process, *message, orders)?,
            ProcessEvent::Noise(line) => {
                let line = format!("says what is no message: {line:?}");
                self.report(Some(process), Symptom::Death, Kind::TryAgain, line, true);
            }
            ProcessEvent::Closed => {
                supervised.is_closed = true;
                if supervised.end.is_none() && !has_problem {
                    let (how, code) = supervised.process.describe_exit();
                    let kind = if supervised.sent_hello {
                        Kind::TryAgain
                    } else {
                        start_failure(code, &how)
                    };
                    let line = match kind {
                        Kind::Config => {
                            format!("cannot run {}: {how}", self.hosts[process].command.join(" "))
                        }
                        _ => how,
                    };
                    self.report(Some(process), Symptom::Death, kind, line, kind == Kind::TryAgain);
                }
            }
        }
        Ok(())
    }

    fn handle_message(&mut self, process: usize, message: Message, orders: &[Order]) -> Result<()> {
        match message {
            Message::Hello { digest, .. } => self.greet(process, &digest, &orders[process])?,
            Message::Listening { address } => self.note_address(process, address.port()),
            Message::Progress { bytes, records, stage, memory_bytes, turns, busy_turns } => {
                if let Some(observed) = self.observed.get(process) {
                    observed.progress.bytes.store(bytes, Ordering::Relaxed);
                    observed.progress.records.store(records, Ordering::Relaxed);
                    observed.progress.stage.store(stage, Ordering::Relaxed);
                    observed.busy_turns.store(busy_turns, Ordering::Relaxed);
                    observed.memory_bytes.fetch_max(memory_bytes, Ordering::Relaxed);
                }
                self.processes[process].note_turns(turns);
            }
            // Each process has one vote: later failures of the same process follow from the first.
            Message::Failed { .. } if self.has_problem(process) => {}
            Message::Failed { code, line, peer, mends } => {
                let kind = kind_of(code);
                self.report(
                    Some(process),
                    self.symptom(process, kind, peer, mends),
                    kind,
                    line,
                    mends,
                );
            }
            Message::Done(done) => {
                if let Some(observed) = self.observed.get(process) {
                    done.record(observed);
                }
                self.processes[process].end = Some(End::Done(done));
            }
            Message::Probed { findings } => {
                self.processes[process].end = Some(End::Probed(findings));
            }
        }
        Ok(())
    }

    /// Gives a process its first order, if it is of the same build.
    fn greet(&mut self, process: usize, digest: &str, order: &Order) -> Result<()> {
        if digest == self.digest {
            let supervised = &mut self.processes[process];
            supervised.sent_hello = true;
            return supervised.process.send(order);
        }
        let line = format!(
            "its pagefold is another build (blake3 {}..., here {}...)",
            digest.get(..12).unwrap_or_default(),
            self.digest.get(..12).unwrap_or_default()
        );
        self.report(Some(process), Symptom::OwnError, Kind::Protocol, line, false);
        Ok(())
    }

    fn note_address(&mut self, process: usize, port: u16) {
        let host = &self.hosts[process].address;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        self.processes[process].address = Some(format!("{host}:{port}"));
    }

    /// What the failure of a process says about it and about the `peer` that it lost.
    fn symptom(&self, process: usize, kind: Kind, peer: Option<usize>, mends: bool) -> Symptom {
        let peer = peer.filter(|peer| *peer < self.hosts.len() && *peer != process);
        match (peer, kind) {
            (Some(peer), _) => Symptom::LostPeer(peer),
            // For instance, its port is taken; it is not connected to the others yet.
            (None, Kind::TryAgain) if mends && self.processes[process].address.is_none() => {
                Symptom::Silent
            }
            (None, Kind::TryAgain) if mends => Symptom::LostUnknown,
            _ => Symptom::OwnError,
        }
    }

    /// Finds processes that are missing, silent or stuck, and whether all wait for each other.
    fn check_timeouts(&mut self, now: Instant, clock: &mut Clock) {
        let mut found = Vec::new();
        for (process, supervised) in self.processes.iter().enumerate() {
            if supervised.end.is_none() && !supervised.is_closed {
                let lines = supervised
                    .silent_or_missing(now, now - clock.began, self.topology)
                    .into_iter()
                    .chain(supervised.stuck(now, self.topology.progress_timeout));
                found.extend(lines.map(|line| (process, line)));
            }
        }
        for (process, line) in found {
            self.report(Some(process), Symptom::Silent, Kind::TryAgain, line, true);
        }
        self.check_progress(now, clock);
    }

    /// Finds out if no worker of any process has had work for a long time.
    fn check_progress(&mut self, now: Instant, clock: &mut Clock) {
        let limit = self.topology.progress_timeout;
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let work = |observed: &Arc<ObservedProcess>| {
            let progress = &observed.progress;
            load(&progress.records) + load(&progress.bytes) + load(&observed.busy_turns)
        };
        let work: u64 = self.observed.iter().map(work).fold(0, u64::wrapping_add);
        if work != clock.work || !clock.is_meshed {
            (clock.work, clock.worked) = (work, now);
        } else if self.problems.is_empty() && now - clock.worked > limit {
            let line = format!("no worker had anything to do for {} s", limit.as_secs());
            self.report(None, Symptom::LostUnknown, Kind::TryAgain, line, true);
        }
    }

    /// Ends all processes. Returns the time until which one may still run without a connection, if
    /// any.
    fn end(&mut self) -> Option<Instant> {
        self.processes.iter_mut().for_each(|supervised| supervised.process.close_stdin());
        let cut = Instant::now();
        let ends = self
            .processes
            .iter_mut()
            .map(|supervised| supervised.process.end(cut + GRACE).is_certain);
        let all_certain = ends.fold(true, |all, is_certain| all & is_certain);
        // A process ends by itself after that much silence; the rest allows for its polling
        // interval.
        (!all_certain).then(|| cut + self.topology.silence_timeout + 2 * SEND_INTERVAL)
    }

    fn failure(&self, problem: &Problem, blamed: Option<usize>) -> AttemptFailure {
        let name = |process: usize| self.hosts[process].name.as_str();
        let line = match (problem.process, blamed) {
            (Some(reporter), Some(blamed)) if reporter != blamed => {
                format!("{}: {} says: {}", name(blamed), name(reporter), problem.line)
            }
            (Some(process), _) => format!("{}: {}", name(process), problem.line),
            (None, _) => problem.line.clone(),
        };
        AttemptFailure {
            error: Error::new(problem.kind, line),
            blamed,
            mends: problem.mends,
            may_live_until: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first message of a simulated worker.
    const HELLO: &str = r#"echo '{"hello":{"digest":"d","pid":1}}'; read task;"#;
    const LISTENING: &str = r#"echo '{"listening":{"address":"127.0.0.1:9"}}'; read peers;"#;
    const PROBED: &str = r#"echo '{"probed":{"findings":[]}}';"#;
    const STEP: &str = r#"{"progress":{"bytes":0,"records":0,"stage":0,"memory_bytes":1,"turns":[[3,TURNS]],"busy_turns":BUSY}}"#;

    fn steps(turns: &str, busy: &str) -> String {
        let step = STEP.replace("TURNS", turns).replace("BUSY", busy);
        format!(
            "{HELLO} {LISTENING} n=0; while :; do n=$((n+1)); echo \"{}\"; sleep 0.1; done",
            step.replace('"', "\\\"")
        )
    }

    /// Runs an attempt with simulated workers, each a shell script.
    fn attempt(launch: Launch, scripts: &[&str]) -> std::result::Result<Vec<End>, AttemptFailure> {
        let second = Duration::from_secs(1);
        let host = |(n, script): (usize, &&str)| Host {
            name: format!("host {n}"),
            address: "127.0.0.1".into(),
            bind: None,
            port: 0,
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            folder: None,
        };
        let hosts = scripts.iter().enumerate().map(host).collect();
        let (start_timeout, silence_timeout, progress_timeout) = (2 * second, 2 * second, second);
        let topology = Topology {
            launch,
            hosts,
            start_timeout,
            silence_timeout,
            progress_timeout,
            ..Topology::single(1)
        };
        let observed: Vec<Arc<ObservedProcess>> =
            topology.hosts.iter().map(|host| Arc::new(ObservedProcess::new(&host.name))).collect();
        Supervisor::work(&topology, &topology.hosts, &observed, "d", &|assignment| {
            let probe = crate::cluster::probe::Probe {
                folder: PathBuf::new(),
                token: String::new(),
                inputs: vec![],
                files: vec![],
            };
            Order::Probe(Box::new((assignment, probe)))
        })
    }

    /// Each kind of failure is noticed, described and blamed on the right process, and only those
    /// that another attempt may fix are marked so.
    #[test]
    fn failures_are_noticed() {
        let good = format!("{HELLO} {LISTENING} {PROBED} cat > /dev/null");
        let slow = steps("$n", "$n");
        let ended =
            attempt(Launch::Local, &[&good, &good]).map_err(|failure| failure.error.to_string());
        assert_eq!(ended.map(|ends| ends.len()), Ok(2));
        let own = r#"echo '{"failed":{"code":74,"line":"a full disk","peer":null,"mends":false}}'"#;
        let peer = r#"echo '{"failed":{"code":75,"line":"lost process 0","peer":0,"mends":true}}'"#;
        let cases = [
            (format!("{HELLO} {LISTENING} kill -9 $$"), 1, true, "host 1: was killed by signal 9"),
            ("echo no route to it >&2; exit 255".into(), 1, true, "exit code 255: no route to it"),
            ("exit 127".into(), 1, false, "host 1: cannot run"),
            (
                "echo 'Host key verification failed.' >&2; exit 255".into(),
                1,
                false,
                "Host key verification failed",
            ),
            (
                "echo 'u@h: Permission denied (publickey).' >&2; exit 255".into(),
                1,
                false,
                "Permission denied",
            ),
            (format!("{HELLO} {LISTENING} exec sleep 60"), 1, true, "host 1: silent for 2"),
            ("exec sleep 60".into(), 1, true, "host 1: missing after 2 s: it never called"),
            (
                HELLO.replace("\"d\"", "\"e\"") + "cat",
                1,
                false,
                "host 1: its pagefold is another build",
            ),
            (
                steps("7", "$n"),
                1,
                true,
                "host 1: stuck: worker 3 has finished no portion of its work for 1 s",
            ),
            (format!("{HELLO} {LISTENING} {own}"), 1, false, "host 1: a full disk"),
            (format!("{HELLO} {LISTENING} {peer}"), 0, true, "host 0: host 1 says: lost process 0"),
            (
                format!("{HELLO} echo junk; cat"),
                1,
                true,
                "host 1: says what is no message: \"junk\"",
            ),
        ];
        let judge = |script: &str, blamed: usize, mends: bool, expected: &str| {
            let Err(failure) = attempt(Launch::Local, &[&slow, script]) else {
                panic!("{expected}: no failure")
            };
            let line = failure.error.to_string();
            assert!(line.contains(expected), "{line}\nis not\n{expected}");
            assert_eq!((failure.blamed, failure.mends), (Some(blamed), mends), "{line}");
        };
        // All at the same time, because each of them waits for a timeout.
        std::thread::scope(|scope| {
            for (script, blamed, mends, expected) in &cases {
                scope.spawn(|| judge(script, *blamed, *mends, expected));
            }
        });
        let idle = steps("$n", "7");
        let Err(failure) = attempt(Launch::Local, &[&idle, &idle]) else { panic!("no failure") };
        assert!(
            failure.error.to_string().contains("no worker had anything to do"),
            "{}",
            failure.error
        );
        assert!(failure.mends && failure.blamed.is_none());
    }

    /// A remote process that had to be cut off may live on until a known time; one that has ended
    /// may not.
    #[test]
    fn processes_that_may_live_on() {
        let deaf = format!("{HELLO} {LISTENING} exec sleep 60");
        let dead = format!("{HELLO} {LISTENING} exit 3");
        for (launch, script, lives) in
            [(Launch::Ssh, &deaf, true), (Launch::Local, &deaf, false), (Launch::Ssh, &dead, false)]
        {
            let Err(failure) = attempt(launch, &[script]) else { panic!("no failure") };
            assert_eq!(failure.may_live_until.is_some(), lives, "{}", failure.error);
        }
    }
}
