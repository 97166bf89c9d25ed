//! The advice of errors, in the words of the user's own command line, because people copy it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use workers::error::Error;
use workers::read::shell;

/// An option of the command line that sets a key of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The option as it was given.
    option: String,
    /// `KEY=VALUE`.
    set: String,
}

impl Given {
    /// `--set KEY=VALUE`.
    pub fn set(set: &str) -> Given {
        Given { option: format!("--set {}", word(set)), set: set.to_owned() }
    }

    /// `--limit N`, which sets a key of the job, too.
    pub fn limit(most: u32) -> Given {
        Given { option: format!("--limit {most}"), set: format!("read.records_max={most}") }
    }

    /// Whether `message` names the key, or a key of the table that is set.
    fn is_named_in(&self, message: &str) -> bool {
        let key = self.set.split('=').next().unwrap_or_default().trim();
        [" = ", "."].iter().any(|behind| message.contains(&format!("{key}{behind}")))
    }
}

fn word(text: &str) -> String {
    shell::word(Path::new(text))
}

/// The job of the command line, once it is known.
static OF_COMMAND: OnceLock<Job> = OnceLock::new();

/// Sets the job of the command line.
pub fn set_job(job: Job) {
    // A process has one command line.
    let _ = OF_COMMAND.set(job);
}

/// The message of `error` and of its causes with the job of the command line in place of `JOB`.
pub fn message(error: &Error) -> String {
    of_line(&error.to_string())
}

/// `line`, which an error says, with the job of the command line in place of `JOB`.
pub fn of_line(line: &str) -> String {
    OF_COMMAND.get().map_or_else(|| line.to_owned(), |job| job.worded(line))
}

/// `text` with the job of the command line in place of `JOB`.
pub fn worded(text: &str) -> String {
    OF_COMMAND.get().map_or_else(|| text.to_owned(), |job| job.with_commands(text))
}

/// The job that the advice of an error is about.
pub struct Job {
    /// The job file.
    pub path: PathBuf,
    /// The options of the command line that set keys in it.
    pub given: Vec<Given>,
    /// The cluster file of the command line.
    pub cluster: Option<PathBuf>,
}

/// The commands whose work a cluster does.
const OF_CLUSTERS: [&str; 2] = ["run", "rebuild"];

impl Job {
    /// The job at `path` with these `--set`.
    pub fn new(path: &Path, sets: &[String]) -> Job {
        let given = sets.iter().map(|set| Given::set(set)).collect();
        Job { path: path.to_owned(), given, cluster: None }
    }

    /// The same job, whose work the cluster of this file does.
    pub fn on(self, cluster: Option<&PathBuf>) -> Job {
        Job { cluster: cluster.cloned(), ..self }
    }

    fn worded(&self, line: &str) -> String {
        self.with_commands(&self.with_remedy(line))
    }

    /// `text` with this job in place of `JOB` in commands such as `pagefold run JOB`.
    pub fn with_commands(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Without the options the command would be about another job: it would rebuild by the keys
        // of the file, and the next run would be refused like this one.
        // An address of a monitor may be a secret, and changes nothing here.
        let sets: String = self
            .given
            .iter()
            .filter(|given| !given.set.trim_start().starts_with("output.ping"))
            .map(|given| format!(" --set {}", word(&given.set)))
            .collect();
        let job = shell::word(&self.path);
        let cluster = self.cluster.as_ref();
        let cluster =
            cluster.map_or_else(String::new, |file| format!(" --cluster {}", shell::word(file)));
        let commands =
            ["run", "serve", "export", "rebuild", "verify", "gc", "rollback", "explain", "query"];
        for command in commands {
            let general = format!("pagefold {command} JOB");
            let cluster = if OF_CLUSTERS.contains(&command) { &cluster } else { "" };
            text = text.replace(&general, &format!("pagefold {command} {job}{sets}{cluster}"));
        }
        text
    }

    /// `line`; if it asks to put keys back that the command line set, it names the options.
    fn with_remedy(&self, line: &str) -> String {
        let (back, obeys) = ("; put that back, or ", " obeys the job");
        let Some((message, rest)) = line.split_once(back) else { return line.to_owned() };
        let named: Vec<&Given> =
            self.given.iter().filter(|given| given.is_named_in(message)).collect();
        if named.is_empty() {
            return line.to_owned();
        }
        let options: Vec<String> =
            named.iter().map(|given| format!("`{}`", given.option)).collect();
        let all = named.len() >= message.matches(", the job says ").count();
        let also = if all { "" } else { "put back what the file says, and " };
        let rest = rest.replace(obeys, " makes the store anew with it");
        format!("{message}; {also}leave out {}, or {rest}", options.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "s/FORMAT: the store was built with extract.main_text = true, the job says false; \
        put that back, or `pagefold rebuild JOB` obeys the job";

    fn worded(line: &str, given: Vec<Given>) -> String {
        Job { path: "a b.toml".into(), given, cluster: None }.worded(line)
    }

    /// A rebuild with only the file's keys read all inputs again, and the next run was refused as
    /// before.
    #[test]
    fn options_are_named_and_repeated() {
        assert!(
            worded(ONE, vec![])
                .ends_with("; put that back, or `pagefold rebuild 'a b.toml'` obeys the job")
        );
        let set = Given::set("extract.main_text=false");
        assert!(worded(ONE, vec![set.clone(), Given::set("store=s t")]).ends_with(
            "; leave out `--set extract.main_text=false`, or `pagefold rebuild 'a b.toml' --set \
             extract.main_text=false --set 'store=s t'` makes the store anew with it"
        ));
        let limited = ONE.replace("extract.main_text = true", "read.records_max = no limit");
        assert!(worded(&limited, vec![Given::limit(3)]).ends_with(
            "; leave out `--limit 3`, or `pagefold rebuild 'a b.toml' --set read.records_max=3` \
             makes the store anew with it"
        ));
        // A rebuild of a large store was advised to be the work of one host.
        let on = Job::new(Path::new("j.toml"), &[]).on(Some(&"hosts.toml".into()));
        let said = on.with_commands("`pagefold rebuild JOB`, `pagefold verify JOB --full`");
        assert_eq!(
            said,
            "`pagefold rebuild j.toml --cluster hosts.toml`, `pagefold verify j.toml --full`"
        );
        let two = ONE.replace("; put", "; simhash.k = 3, the job says 2; put");
        assert!(worded(&two, vec![set]).contains(
            "; put back what the file says, and leave out `--set extract.main_text=false`, or "
        ));
        assert_eq!(
            worded("`pagefold verify JOB --full` says", vec![Given::set("store=s")]),
            "`pagefold verify 'a b.toml' --set store=s --full` says"
        );
        // `query` of a page that is gone said `pagefold explain JOB URL`, word for word.
        assert_eq!(
            worded("`pagefold explain JOB http://a.example/` says why", vec![]),
            "`pagefold explain 'a b.toml' http://a.example/` says why"
        );
    }
}
