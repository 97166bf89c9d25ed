//! A server under test, and a plain client of it.

use crate::workbench::{Bench, pagefold, signal};
use rustix::net;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. No test measures time.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A running `pagefold serve`.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub at: SocketAddr,
    token: Option<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The head of it, in small letters.
    pub head: String,
    /// Its body.
    pub body: String,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The lines of the body as JSON.
    pub fn lines(&self) -> Vec<Value> {
        self.body.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Server {
    /// Starts it on any port.
    pub fn start(bench: &Bench, arguments: &[&str]) -> Server {
        Server::of(bench.serve(), arguments)
    }

    /// Starts it where it may have this many files and connections open.
    pub fn start_with_files(bench: &Bench, files: u64) -> Server {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -n {files}; exec \"$0\" serve job.toml \"$@\"");
        command.args(["-c", &limited, &pagefold()]).current_dir(bench.at(""));
        Server::of(command, &[])
    }

    fn of(mut command: Command, arguments: &[&str]) -> Server {
        command.args(["--json", "--bind", "127.0.0.1:0"]).args(arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("readable");
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let at = said["listening"].as_str().expect("an address").parse().expect("an address");
        Server { child, at, token: None }
    }

    /// From now on requests show this token.
    pub fn with_token(mut self, token: &str) -> Server {
        self.token = Some(token.to_owned());
        self
    }

    /// A request on a connection of its own; fails if the connection does.
    pub fn try_send(
        &self,
        method: &str,
        target: &str,
        form: &str,
        body: &[u8],
    ) -> std::io::Result<Reply> {
        let token = self
            .token
            .as_ref()
            .map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        send(self.at, method, target, &token, form, body)
    }

    /// The same, on a connection that must hold.
    pub fn send(&self, method: &str, target: &str, form: &str, body: &[u8]) -> Reply {
        self.try_send(method, target, form, body).expect("an answer")
    }

    /// `GET`.
    pub fn get(&self, target: &str) -> Reply {
        self.send("GET", target, "", b"")
    }

    /// `POST` of one row.
    pub fn post(&self, target: &str, row: &Value) -> Reply {
        self.send("POST", target, "application/json", row.to_string().as_bytes())
    }

    /// `POST` of rows, whose answers come in the same order.
    pub fn batch(&self, target: &str, rows: &[Value]) -> Vec<Value> {
        let body: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let reply = self.send("POST", target, "application/x-ndjson", body.as_bytes());
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.lines()
    }

    /// A figure of `/metrics`.
    pub fn figure(&self, name: &str) -> f64 {
        let body = self.get("/metrics").body;
        let line = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in {body}")).parse().expect("a number")
    }

    /// A connection.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        connect(self.at)
    }

    /// Ends it at once.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `holds`.
    pub fn wait(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what} did not come");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(self) -> ExitStatus {
        signal("TERM", &self.child.id().to_string());
        self.ended()
    }

    /// Waits for the end. A second signal would end it at once.
    pub fn ended(mut self) -> ExitStatus {
        self.child.wait().expect("ended")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already unless a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(at: SocketAddr) -> std::io::Result<TcpStream> {
    patient(TcpStream::connect(at)?)
}

/// A connection from another address of this machine.
pub fn connect_from(address: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None)?;
    net::bind(&socket, &SocketAddr::from((address, 0)))?;
    net::connect(&socket, &to)?;
    patient(socket.into())
}

fn patient(stream: TcpStream) -> std::io::Result<TcpStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A request to the server at `at` with more lines in its head; fails if the connection does.
pub fn send(
    at: SocketAddr,
    method: &str,
    target: &str,
    more: &str,
    form: &str,
    body: &[u8],
) -> std::io::Result<Reply> {
    let mut stream = connect(at)?;
    let mut head =
        format!("{method} {target} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{more}");
    if !form.is_empty() {
        head.push_str(&format!("Content-Type: {form}\r\n"));
    }
    if method == "POST" {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    // A server that refuses a body may close before it is sent.
    let _ = stream.write_all(body);
    reply(stream)
}

/// Reads the answer up to the end of the connection.
pub fn reply(mut stream: TcpStream) -> std::io::Result<Reply> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        // A server that closes while more is sent to it resets the connection, after its answer.
        Err(error) if bytes.is_empty() => return Err(error),
        _ => {}
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let broken =
        || std::io::Error::new(std::io::ErrorKind::UnexpectedEof, format!("no answer: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    let head = head.to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    if length.is_some_and(|length| length != body.len()) {
        return Err(broken());
    }
    Ok(Reply { status, head, body: body.to_owned() })
}
