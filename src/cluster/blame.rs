//! Finds the first cause of a failed attempt, and the process to blame.
//!
//! One failure causes others: a process that dies is reported as lost by its peers, and these
//! reports may arrive first. So all reports of a short time are collected, and the one closest to
//! the cause counts.

use std::collections::BTreeMap;
use workers::error::Kind;

/// The symptoms of a failure, from the closest to its cause to the furthest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// The process reports an error of its own or of the job.
    OwnError,
    /// The process ended without a final message.
    Death,
    /// The process is silent, stuck or missing, as seen by the supervisor.
    Silent,
    /// The process reports the loss of another process.
    LostPeer(usize),
    /// The process reports a loss, but not which process was lost.
    LostUnknown,
}

/// A symptom, and the process that showed it.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The process; `None` if the supervisor cannot tell which one.
    pub process: Option<usize>,
    /// What it showed.
    pub symptom: Symptom,
    /// The kind of the error of the attempt, if this is its cause.
    pub kind: Kind,
    /// What is wrong, in words.
    pub line: String,
    /// Whether another attempt may succeed.
    pub mends: bool,
}

/// The first cause among `problems`, which are in order of arrival, and the process to blame. Of
/// several lost peers, the one that most processes report is blamed.
///
/// A process that fails gives the others fewer rows than they need. So if one of these then finds a
/// fault in pagefold, that may be a consequence, and any other error of its own comes first.
pub fn cause(problems: &[Problem]) -> Option<(&Problem, Option<usize>)> {
    let rank = |problem: &Problem| match problem.symptom {
        Symptom::OwnError if problem.kind != Kind::Internal => 0,
        Symptom::OwnError => 1,
        Symptom::Death => 2,
        Symptom::Silent => 3,
        Symptom::LostPeer(_) => 4,
        Symptom::LostUnknown => 5,
    };
    let first = problems.iter().min_by_key(|problem| rank(problem))?;
    let Symptom::LostPeer(_) = first.symptom else {
        let blames = !matches!(first.symptom, Symptom::LostUnknown);
        return Some((first, first.process.filter(|_| blames)));
    };
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    let peers = problems.iter().filter_map(|problem| match problem.symptom {
        Symptom::LostPeer(peer) => Some((peer, problem)),
        _ => None,
    });
    peers.clone().for_each(|(peer, _)| *votes.entry(peer).or_default() += 1);
    let most = votes.values().max().copied().unwrap_or(0);
    peers
        .into_iter()
        .find(|(peer, _)| votes[peer] == most)
        .map(|(peer, problem)| (problem, Some(peer)))
}

/// The kind of failure of a process that ended before its first message, from the exit `code` of
/// pagefold, of the shell or of ssh, and their output in `how`. A host that cannot be reached may
/// be tried again; the other causes are permanent. A program that ends with success and says
/// nothing is another program.
pub fn start_failure(code: Option<i32>, how: &str) -> Kind {
    let own = Kind::ALL.into_iter().find(|kind| code == Some(kind.exit_code().into()));
    match code {
        Some(0 | 126 | 127) => Kind::Config,
        Some(255) if how.contains("Host key verification failed") => Kind::Protocol,
        Some(255) if how.contains("Permission denied (") => Kind::Permission,
        _ => own.unwrap_or(Kind::TryAgain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(process: usize, symptom: Symptom) -> Problem {
        Problem {
            process: Some(process),
            symptom,
            kind: Kind::TryAgain,
            line: String::new(),
            mends: true,
        }
    }

    fn blamed(problems: &[(usize, Symptom)]) -> Option<usize> {
        let problems: Vec<_> =
            problems.iter().map(|(process, symptom)| problem(*process, symptom.clone())).collect();
        cause(&problems).and_then(|(_, blamed)| blamed)
    }

    /// The first cause is blamed, not its consequences, in any order of the reports: an error of
    /// its own comes before an exit, an exit before silence, silence before reports about other
    /// processes. Of these the peer with the most votes counts, and of equals the first.
    #[test]
    fn the_first_cause_is_blamed() {
        use Symptom::{Death, LostPeer, LostUnknown, OwnError, Silent};
        assert_eq!(blamed(&[(0, LostPeer(2)), (1, LostPeer(2)), (2, Death)]), Some(2));
        assert_eq!(blamed(&[(0, LostPeer(2)), (2, LostPeer(1)), (1, OwnError)]), Some(1));
        assert_eq!(blamed(&[(1, Death), (0, OwnError)]), Some(0));
        assert_eq!(blamed(&[(0, LostPeer(1)), (1, Silent)]), Some(1));
        assert_eq!(blamed(&[(2, LostPeer(0)), (0, LostPeer(2)), (1, LostPeer(2))]), Some(2));
        assert_eq!(blamed(&[(1, LostPeer(0)), (0, LostPeer(1))]), Some(0));
        assert_eq!(blamed(&[(1, LostUnknown), (0, LostPeer(1))]), Some(1));
        assert_eq!(blamed(&[(1, LostUnknown)]), None);
        assert_eq!(blamed(&[]), None);
    }

    /// A worker that refused its command line, or could not write, was taken for a lost host and
    /// started again and again. Only a host that cannot be reached is started again.
    #[test]
    fn what_ends_a_start_for_good() {
        let kinds = [0, 64, 70, 74, 77, 78, 127, 75, 1, 255]
            .map(|code| start_failure(Some(code), "Connection refused"));
        use Kind::{Config, Internal, Io, Permission, TryAgain, Usage};
        let again = [TryAgain; 3];
        assert_eq!(kinds[..7], [Config, Usage, Internal, Io, Permission, Config, Config]);
        assert_eq!(kinds[7..], again);
        assert_eq!(start_failure(None, "ended by signal 9"), TryAgain);
    }

    /// A damaged row on one host was reported as a fault in pagefold, exit 70, if another host
    /// missed the rows that the first one did not send, and reported earlier.
    #[test]
    fn an_error_comes_before_a_fault_that_follows_from_it() {
        let fault = Problem { kind: Kind::Internal, ..problem(0, Symptom::OwnError) };
        let damaged = Problem { kind: Kind::Io, ..problem(1, Symptom::OwnError) };
        let killed = problem(2, Symptom::Death);
        let all = [fault.clone(), damaged, killed.clone()];
        let (problem, blamed) = cause(&all).expect("a cause");
        assert_eq!((problem.kind, blamed), (Kind::Io, Some(1)));
        let rest = [killed, fault];
        let (problem, blamed) = cause(&rest).expect("a cause");
        assert_eq!((problem.kind, blamed), (Kind::Internal, Some(0)));
    }
}
