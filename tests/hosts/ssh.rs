use super::lan::{Lan, skip};
use super::scene::{GENEROUS, Run, Scene};
use crate::workbench::Random;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The host of the launcher.
const LAUNCHER: usize = 3;

/// An sshd on each of three hosts, with keys and files of its own, none of the machine's. Dropped, they end.
struct Daemons<'a> {
    lan: &'a Lan,
    folder: tempfile::TempDir,
    port: u64,
    children: Vec<Child>,
}

fn keygen(path: &Path) -> Option<()> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(path).stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(())
}

impl<'a> Daemons<'a> {
    /// None, and a word about it, where there is no ssh or sshd.
    fn start(lan: &'a Lan) -> Option<Daemons<'a>> {
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd", "/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let Some(sshd) = sshd else {
            skip("sshd is missing");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["host_key", "other_host_key", "user_key"] {
            if keygen(&at(name)).is_none() {
                skip("ssh-keygen is missing");
                return None;
            }
        }
        // Where sshd leaves its rights; the package makes it when its service starts.
        std::fs::create_dir_all("/run/sshd").expect("made");
        std::fs::copy(at("user_key.pub"), at("authorized_keys")).expect("copied");
        let port = 20_000 + Random::seeded().below(10_000);
        let path = |name: &str| at(name).to_str().expect("UTF-8").to_owned();
        let config = format!(
            "Port {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nMaxStartups 100\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n",
            path("host_key"),
            path("authorized_keys")
        );
        std::fs::write(at("sshd_config"), config).expect("written");
        let config = format!(
            "Host *\nPort {port}\nUser root\nIdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\nGlobalKnownHostsFile none\n\
             StrictHostKeyChecking yes\nBatchMode yes\nConnectTimeout 10\nLogLevel ERROR\n",
            path("user_key"),
            path("known_hosts")
        );
        std::fs::write(at("ssh_config"), config).expect("written");
        let config = path("sshd_config");
        let start = |host| {
            let mut command = lan.command(host, sshd);
            command.args(["-D", "-f", &config]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("started")
        };
        let children = (0..3).map(start).collect();
        let daemons = Daemons { lan, folder, port, children };
        daemons.know(["host_key"; 3]);
        (0..3).for_each(|host| daemons.wait_for(host));
        Some(daemons)
    }

    /// Writes the file of known hosts: which key the launcher expects of each.
    fn know(&self, keys: [&str; 3]) {
        let line = |(host, key): (usize, &str)| {
            let key = std::fs::read_to_string(self.folder.path().join(format!("{key}.pub"))).expect("made");
            format!("[{}]:{} {key}", self.lan.address(host), self.port)
        };
        let lines: String = keys.into_iter().enumerate().map(line).collect();
        std::fs::write(self.folder.path().join("known_hosts"), lines).expect("written");
    }

    fn config(&self) -> String {
        self.folder.path().join("ssh_config").to_str().expect("UTF-8").to_owned()
    }

    fn wait_for(&self, host: usize) {
        let began = Instant::now();
        loop {
            let mut ssh = self.lan.command(LAUNCHER, "ssh");
            let output = ssh.args(["-F", &self.config(), &self.lan.address(host), "true"]).output().expect("started");
            if output.status.success() {
                return;
            }
            let why = String::from_utf8_lossy(&output.stderr);
            assert!(began.elapsed() < GENEROUS, "no way into {}: {why}", self.lan.address(host));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A job whose workers are started by ssh.
    fn scene(&self) -> Scene<'a> {
        let start = format!("ssh_command = [\"ssh\", \"-F\", \"{}\"]", self.config());
        Scene::new(self.lan, None, &start)
    }

    /// The run of `scene`, whose launcher is on a host of its own.
    fn run(&self, scene: &Scene<'_>) -> Run {
        let mut command = self.lan.command(LAUNCHER, env!("CARGO_BIN_EXE_pagefold"));
        command.args(["run", "job.toml", "--cluster", "hosts.toml"]).current_dir(scene.bench.at(""));
        command.env_remove("RUST_LOG");
        Run::of(command)
    }
}

impl Drop for Daemons<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            // What they started ends with the network.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Over real ssh three hosts give the bytes of one process; a host whose key is not the known one is refused at once, with its name, what ssh says and
/// exit code 76, and nothing is left running on the others.
#[test]
fn over_ssh() {
    let Some(lan) = Lan::new(4) else { return };
    let Some(daemons) = Daemons::start(&lan) else { return };
    let scene = daemons.scene();
    daemons.run(&scene).succeeded(&scene, 1);
    daemons.know(["host_key", "other_host_key", "host_key"]);
    let scene = daemons.scene();
    let mut run = daemons.run(&scene);
    let status = run.ended();
    let log = run.log();
    assert_eq!(status.code(), Some(76), "{log}");
    let last = log.lines().last().unwrap_or_default();
    assert!(last.contains(&lan.address(1)) && last.contains("Host key verification failed"), "{log}");
    assert!(!scene.bench.at("out/members.jsonl").exists());
    lan.nobody_left(GENEROUS, "a wrong host key");
}

/// A host whose cable is pulled out is lost to its peers and to the launcher alike: it is noticed, blamed and costs one attempt; the process there, which nobody can
/// reach, ends by itself before the next attempt begins.
#[test]
fn unplugged_from_the_launcher() {
    let Some(lan) = Lan::new(4) else { return };
    let Some(daemons) = Daemons::start(&lan) else { return };
    let scene = daemons.scene();
    let mut run = daemons.run(&scene);
    let worker = scene.at_work(1, 8, &mut run).expect("at work");
    lan.plug(1, false);
    run.says("an attempt failed", GENEROUS).unwrap_or_else(|| panic!("not noticed: {}", run.log()));
    lan.plug(1, true);
    let gone = || !Path::new(&format!("/proc/{worker}")).exists();
    let began = Instant::now();
    while !gone() {
        assert!(began.elapsed() < GENEROUS, "the worker lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = run.succeeded(&scene, 2);
    assert_eq!(told["attempts"][0]["blamed"], lan.address(1), "{told}");
}
