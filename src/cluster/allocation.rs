//! The place of a process that a scheduler has started: its rank, its peers and its key.
//!
//! Everything except the key comes from environment variables. The key comes from a file that only
//! this user can read, because every process of the user can see the environment.

use crate::secret_file;
use crate::topology::{SECONDS_MAX, WORKERS_MAX};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use workers::error::{Error, Kind, Result};
use workers::mesh::{Key, PROCESSES_MAX, Protection};

/// The rank of this process, from 0; Slurm and Kubernetes have variables of their own.
const RANK: [&str; 3] = ["PAGEFOLD_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX"];
/// `host:port` of each process in order of rank, separated by commas or white space; the same for
/// all processes.
const PEERS: &str = "PAGEFOLD_PEERS";
/// The path of the file with the key.
const KEY_FILE: &str = "PAGEFOLD_KEY_FILE";
/// Worker threads of each process; the same for all processes.
const WORKERS: &str = "PAGEFOLD_WORKERS";
/// The address to listen on; the port is that of this process in the list of peers.
const BIND: &str = "PAGEFOLD_BIND";
/// Seconds until all processes must have connected.
const START_TIMEOUT: &str = "PAGEFOLD_START_TIMEOUT_S";
/// Seconds of silence after which a process counts as lost; the same for all processes.
const SILENCE_TIMEOUT: &str = "PAGEFOLD_SILENCE_TIMEOUT_S";

/// A scheduler may start one process long after another.
const START_TIMEOUT_S: u64 = 300;
const SILENCE_TIMEOUT_S: u64 = 10;
/// The longest name of a host (RFC 1035).
const HOST_BYTES_MAX: usize = 255;

/// The place of this process among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The rank of this process, from 0.
    pub rank: usize,
    /// The address of each process, `host:port`.
    pub peers: Vec<String>,
    /// The address on which this process listens.
    pub bind: SocketAddr,
    /// The file with the key.
    pub key_file: PathBuf,
    /// Worker threads of each process.
    pub workers: usize,
    /// Limit for all processes to connect.
    pub start_timeout: Duration,
    /// Silence after which a process is lost.
    pub silence_timeout: Duration,
    /// How data is protected; it is encrypted unless every peer is certainly on loopback.
    pub protection: Protection,
}

fn wrong(name: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Kind::Usage, format!("{name}: {why}"))
}

fn number(name: &str, text: &str, min: u64, max: u64) -> Result<u64> {
    let n = text.trim().parse().ok().filter(|n| (min..=max).contains(n));
    n.ok_or_else(|| wrong(name, format!("{text:?} is not a number within {min} to {max}")))
}

/// Splits `host:port`; an IPv6 address stands in brackets.
fn host_and_port(peer: &str) -> Option<(&str, u16)> {
    let (host, port) = peer.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let host = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']').filter(|host| host.parse::<IpAddr>().is_ok())?,
        None => Some(host).filter(|host| !host.contains([':', ']']))?,
    };
    (1..=HOST_BYTES_MAX).contains(&host.len()).then_some((host, port))
}

impl Allocation {
    /// Reads the place of this process; `variable` returns the text of the environment variable
    /// with the given name.
    ///
    /// # Errors
    ///
    /// `Usage`: a variable is missing or malformed.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Allocation> {
        let missing = |name| wrong(name, "is not set, which `worker JOB` needs");
        let needed = |name| {
            variable(name).filter(|text| !text.trim().is_empty()).ok_or_else(|| missing(name))
        };
        let list = needed(PEERS)?;
        let split =
            list.split(|c: char| c == ',' || c.is_whitespace()).filter(|peer| !peer.is_empty());
        let peers: Vec<String> = split.map(str::to_owned).collect();
        if !(1..=PROCESSES_MAX).contains(&peers.len()) {
            return Err(wrong(PEERS, format!("{} are not 1 to {PROCESSES_MAX}", peers.len())));
        }
        let mut places = Vec::new();
        for peer in &peers {
            places.push(
                host_and_port(peer)
                    .ok_or_else(|| wrong(PEERS, format!("{peer:?} is not host:port")))?,
            );
        }
        if let Some((host, port)) = twice(&places) {
            return Err(wrong(PEERS, format!("{host}:{port} stands twice")));
        }
        let given = RANK.into_iter().find_map(|name| Some((name, variable(name)?)));
        let (name, text) = given.ok_or_else(|| missing(RANK[0]))?;
        let rank = number(name, &text, 0, peers.len() as u64 - 1)? as usize;
        let (host, port) = places[rank];
        let ip = match (variable(BIND), host.parse::<IpAddr>()) {
            (Some(bind), _) => bind
                .trim()
                .parse()
                .map_err(|_| wrong(BIND, format!("{bind:?} is no IP address")))?,
            (None, Ok(ip)) => ip,
            // The name may resolve to an address that is not local (a load balancer, NAT), or may
            // not resolve here yet.
            (None, Err(_)) => Ipv4Addr::UNSPECIFIED.into(),
        };
        let seconds = |name, default| match variable(name) {
            Some(text) => number(name, &text, 1, SECONDS_MAX).map(Duration::from_secs),
            None => Ok(Duration::from_secs(default)),
        };
        let is_loopback = |host: &str| host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let protection = match places.iter().all(|(host, _)| is_loopback(host)) && ip.is_loopback()
        {
            true => Protection::PlainOnLoopback,
            false => Protection::Encrypted,
        };
        Ok(Allocation {
            rank,
            bind: SocketAddr::new(ip, port),
            key_file: PathBuf::from(needed(KEY_FILE)?),
            workers: number(WORKERS, &needed(WORKERS)?, 1, WORKERS_MAX)? as usize,
            start_timeout: seconds(START_TIMEOUT, START_TIMEOUT_S)?,
            silence_timeout: seconds(SILENCE_TIMEOUT, SILENCE_TIMEOUT_S)?,
            protection,
            peers,
        })
    }
}

