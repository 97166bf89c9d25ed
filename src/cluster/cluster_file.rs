//! The cluster file, which describes a [`Topology`].
//!
//! Every mistake is one line that names file, line and key. The file holds no secret. Nothing in it
//! passes through a shell of this machine, and what a remote shell sees contains no character that
//! is special in any shell.

use crate::cluster::process;
use crate::config;
use crate::config::takes::{Key, Takes};
use crate::config::written::Lines;
use crate::jobs::text_of;
use crate::own_process;
use crate::topology::{Host, Launch, SECONDS_MAX, Topology, WORKERS_MAX};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use workers::error::{Error, Kind, Result};
use workers::mesh::{PROCESSES_MAX, Protection};

const ATTEMPTS_MAX: u64 = 10;
/// The longest name, path or word of a command.
const WORD_BYTES_MAX: usize = 1024;
const COMMAND_WORDS_MAX: usize = 64;

/// The values of the cluster file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    launch: Launch,
    processes: Option<Spanned<u64>>,
    hosts: Option<Spanned<Vec<WrittenHost>>>,
    workers: Option<Spanned<u64>>,
    port: Option<Spanned<u16>>,
    bind: Option<Spanned<IpAddr>>,
    hosts_min: Option<Spanned<u64>>,
    attempts_max: Option<Spanned<u64>>,
    backoff_s: Option<Spanned<f64>>,
    start_timeout_s: Option<Spanned<u64>>,
    silence_timeout_s: Option<Spanned<u64>>,
    progress_timeout_s: Option<Spanned<u64>>,
    encrypt: Option<Spanned<bool>>,
    #[serde(default)]
    plaintext: bool,
    ssh_command: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHost {
    address: Spanned<String>,
    bind: Option<Spanned<IpAddr>>,
    ssh: Option<Spanned<String>>,
    folder: Option<Spanned<String>>,
    binary: Option<Spanned<String>>,
    workers: Option<Spanned<u64>>,
}

const fn key(name: &'static str, takes: Takes) -> Key {
    Key { name, takes, needed: false }
}

/// The keys of the file. Conditions between several keys are checked below.
const KEYS: &[Key] = &[
    Key { name: "launch", takes: Takes::Word(&["local", "ssh"]), needed: true },
    key("processes", Takes::Whole(1, PROCESSES_MAX as u64)),
    key("workers", Takes::Whole(1, WORKERS_MAX)),
    key("port", Takes::Whole(0, 65_535)),
    key("bind", Takes::Address),
    key("hosts_min", Takes::Whole(1, PROCESSES_MAX as u64)),
    key("attempts_max", Takes::Whole(1, ATTEMPTS_MAX)),
    key("backoff_s", Takes::Number(0.0, 3600.0)),
    key("start_timeout_s", Takes::Whole(1, SECONDS_MAX)),
    key("silence_timeout_s", Takes::Whole(1, SECONDS_MAX)),
    key("progress_timeout_s", Takes::Whole(1, SECONDS_MAX)),
    key("encrypt", Takes::Switch),
    key("plaintext", Takes::Switch),
    key("ssh_command", Takes::List),
    key("hosts", Takes::Tables(None)),
    Key { name: "hosts.address", takes: Takes::Text, needed: true },
    key("hosts.bind", Takes::Address),
    key("hosts.ssh", Takes::Text),
    key("hosts.folder", Takes::Text),
    key("hosts.binary", Takes::Text),
    key("hosts.workers", Takes::Whole(1, WORKERS_MAX)),
];

