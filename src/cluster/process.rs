//! Starts a worker process, on this host or, by ssh, on another, and watches it.
//!
//! Its messages arrive as events. No call here waits for the process, except for its end. Orders
//! are written by a thread of their own, because a stopped process does not read its stdin. The
//! lines on its stderr are forwarded; its error, or the last line of text, is kept to explain why
//! it ended.
//!
//! The command that reaches another host runs without a shell here. It must not ask questions, and
//! the host's key must be known already, because under cron no person can answer. The worker's task
//! and the key of the mesh are sent over its stdin.

use crate::cluster::control::{Message, Order};
use crate::terminal::logging;
use crate::topology::Host;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use workers::error::{Error, Kind, Result};
use workers::locks::lock;

const SSH: [&str; 7] =
    ["ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10"];

/// The command that reaches a host unless the cluster file has an `ssh_command`; the host's name
/// follows it.
pub fn default_ssh_command() -> Vec<String> {
    SSH.map(str::to_owned).to_vec()
}

/// The whole command that starts `binary` as a worker on the host `name`, reached by `ssh_command`.
pub fn remote_command(ssh_command: &[String], name: String, binary: &Path) -> Vec<String> {
    let words = [name, binary.to_string_lossy().into_owned(), "worker".to_owned()];
    ssh_command.iter().cloned().chain(words).collect()
}

/// What a process did.
pub enum ProcessEvent {
    /// It sent a message.
    Message(Box<Message>),
    /// It wrote a line that is not a message.
    Noise(String),
    /// It closed its stdout.
    Closed,
}

/// The size of a message; the receipts of 1,024 workers take about one megabyte.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Orders that wait to be written. A process that stopped reading gets no more beats.
const ORDERS_MAX: usize = 64;
/// The bytes of a line of stderr that are read.
const STDERR_BYTES_MAX: u64 = 65_536;
/// The length to which a line of stderr, or a line that is not a message, is cut.
const KEPT_BYTES_MAX: usize = 400;
/// Lines before the first message that are ignored, such as the greeting of a login shell.
const NOISE_LINES_MAX: usize = 100;
/// How much later than the end of stdout the last line of stderr may arrive.
const STDERR_DELAY_MAX: Duration = Duration::from_millis(300);
/// How long a killed process may take to end.
const KILLED: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A started process. Dropping it closes the process's stdin, which asks it to end, and kills it.
pub struct Process {
    child: Child,
    /// Dropping the sender closes the process's stdin.
    orders: Option<SyncSender<String>>,
    /// Its error, or the last line of text on its stderr.
    reason: Arc<Mutex<String>>,
    /// Ends when the process closes its stderr.
    reading: JoinHandle<()>,
    is_remote: bool,
}

/// How a process ended.
pub struct End {
    /// Whether it is known to have ended. On another host, perhaps only the connection to it has
    /// ended.
    pub is_certain: bool,
}

/// Starts a thread for the process on `host`.
fn start_thread(host: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new().spawn(work).map_err(|e| {
        Error::new(Kind::Io, format!("{host}: cannot start a thread for its process")).caused_by(e)
    })
}

