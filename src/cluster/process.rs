//! One process that a launcher has started, here or on another host: in go orders, out come the messages that it says, each as it comes, and in the
//! end how it ended. Nothing here waits for a process, save to see it end: orders leave through a thread of their own, as a process that stands still
//! reads none. Lines that it writes to stderr are passed on, and the last one is kept to explain a death.

use crate::cluster::control::{Message, Order};
use crate::cluster::topology::Host;
use crate::terminal::logging;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::locks::lock;

/// What is heard of a process.
pub enum ProcessEvent {
    /// A message.
    Message(Box<Message>),
    /// A line that is no message.
    Noise(String),
    /// Nothing more will come.
    Closed,
}

/// Bytes of a message; receipts of 1,024 workers have about one megabyte.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Orders that have not left yet; a process that stands still gets no more signs of life.
const ORDERS_MAX: usize = 64;
/// Bytes of a line on stderr that are kept.
const KEPT_BYTES_MAX: usize = 400;
/// Lines that are no messages and may come before the first message: what a login shell says.
const NOISE_LINES_MAX: usize = 100;
/// How much later than the end of its stdout a process's last words may be read.
const STDERR_DELAY_MAX: Duration = Duration::from_millis(300);
/// How long a killed process has to be gone.
const KILLED: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A started process. Dropped, it is told to end by the end of its stdin, and killed.
pub struct Process {
    child: Child,
    /// Dropped, the line is cut.
    orders: Option<SyncSender<String>>,
    last_stderr_line: Arc<Mutex<String>>,
    /// Ends with its stderr.
    reading: JoinHandle<()>,
    is_remote: bool,
}

/// How a process ended.
pub struct End {
    /// Whether it is known to be gone; of one on another host only its connection may be.
    pub is_certain: bool,
}

impl Process {
    /// Starts process number `process` on `host`. What is heard of it goes to `tell`.
    pub fn start(
        process: usize,
        host: &Host,
        is_remote: bool,
        events: &Sender<(usize, ProcessEvent)>,
    ) -> Result<Process> {
        let (program, arguments) = match host.command.split_first() {
            Some((program, arguments)) => (program, arguments),
            None => return Err(Error::internal("no command to start a process with")),
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            let kind = if e.kind() == std::io::ErrorKind::NotFound { Kind::Config } else { Kind::Internal };
            Error::new(kind, format!("{}: cannot run {program}", host.name)).caused_by(e)
        })?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::internal("a process has no stdin, stdout or stderr"));
        };
        let (orders, leaving) = sync_channel::<String>(ORDERS_MAX);
        thread::spawn(move || {
            for line in leaving {
                // One that is gone is heard of on its stdout.
                if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        let last_stderr_line: Arc<Mutex<String>> = Arc::default();
        let kept = last_stderr_line.clone();
        let reading = thread::spawn(move || forward_stderr(stderr, &kept));
        let events = events.clone();
        thread::spawn(move || {
            read_messages(stdout, |event| events.send((process, event)).is_ok());
            // Nobody may listen any more.
            let _ = events.send((process, ProcessEvent::Closed));
        });
        Ok(Process { child, orders: Some(orders), last_stderr_line, reading, is_remote })
    }

    /// Says `order`, some time soon.
    pub fn send(&self, order: &Order) -> Result<()> {
        let text = serde_json::to_string(order).map_err(|e| Error::internal("cannot write an order").caused_by(e))?;
        if let Some(orders) = &self.orders {
            // A full queue is a process that stands still or has gone, which is noticed by its silence.
            let _ = orders.try_send(text + "\n");
        }
        Ok(())
    }

    /// Cuts the line, upon which the process ends by itself.
    pub fn close_stdin(&mut self) {
        drop(self.orders.take());
    }

    /// Its exit status, once it has one, at most by `deadline`.
    fn status(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
                _ => return None,
            }
        }
    }

    /// How it died, in words, and its exit code if it has one; of a process that has closed its stdout.
    pub fn describe_exit(&mut self) -> (String, Option<i32>) {
        let status = self.status(Instant::now() + Duration::from_secs(1));
        // Its last words may still be on their way; who else holds its stderr is not waited for.
        let until = Instant::now() + STDERR_DELAY_MAX;
        while !self.reading.is_finished() && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
        }
        let how = match status {
            None => "closed its line and goes on".to_owned(),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (_, Some(signal)) => format!("was killed by signal {signal}"),
                _ => "ended".into(),
            },
        };
        let text = lock(&self.last_stderr_line);
        let how = if text.is_empty() { how } else { format!("{how}: {text}") };
        (how, status.and_then(|status| status.code()))
    }

    /// Waits for its end until `deadline`, then kills what runs here of it.
    pub fn end(&mut self, deadline: Instant) -> End {
        self.close_stdin();
        let by_itself = self.status(deadline);
        let mut is_gone = by_itself.is_some();
        if !is_gone {
            // One that has just ended needs no killing; one that is held in the kernel, by a dead file system or a debugger, may not die.
            let _ = self.child.kill();
            is_gone = self.status(Instant::now() + KILLED).is_some();
        }
        // ssh ends with 255 when it has lost its host, and by a signal when someone killed it: the process there may live on.
        let is_reported = by_itself.and_then(|status| status.code()).is_some_and(|code| code != 255);
        End { is_certain: is_reported || (!self.is_remote && is_gone) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}

/// A line without its end; none at the end or if it is too long.
fn line(reader: &mut impl BufRead, bytes_max: u64) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let read = reader.by_ref().take(bytes_max).read_until(b'\n', &mut line);
    let whole = read.is_ok() && line.pop_if(|last| *last == b'\n').is_some();
    (whole || (!line.is_empty() && (line.len() as u64) < bytes_max)).then_some(line)
}