/// The file's path and text, to say where it is wrong.
struct Checker<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Checker<'_> {
    fn wrong(&self, at: usize, why: impl std::fmt::Display) -> Error {
        let line = Lines::of(self.text).line_of(at);
        Error::new(Kind::Config, format!("{}:{line}: {why}", self.path.display()))
    }

    fn number(
        &self,
        key: &str,
        value: &Option<Spanned<u64>>,
        default: u64,
        max: u64,
    ) -> Result<u64> {
        let Some(value) = value else { return Ok(default) };
        let n = *value.get_ref();
        if !(1..=max).contains(&n) {
            return Err(
                self.wrong(value.span().start, format!("{key}: {n} is not within 1 to {max}"))
            );
        }
        Ok(n)
    }

    /// A word that a remote shell may see. It contains no character with a meaning in any shell,
    /// and is not an option.
    fn word(&self, key: &str, value: &Spanned<String>, marks: &str) -> Result<String> {
        let word = value.get_ref();
        let fits = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
        let why = match word.chars().find(|c| !fits(*c)) {
            _ if word.is_empty() || word.len() > WORD_BYTES_MAX => {
                format!("not of 1 to {WORD_BYTES_MAX} bytes")
            }
            _ if word.starts_with('-') => "begins with `-`".into(),
            Some(c) => {
                format!("{c:?} is none of the characters allowed here: letters, digits, {marks}")
            }
            None => return Ok(word.clone()),
        };
        Err(self.wrong(value.span().start, format!("{key}: {why}")))
    }

    fn path(&self, key: &str, value: &Spanned<String>) -> Result<PathBuf> {
        let path = PathBuf::from(self.word(key, value, PATH_MARKS)?);
        if !path.is_absolute() {
            return Err(self.wrong(value.span().start, format!("{key}: not an absolute path")));
        }
        Ok(path)
    }
}

const NAME_MARKS: &str = "._-:@";
const PATH_MARKS: &str = "/._-+=@,";

/// Reads the cluster file at `path`.
pub fn read(path: &Path) -> Result<Topology> {
    let text = text_of(path)?;
    let written = written(path, &text)?;
    check(&Checker { path, text: &text }, &written, &own_process::path()?)
}

/// The values of the file; the error lists every key that is wrong by itself.
fn written(path: &Path, text: &str) -> Result<Written> {
    let (_, mistakes) = config::checked(&config::parse(path, text)?, KEYS);
    if !mistakes.is_empty() {
        return Err(config::error(path, &[], mistakes));
    }
    toml::from_str(text).map_err(|e| {
        Error::internal(format!("a key of the cluster file is described wrongly: {}", e.message()))
    })
}

/// The topology of `written` for a launcher whose binary is at `binary`.
fn check(checker: &Checker<'_>, written: &Written, binary: &Path) -> Result<Topology> {
    let seconds = |key, value, default| {
        checker.number(key, value, default, SECONDS_MAX).map(Duration::from_secs)
    };
    let (hosts, workers) = match written.launch {
        Launch::Local => (local(checker, written, binary)?, written.workers.clone()),
        Launch::Ssh => remote(checker, written, binary)?,
    };
    if workers.is_none() {
        return Err(checker.wrong(0, "workers is missing: the threads of each process"));
    }
    let hosts_min =
        checker.number("hosts_min", &written.hosts_min, hosts.len() as u64, hosts.len() as u64)?;
    let backoff_s = written.backoff_s.as_ref().map_or(1.0, |seconds| *seconds.get_ref());
    if !(0.0..=3600.0).contains(&backoff_s) {
        let at = written.backoff_s.as_ref().map_or(0, |seconds| seconds.span().start);
        return Err(checker.wrong(at, format!("backoff_s: {backoff_s} is not within 0 to 3600")));
    }
    let loopback = hosts.iter().all(Host::is_loopback);
    let encrypt = written
        .encrypt
        .as_ref()
        .map_or(!loopback && !written.plaintext, |encrypt| *encrypt.get_ref());
    if let (false, false, false, Some(at)) =
        (encrypt, loopback, written.plaintext, &written.encrypt)
    {
        let why =
            "encrypt: not every host is loopback; data in the clear needs plaintext = true as well";
        return Err(checker.wrong(at.span().start, why));
    }
    let protection = match (encrypt, written.plaintext) {
        (true, _) => Protection::Encrypted,
        (false, true) => Protection::PlainByRequest,
        (false, false) => Protection::PlainOnLoopback,
    };
    Ok(Topology {
        launch: written.launch,
        workers: checker.number("workers", &workers, 1, WORKERS_MAX)? as usize,
        hosts_min: hosts_min as usize,
        hosts,
        attempts_max: checker.number("attempts_max", &written.attempts_max, 4, ATTEMPTS_MAX)?
            as u32,
        backoff: Duration::from_secs_f64(backoff_s),
        start_timeout: seconds("start_timeout_s", &written.start_timeout_s, 60)?,
        silence_timeout: seconds("silence_timeout_s", &written.silence_timeout_s, 10)?,
        progress_timeout: seconds("progress_timeout_s", &written.progress_timeout_s, 600)?,
        protection,
    })
}

