//! A network of hosts in kernel namespaces.
//!
//! Hosts are `h0`, `h1` ... with addresses 10.77.0.1, 10.77.0.2 ...; a bridge in a namespace of its
//! own connects them, so that the machine's namespace stays as it is. All names contain the id of
//! the test's process, so that the next test can find and remove what a killed test left behind.
//! Dropping a network kills every process in it and removes it.

use crate::workbench::skip;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PREFIX: &str = "pagefold-";
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// Networks are made one after the other, and then exist beside each other.
static MADE: Mutex<()> = Mutex::new(());

/// A network of hosts.
pub struct Lan {
    name: String,
    hosts: usize,
}

fn run(program: &str, arguments: &[&str]) -> Result<Output, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(output),
        Ok(output) => Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// Runs `ip` with the words of `line`.
fn ip(line: &str) -> Result<Output, String> {
    run("ip", &line.split_whitespace().collect::<Vec<_>>())
}

fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Removes the networks of test processes that have ended.
fn sweep() {
    let listed = ip("netns list").map(text).unwrap_or_default();
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let id =
            name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if id.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            remove(name);
        }
    }
}

/// The ids of all processes in namespace `name`.
fn pids(name: &str) -> Vec<u32> {
    let listed = ip(&format!("netns pids {name}")).map(text).unwrap_or_default();
    listed.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn remove(name: &str) {
    for _ in 0..100 {
        let left = pids(name);
        if left.is_empty() {
            break;
        }
        left.iter().for_each(|id| crate::workbench::signal("KILL", &id.to_string()));
        std::thread::sleep(Duration::from_millis(20));
    }
    // Links are removed with their ends.
    if let Err(why) = ip(&format!("netns del {name}")) {
        println!("a namespace is left behind: {why}");
    }
}

impl Lan {
    /// Makes a network of this many hosts; none, and the test is skipped, without the tools or the
    /// rights.
    pub fn new(hosts: usize) -> Option<Lan> {
        let _made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for tool in [["ip", "-V"], ["nft", "-v"]] {
            if let Err(why) = run(tool[0], &tool[1..]) {
                skip(&why);
                return None;
            }
        }
        sweep();
        let name =
            format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let lan = Lan { name, hosts: 0 };
        match lan.build(hosts) {
            Ok(lan) => Some(lan),
            Err(why) => {
                skip(&why);
                None
            }
        }
    }

    fn build(mut self, hosts: usize) -> Result<Lan, String> {
        let switch = self.switch();
        ip(&format!("netns add {switch}"))?;
        ip(&format!("-n {switch} link add lan type bridge"))?;
        ip(&format!("-n {switch} link set lan up"))?;
        for host in 0..hosts {
            let name = self.host(host);
            ip(&format!("netns add {name}"))?;
            self.hosts = host + 1;
            ip(&format!(
                "link add port{host} netns {switch} type veth peer name eth0 netns {name}"
            ))?;
            ip(&format!("-n {switch} link set port{host} master lan up"))?;
            ip(&format!("-n {name} address add {}/24 dev eth0", self.address(host)))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(self)
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.name)
    }

    /// The namespace of a host.
    pub fn host(&self, host: usize) -> String {
        format!("{}-h{host}", self.name)
    }

    /// The address of a host.
    pub fn address(&self, host: usize) -> String {
        format!("10.77.0.{}", host + 1)
    }

    /// A command that runs on a host.
    pub fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(host), program]);
        command
    }

    /// The ids of the worker processes on a host.
    pub fn workers(&self, host: usize) -> Vec<u32> {
        pids(&self.host(host)).into_iter().filter(|id| is_worker(*id)).collect()
    }

    /// Waits until no worker is left on any host.
    pub fn no_worker_left(&self, within: Duration, what: &str) {
        let began = Instant::now();
        loop {
            let left: Vec<u32> = (0..self.hosts).flat_map(|host| self.workers(host)).collect();
            if left.is_empty() {
                return;
            }
            assert!(began.elapsed() < within, "{what}: {left:?} are left after {within:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Unplugs a host's cable, or plugs it in again.
    pub fn plug(&self, host: usize, is_in: bool) {
        let state = if is_in { "up" } else { "down" };
        ip(&format!("-n {} link set port{host} {state}", self.switch())).expect("plugged");
    }

    /// Makes a host's kernel filter incoming (`input`) or outgoing (`output`) packets, by an
    /// nftables verdict with its matches.
    pub fn filter(&self, host: usize, rules: &[(&str, &str)]) {
        let chain = |(hook, rule): &(&str, &str)| {
            let device = if *hook == "input" { "iifname" } else { "oifname" };
            format!(
                "chain {hook} {{\n type filter hook {hook} priority 0; policy accept;\n {device} \"eth0\" {rule};\n}}\n"
            )
        };
        let chains: String = rules.iter().map(chain).collect();
        let table = format!("table inet fault {{\n{chains}}}\n");
        run("ip", &["netns", "exec", &self.host(host), "nft", &table]).expect("filtered");
    }

    /// Removes all faults of a host's network.
    pub fn heal(&self, host: usize) {
        self.plug(host, true);
        run("ip", &["netns", "exec", &self.host(host), "nft", "flush ruleset"]).expect("healed");
    }
}

fn is_worker(id: u32) -> bool {
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    // Excludes ip, which is replaced by the command, and a shell or sshd that has the command among
    // its arguments.
    words[0].ends_with(b"pagefold") && words.get(1) == Some(&&b"worker"[..])
}

impl Drop for Lan {
    fn drop(&mut self) {
        (0..self.hosts).for_each(|host| remove(&self.host(host)));
        remove(&self.switch());
    }
}