fn twice<'a>(places: &[(&'a str, u16)]) -> Option<(&'a str, u16)> {
    let mut seen = BTreeSet::new();
    places.iter().find(|place| !seen.insert(**place)).copied()
}

/// Reads the key from the file at `path`.
///
/// # Errors
///
/// `Config`: others can read the file, or it holds no key. The error never shows the key.
pub fn read_key(path: &Path) -> Result<Key> {
    let text = secret_file::read(path, Kind::Config)?;
    Key::from_hex(text.trim_ascii())
        .ok_or_else(|| Error::config(path, "not a key of 64 hex digits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn of(set: &[(&str, &str)]) -> Result<Allocation> {
        let usual = [(PEERS, "a:1,b:2"), (KEY_FILE, "/k"), (WORKERS, "3"), ("PAGEFOLD_RANK", "1")];
        let find = |list: &[(&str, &str)], name: &str| {
            list.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string())
        };
        Allocation::of(|name| {
            find(set, name).or_else(|| find(&usual, name)).filter(|text| text != "unset")
        })
    }

    /// The rank comes from our own variable, then Slurm's, then Kubernetes'. The process listens on
    /// its own peer address if that is an IP address. Only loopback goes without encryption.
    #[test]
    fn places() {
        let place = of(&[("SLURM_PROCID", "0")]).expect("a place");
        assert_eq!(
            (place.rank, place.bind, place.protection),
            (1, "0.0.0.0:2".parse().expect("an address"), Protection::Encrypted)
        );
        let unset = ("PAGEFOLD_RANK", "unset");
        assert_eq!(
            of(&[unset, ("SLURM_PROCID", "0"), ("JOB_COMPLETION_INDEX", "1")])
                .expect("a place")
                .rank,
            0
        );
        assert_eq!(of(&[unset, ("JOB_COMPLETION_INDEX", "1")]).expect("a place").rank, 1);
        let place = of(&[(PEERS, " 127.0.0.1:7 ,\n[::1]:8 ")]).expect("a place");
        assert_eq!(
            (place.bind, place.protection),
            ("[::1]:8".parse().expect("an address"), Protection::PlainOnLoopback)
        );
        let place = of(&[(PEERS, "127.0.0.1:7 127.0.0.2:8"), (BIND, "0.0.0.0")]).expect("a place");
        assert!(place.protection.is_encrypted() && place.bind.ip().is_unspecified());
        assert_eq!(
            of(&[(SILENCE_TIMEOUT, "2")]).expect("a place").silence_timeout,
            Duration::from_secs(2)
        );
    }

    /// Every mistake is a `Usage` error of one line that names the variable.
    #[test]
    fn mistakes() {
        let many = "h:1,".repeat(PROCESSES_MAX + 1);
        let cases = [
            (PEERS, "unset"),
            (PEERS, " , "),
            (PEERS, "a:1,a:1"),
            (PEERS, "a,b:2"),
            (PEERS, "a:0,b:2"),
            (PEERS, "::1:1,b:2"),
            (PEERS, "[a]:1,b:2"),
            (PEERS, ":1,b:2"),
            (PEERS, many.as_str()),
            ("PAGEFOLD_RANK", "2"),
            ("PAGEFOLD_RANK", "-1"),
            ("PAGEFOLD_RANK", "unset"),
            (KEY_FILE, "unset"),
            (WORKERS, "unset"),
            (WORKERS, "0"),
            (BIND, "localhost"),
            (START_TIMEOUT, "soon"),
            (SILENCE_TIMEOUT, "0"),
        ];
        for (name, text) in cases {
            let error = of(&[(name, text)]).expect_err(text);
            assert!(
                error.kind() == Kind::Usage && error.to_string().starts_with(&format!("{name}: ")),
                "{error}"
            );
        }
    }

    /// A key file that others can read, or that does not hold 64 hex digits, is refused, and the
    /// error does not show its content.
    #[test]
    fn keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let write = |text: &str, mode| {
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
            read_key(&path)
        };
        let hex = "0aF1".repeat(16);
        assert_eq!(
            write(&format!("{hex}\n"), 0o600).expect("a key"),
            Key::of([[0x0a, 0xf1]; 16].concat().try_into().expect("32 bytes"))
        );
        for mode in [0o640, 0o604, 0o622, 0o644] {
            let error = write(&hex, mode).expect_err("readable by others");
            assert!(
                error.kind() == Kind::Config && error.to_string().contains("chmod 600"),
                "{error}"
            );
        }
        for text in ["", &hex[1..], &hex.replace('F', "g"), &hex.repeat(9)] {
            let error = write(text, 0o600).expect_err("no key");
            assert!(error.kind() == Kind::Config && !error.to_string().contains("0a"), "{error}");
        }
    }
}