fn local(checker: &Checker<'_>, written: &Written, binary: &Path) -> Result<Vec<Host>> {
    let others = [
        ("hosts", written.hosts.as_ref().map(Spanned::span)),
        ("bind", written.bind.as_ref().map(Spanned::span)),
        ("hosts_min", written.hosts_min.as_ref().map(Spanned::span)),
        ("ssh_command", written.ssh_command.as_ref().map(Spanned::span)),
    ];
    if let Some((key, Some(at))) = others.into_iter().find(|(_, at)| at.is_some()) {
        return Err(checker.wrong(at.start, format!("{key}: only with launch = \"ssh\"")));
    }
    let Some(processes) = &written.processes else {
        return Err(checker.wrong(0, "processes is missing: how many to start"));
    };
    let processes =
        checker.number("processes", &Some(processes.clone()), 1, PROCESSES_MAX as u64)? as usize;
    let port = written.port.as_ref().map_or(0, |port| *port.get_ref());
    if port > 0 && usize::from(port) + processes > 65_536 {
        let at = written.port.as_ref().map_or(0, |port| port.span().start);
        return Err(checker.wrong(at, format!("port: {port} leaves no port for each process")));
    }
    let binary =
        binary.to_str().ok_or_else(|| checker.wrong(0, "the path of pagefold is not UTF-8"))?;
    let port = |process: usize| if port == 0 { 0 } else { port + process as u16 };
    Ok((0..processes)
        .map(|process| Host::local(process, port(process), binary.to_owned()))
        .collect())
}

type Remote = (Vec<Host>, Option<Spanned<u64>>);

