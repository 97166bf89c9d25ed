//! Job files: TOML to `job::Job` to its check.
//!
//! Input: the job file. No file that it names is opened.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use workers::job::Job;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = str::from_utf8(input) else { return };
    let job: Job = match toml::from_str(text) {
        Ok(job) => job,
        Err(error) => {
            let error: toml::de::Error = error;
            assert!(!error.message().is_empty());
            // The text before the error gives the line.
            assert!(
                error.span().is_none_or(|span| text.is_char_boundary(span.start.min(text.len()))),
                "{error:?}"
            );
            return;
        }
    };
    let wrongs = job.wrongs();
    if !wrongs.is_empty() {
        return assert!(
            wrongs.iter().all(|wrong| !wrong.key.is_empty() && !wrong.why.is_empty()),
            "{wrongs:?}"
        );
    }
    job.bands().expect("a checked job has bands");
    job.read.options("").check().expect("a checked job's reader can be obeyed");
    if job.files().next().is_none() {
        assert_eq!(
            job.identity().expect("nothing to read"),
            job.identity().expect("nothing to read")
        );
    }
    let written = toml::to_string(&job).expect("a job can be written");
    assert_eq!(toml::from_str::<Job>(&written).as_ref(), Ok(&job), "written and read again");
    let placed = job.relative_to(Path::new("/nowhere/jobs"));
    assert_eq!(
        placed.wrongs(),
        [],
        "sound wherever its file lies: {:?} {:?}",
        placed.store,
        placed.output.dir
    );
    assert!(placed.store.is_absolute() && placed.output.dir.is_absolute());
    assert_eq!(
        placed.clone().relative_to(Path::new("/elsewhere")),
        placed,
        "an absolute path stays"
    );
});
