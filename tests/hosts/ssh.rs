use super::lan::Lan;
use super::scene::{GENEROUS, Run, Scene};
use crate::workbench::{failure, free_port, skip};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The host of the launcher.
const LAUNCHER: usize = 3;

/// An sshd on each of three hosts, with its own keys and files. Dropping this ends them.
struct Daemons<'a> {
    lan: &'a Lan,
    folder: tempfile::TempDir,
    port: u16,
    children: Vec<Child>,
}

fn keygen(path: &Path) -> Option<()> {
    let mut command = Command::new("ssh-keygen");
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(())
}

impl<'a> Daemons<'a> {
    /// None, and the test is skipped, without ssh or sshd.
    fn start(lan: &'a Lan) -> Option<Daemons<'a>> {
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd", "/sbin/sshd"]
            .into_iter()
            .find(|path| Path::new(path).exists());
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
        // sshd needs this folder, which its package makes when its service starts.
        std::fs::create_dir_all("/run/sshd").expect("made");
        std::fs::copy(at("user_key.pub"), at("authorized_keys")).expect("copied");
        let port = free_port(&["127.0.0.1".to_owned()]);
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
            command
                .args(["-D", "-f", &config])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().expect("started")
        };
        let children = (0..3).map(start).collect();
        let daemons = Daemons { lan, folder, port, children };
        daemons.know(["host_key"; 3]);
        (0..3).for_each(|host| daemons.wait_for(host));
        Some(daemons)
    }

    /// Writes the file of known hosts with the key that the launcher expects of each.
    fn know(&self, keys: [&str; 3]) {
        let line = |(host, key): (usize, &str)| {
            let key = std::fs::read_to_string(self.folder.path().join(format!("{key}.pub")))
                .expect("made");
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
            let output = ssh
                .args(["-F", &self.config(), &self.lan.address(host), "true"])
                .output()
                .expect("started");
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

    /// Starts the run of `scene`, whose launcher is on a fourth host.
    fn run(&self, scene: &Scene<'_>) -> Run {
        let mut command = self.lan.command(LAUNCHER, &crate::workbench::pagefold());
        command
            .args(["run", "job.toml", "--cluster", "hosts.toml"])
            .current_dir(scene.bench.at(""));
        command.env_remove("RUST_LOG");
        Run::of(command)
    }
}

impl Drop for Daemons<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Their child processes end with the network.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Three hosts over real ssh give the bytes of one process. A host with an unknown key is refused
/// at once, with its name, ssh's message and exit code 76, and no process is left on the others.
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
    let last = failure(&log);
    assert!(
        last.contains(&lan.address(1)) && last.contains("Host key verification failed"),
        "{log}"
    );
    assert!(!scene.bench.at("out/members.jsonl").exists());
    lan.no_worker_left(GENEROUS, "a wrong host key");
}

/// A host whose cable is unplugged is lost to its peers and to the launcher. It is noticed, blamed
/// and costs one attempt; its worker, which the launcher cannot reach, ends by itself before the
/// next attempt begins.
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
    let ended = run.succeeded(&scene, 2);
    assert_eq!(ended["attempts"][0]["blamed"], lan.address(1), "{ended}");
}