fn remote(checker: &Checker<'_>, written: &Written, binary: &Path) -> Result<Remote> {
    if let Some(processes) = &written.processes {
        return Err(checker.wrong(
            processes.span().start,
            "processes: launch = \"ssh\" starts one on each of [[hosts]]",
        ));
    }
    let Some(listed) = &written.hosts else {
        return Err(checker.wrong(0, "missing [[hosts]], which launch = \"ssh\" needs"));
    };
    let (at, listed) = (listed.span().start, listed.get_ref());
    if !(1..=PROCESSES_MAX).contains(&listed.len()) {
        return Err(
            checker.wrong(at, format!("hosts: {} are not 1 to {PROCESSES_MAX}", listed.len()))
        );
    }
    let command = ssh_command(checker, written)?;
    let port = written.port.as_ref().map_or(0, |port| *port.get_ref());
    let mut workers = written.workers.clone();
    let (mut hosts, mut addresses) = (Vec::new(), BTreeSet::new());
    for listed in listed {
        let address = checker.word("address", &listed.address, NAME_MARKS)?;
        let at = listed.address.span().start;
        if address.contains('@') || (address.contains(':') && address.parse::<IpAddr>().is_err()) {
            return Err(
                checker.wrong(at, format!("address: {address:?} is no IP address or host name"))
            );
        }
        if !addresses.insert(address.clone()) {
            let why = format!(
                "address: {address} stands twice; a host has one process, with more workers if it has the cores"
            );
            return Err(checker.wrong(at, why));
        }
        if let Some(own) = &listed.workers {
            let all = workers.get_or_insert_with(|| own.clone());
            if all.get_ref() != own.get_ref() {
                let why = "workers: the exchange needs the same number on every host; set it once, at the top";
                return Err(checker.wrong(own.span().start, why));
            }
        }
        let folder =
            listed.folder.as_ref().map(|folder| checker.path("folder", folder)).transpose()?;
        let binary = match (&listed.binary, &folder) {
            (Some(binary), _) => checker.path("binary", binary)?,
            (None, Some(folder)) => folder.join("pagefold"),
            (None, None) => {
                let text = binary.to_str().unwrap_or_default().to_owned();
                checker.path("binary (this one, as none is given)", &Spanned::new(at..at, text))?
            }
        };
        let name = listed.ssh.as_ref().unwrap_or(&listed.address);
        let name = checker.word("ssh", name, NAME_MARKS)?;
        hosts.push(Host {
            name: address.clone(),
            address,
            bind: listed.bind.as_ref().or(written.bind.as_ref()).map(|bind| *bind.get_ref()),
            port,
            command: process::remote_command(&command, name, &binary),
            folder,
        });
    }
    Ok((hosts, workers))
}