fn read_messages(stdout: impl Read, emit: impl Fn(ProcessEvent) -> bool) {
    let (mut reader, mut noise, mut has_message) = (BufReader::new(stdout), 0, false);
    while let Some(line) = line(&mut reader, LINE_BYTES_MAX) {
        let event = match serde_json::from_slice::<Message>(&line) {
            Ok(message) => {
                has_message = true;
                ProcessEvent::Message(Box::new(message))
            }
            Err(_) if !has_message && noise < NOISE_LINES_MAX => {
                noise += 1;
                continue;
            }
            Err(_) => {
                ProcessEvent::Noise(String::from_utf8_lossy(&line[..line.len().min(KEPT_BYTES_MAX)]).into_owned())
            }
        };
        if !emit(event) {
            return;
        }
    }
}

fn forward_stderr(stderr: impl Read, kept: &Mutex<String>) {
    let mut reader = BufReader::new(stderr);
    while let Some(line) = line(&mut reader, 1 << 16) {
        let line = String::from_utf8_lossy(&line);
        logging::forward(&line);
        if !line.starts_with('{') && !line.trim().is_empty() {
            let end = line.char_indices().map(|(at, _)| at).take_while(|at| *at <= KEPT_BYTES_MAX).last().unwrap_or(0);
            let text = if line.len() <= KEPT_BYTES_MAX { &line[..] } else { &line[..end] };
            *lock(kept) = text.trim().to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn host(script: &str) -> Host {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let (name, address) = ("here".into(), "127.0.0.1".into());
        Host { name, address, bind: None, port: 0, command, folder: None }
    }

    /// What a login shell says before the first message is left aside, a message is understood, what is none after it is told, and so is the end with
    /// its exit code and last words.
    #[test]
    fn events_of_a_process() {
        let (events, received) = channel();
        let script =
            "echo Welcome; echo '{\"hello\":{\"digest\":\"d\",\"pid\":7}}'; echo junk; echo no luck >&2; exit 3";
        let mut process = Process::start(5, &host(script), true, &events).expect("started");
        let next = || received.recv_timeout(Duration::from_secs(60)).expect("heard");
        assert!(
            matches!(next(), (5, ProcessEvent::Message(message)) if matches!(*message, Message::Hello { pid: 7, .. }))
        );
        assert!(matches!(next(), (5, ProcessEvent::Noise(line)) if line == "junk"));
        assert!(matches!(next(), (5, ProcessEvent::Closed)));
        let (how, code) = process.describe_exit();
        assert!(code == Some(3) && how == "ended with exit code 3: no luck", "{how}");
        assert!(process.end(Instant::now()).is_certain);
    }

    /// A process that heeds nothing is killed at the deadline; on another host it may live on, here it is gone.
    #[test]
    fn a_process_that_ignores_orders_is_killed() {
        for is_remote in [true, false] {
            let (events, received) = channel();
            let mut process = Process::start(0, &host("exec sleep 600"), is_remote, &events).expect("started");
            let orders: Vec<String> = vec!["x".repeat(1 << 20); ORDERS_MAX + 9];
            // More than the pipe takes: nobody waits for it.
            process.send(&Order::Peers(orders)).expect("said");
            assert_eq!(process.end(Instant::now()).is_certain, !is_remote);
            assert!(matches!(received.recv_timeout(Duration::from_secs(60)), Ok((0, ProcessEvent::Closed))));
        }
    }
}