impl Process {
    /// Starts process number `process` on `host`. Its events go to `events`.
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
            // Other causes are limits of this host: open files (`ulimit -n`), processes or memory.
            let kind =
                if e.kind() == std::io::ErrorKind::NotFound { Kind::Config } else { Kind::Io };
            Error::new(kind, format!("{}: cannot run {program}", host.name)).caused_by(e)
        })?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::internal("a process has no stdin, stdout or stderr"));
        };
        let (orders, leaving) = sync_channel::<String>(ORDERS_MAX);
        start_thread(&host.name, move || {
            for line in leaving {
                // If the process has ended, its stdout is closed, and that is an event.
                if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        })?;
        let reason: Arc<Mutex<String>> = Arc::default();
        let kept = reason.clone();
        let reading = start_thread(&host.name, move || forward_stderr(stderr, &kept))?;
        let events = events.clone();
        start_thread(&host.name, move || {
            read_messages(stdout, |event| events.send((process, event)).is_ok());
            // The receiver may have been dropped.
            let _ = events.send((process, ProcessEvent::Closed));
        })?;
        Ok(Process { child, orders: Some(orders), reason, reading, is_remote })
    }

    /// Queues `order`.
    pub fn send(&self, order: &Order) -> Result<()> {
        let text = serde_json::to_string(order)
            .map_err(|e| Error::internal("cannot write an order").caused_by(e))?;
        if let Some(orders) = &self.orders {
            // If the queue is full, the process has stopped or ended, which shows as silence.
            let _ = orders.try_send(text + "\n");
        }
        Ok(())
    }

    /// Closes its stdin, on which the process ends by itself.
    pub fn close_stdin(&mut self) {
        drop(self.orders.take());
    }

    /// Waits until `deadline` for its exit status.
    fn status(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
                _ => return None,
            }
        }
    }

    /// How it ended, in words, and its exit code if it has one. Call this once its stdout is
    /// closed.
    pub fn describe_exit(&mut self) -> (String, Option<i32>) {
        let status = self.status(Instant::now() + Duration::from_secs(1));
        // The last line of stderr may still be in the pipe. We do not wait longer for other
        // processes that hold the same stderr.
        let until = Instant::now() + STDERR_DELAY_MAX;
        while !self.reading.is_finished() && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        let how = match status {
            None => "closed its line and goes on".to_owned(),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (_, Some(signal)) => format!("was killed by signal {signal}"),
                _ => "ended".into(),
            },
        };
        let text = lock(&self.reason);
        let how = if text.is_empty() { how } else { format!("{how}: {text}") };
        (how, status.and_then(|status| status.code()))
    }

    /// Waits for its end until `deadline`, then kills the local process.
    pub fn end(&mut self, deadline: Instant) -> End {
        self.close_stdin();
        let by_itself = self.status(deadline);
        let mut is_gone = by_itself.is_some();
        if !is_gone {
            // Killing fails if it has just ended. A process that is blocked in the kernel, by a
            // dead file system or a debugger, may not die.
            let _ = self.child.kill();
            is_gone = self.status(Instant::now() + KILLED).is_some();
        }
        // ssh ends with 255 when it has lost its host, and by a signal when it was killed. In both
        // cases the remote process may be alive.
        let is_reported =
            by_itself.and_then(|status| status.code()).is_some_and(|code| code != 255);
        End { is_certain: is_reported || (!self.is_remote && is_gone) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}

/// Reads a line without its end; `None` at the end of the stream, or if the line is too long.
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
            Err(_) => ProcessEvent::Noise(
                String::from_utf8_lossy(&line[..line.len().min(KEPT_BYTES_MAX)]).into_owned(),
            ),
        };
        if !emit(event) {
            return;
        }
    }
}

fn forward_stderr(stderr: impl Read, kept: &Mutex<String>) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(STDERR_BYTES_MAX).read_until(b'\n', &mut line);
        if !read.is_ok_and(|bytes| bytes > 0) {
            return;
        }
        // The rest of a longer line is passed by, so that those behind it are heard.
        if line.pop_if(|last| *last == b'\n').is_none() && reader.skip_until(b'\n').is_err() {
            return;
        }
        if let Some(mut text) = logging::forward(&String::from_utf8_lossy(&line)) {
            text.truncate(text.floor_char_boundary(KEPT_BYTES_MAX));
            *lock(kept) = text;
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

    /// Lines before the first message are ignored, later ones are reported, and the end is
    /// described by the exit code and the last line of stderr.
    #[test]
    fn events_of_a_process() {
        let (events, received) = channel();
        let script = "echo Welcome; echo '{\"hello\":{\"digest\":\"d\",\"pid\":7}}'; echo junk; echo no luck >&2; exit 3";
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

    /// After a long line on stderr nothing that the process said was heard, and its stderr was
    /// closed.
    #[test]
    fn a_long_line_is_passed_by() {
        let kept = Mutex::default();
        let long = "x".repeat(3 * STDERR_BYTES_MAX as usize);
        forward_stderr(format!("{long}\nno luck\n").as_bytes(), &kept);
        assert_eq!(*lock(&kept), "no luck");
        forward_stderr(format!("no luck\n{long}").as_bytes(), &kept);
        assert_eq!(*lock(&kept), long[..KEPT_BYTES_MAX]);
    }

    /// A process that ignores its orders is killed at the deadline. It is certain to have ended
    /// only if it ran on this host.
    #[test]
    fn a_process_that_ignores_orders_is_killed() {
        for is_remote in [true, false] {
            let (events, received) = channel();
            let mut process =
                Process::start(0, &host("exec sleep 600"), is_remote, &events).expect("started");
            let orders: Vec<String> = vec!["x".repeat(1 << 20); ORDERS_MAX + 9];
            // More than the pipe holds; `send` must not block.
            process.send(&Order::Peers(orders)).expect("said");
            assert_eq!(process.end(Instant::now()).is_certain, !is_remote);
            assert!(matches!(
                received.recv_timeout(Duration::from_secs(60)),
                Ok((0, ProcessEvent::Closed))
            ));
        }
    }
}