/// The command that reaches a host, as the file or the default says.
fn ssh_command(checker: &Checker<'_>, written: &Written) -> Result<Vec<String>> {
    let Some(command) = &written.ssh_command else { return Ok(process::default_ssh_command()) };
    let (at, words) = (command.span().start, command.get_ref());
    let fits =
        |word: &String| !word.is_empty() && word.len() <= WORD_BYTES_MAX && !word.contains('\0');
    if !(1..=COMMAND_WORDS_MAX).contains(&words.len()) || !words.iter().all(fits) {
        let why = format!(
            "ssh_command: not a list of 1 to {COMMAND_WORDS_MAX} words of 1 to {WORD_BYTES_MAX} bytes"
        );
        return Err(checker.wrong(at, why));
    }
    Ok(words.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Result<Topology> {
        let path = Path::new("cluster.toml");
        check(&Checker { path, text }, &written(path, text)?, Path::new("/opt/pagefold"))
    }

    const LOCAL: &str = "launch = \"local\"\nprocesses = 2\nworkers = 1\n";
    const SSH_TWO: &str = "launch = \"ssh\"\nworkers = 4\n[[hosts]]\naddress = \"10.0.0.1\"\n[[hosts]]\n\
        address = \"b.example\"\nssh = \"crawl@b\"\nfolder = \"/srv/fold\"\n";

    /// Omitted keys have their defaults: the launcher's own path, ssh without prompts, and
    /// encryption unless all addresses are loopback.
    #[test]
    fn defaults() {
        let local = topology(LOCAL).expect("a topology");
        assert_eq!(
            (local.hosts.len(), local.workers, local.protection, local.attempts_max),
            (2, 1, Protection::PlainOnLoopback, 4)
        );
        let two = topology(SSH_TWO).expect("a topology");
        assert!(two.protection.is_encrypted() && two.hosts_min == 2);
        let words = |host: usize| two.hosts[host].command.join(" ");
        let ssh = process::default_ssh_command().join(" ");
        assert_eq!(words(0), format!("{ssh} 10.0.0.1 /opt/pagefold worker"));
        assert_eq!(words(1), format!("{ssh} crawl@b /srv/fold/pagefold worker"));
        let other = |text: &str| topology(&format!("{text}\n{SSH_TWO}")).expect("a topology");
        assert_eq!(
            other("ssh_command = [\"ip\", \"netns\", \"exec\"]").hosts[0].command[..4],
            ["ip", "netns", "exec", "10.0.0.1"]
        );
        assert!(
            !other("plaintext = true").protection.is_encrypted()
                && !other("plaintext = true\nencrypt = false").protection.is_encrypted()
        );
        assert!(other("plaintext = true\nencrypt = true").protection.is_encrypted());
    }

    /// Every mistake is one line that names file, line and key.
    #[test]
    fn mistakes() {
        let twice = "[[hosts]]\naddress = \"10.0.0.1\"\n";
        for (text, from, to, expected) in [
            (
                LOCAL,
                "processes",
                "proceses",
                "cluster.toml:2: proceses: no such key; did you mean `processes`?",
            ),
            (LOCAL, "= 2", "= 0", "cluster.toml:2: processes = 0: a whole number from 1 to"),
            (
                LOCAL,
                "local",
                "mars",
                "cluster.toml:1: launch = \"mars\": \"local\" or \"ssh\" is wanted",
            ),
            (LOCAL, "= 1", "= 1\nport = 65535", "cluster.toml:4: port: 65535"),
            (LOCAL, "workers = 1", "", "cluster.toml:1: workers is missing"),
            (LOCAL, "processes = 2", "", "cluster.toml:1: processes is missing"),
            (LOCAL, "= 1", "= 1\nhosts_min = 1", "cluster.toml:4: hosts_min: only with"),
            (
                LOCAL,
                "= 1",
                "= 1\nbackoff_s = -1.0",
                "cluster.toml:4: backoff_s = -1.0: a number from 0 to 3600",
            ),
            (
                LOCAL,
                "= 1",
                "= 1\nsilence_timeout_s = 0",
                "cluster.toml:4: silence_timeout_s = 0: a whole number from 1 to",
            ),
            (SSH_TWO, "workers = 4", "workers = 4\nprocesses = 2", "cluster.toml:3: processes: "),
            (SSH_TWO, "crawl@b", "-oProxyCommand=x", "cluster.toml:7: ssh: begins with `-`"),
            (SSH_TWO, "crawl@b", "b;reboot", "cluster.toml:7: ssh: ';'"),
            (SSH_TWO, "/srv/fold", "/srv/$HOME", "cluster.toml:8: folder: '$'"),
            (SSH_TWO, "/srv/fold", "srv", "cluster.toml:8: folder: not an absolute"),
            (SSH_TWO, "b.example", "a:b", "cluster.toml:6: address: \"a:b\""),
            (SSH_TWO, "b.example", "10.0.0.1", "cluster.toml:6: address: 10.0.0.1 stands twice"),
            (
                SSH_TWO,
                "folder",
                "workers = 3\nfolder",
                "cluster.toml:8: workers: the exchange needs the same",
            ),
            (SSH_TWO, "workers = 4", "workers = 4\nencrypt = false", "cluster.toml:3: encrypt: "),
            (SSH_TWO, "workers = 4", "workers = 4\nhosts_min = 3", "cluster.toml:3: hosts_min: 3"),
            (
                SSH_TWO,
                "workers = 4",
                "workers = 4\nssh_command = []",
                "cluster.toml:3: ssh_command: ",
            ),
            (SSH_TWO, "folder", "binary = \"/a b\"\nfolder", "cluster.toml:8: binary: ' '"),
            (
                SSH_TWO,
                "workers = 4",
                "workers = 4\nbind = \"here\"",
                "cluster.toml:3: bind = \"here\": an IP address",
            ),
            (
                twice,
                "[[hosts]]",
                "launch = \"local\"\nprocesses = 1\nworkers = 1\n[[hosts]]",
                ":4: hosts: only with",
            ),
        ] {
            let text = text.replacen(from, to, 1);
            let error = topology(&text).expect_err(expected);
            let line = error.to_string();
            assert!(line.contains(expected) && !line.contains('\n'), "{line}\nis not\n{expected}");
            assert_eq!(error.kind(), Kind::Config);
        }
    }
}
