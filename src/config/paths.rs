//! Paths that would not be the place that the user meant.
//!
//! No shell reads the file, so `~` and `$HOME` would become folders of these names, and
//! `s3://bucket` a folder `s3:`.

use std::path::Path;

/// Schemes that people write without `//` as well.
const SCHEMES: [&str; 8] = ["s3", "gs", "hf", "http", "https", "file", "ftp", "hdfs"];

/// Why `path` cannot be read, with the remedy.
pub fn reading(path: &str) -> Option<String> {
    let remedy = |scheme: &str| match scheme {
        "file" => "write the path alone, without file:",
        "s3" => "copy it first (aws s3 cp, s5cmd cp), or mount it",
        "hf" => "copy it first (hf download)",
        "http" | "https" | "ftp" => "copy it first (curl -O)",
        _ => "copy it first, or mount it",
    };
    scheme(path)
        .map(|of| format!("only local files are read; {}", remedy(&of)))
        .or_else(|| unexpanded(path))
}

/// Why nothing can be written at `path`, with the remedy.
pub fn writing(path: &str) -> Option<String> {
    let remedy = |scheme: &str| match scheme {
        "file" => "write the path alone, without file:",
        _ => "name a local folder, and copy it after the run",
    };
    scheme(path)
        .map(|of| format!("only local files are written; {}", remedy(&of)))
        .or_else(|| unexpanded(path))
}

fn scheme(path: &str) -> Option<String> {
    let (scheme, rest) = path.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    let fits = scheme.len() > 1
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (fits && (rest.starts_with("//") || SCHEMES.contains(&scheme.as_str()))).then_some(scheme)
}

fn unexpanded(path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix('~') {
        let home = std::env::var("HOME")
            .ok()
            .filter(|home| rest.is_empty() || (rest.starts_with('/') && !home.is_empty()));
        let remedy =
            home.map_or("write the folder out".into(), |home| format!("write {home}{rest}"));
        return Some(format!("~ is not expanded here; {remedy}"));
    }
    // It is no slip if it is there, as the paths that `init` writes.
    if Path::new(path).is_absolute() && Path::new(path).exists() {
        return None;
    }
    let variable = path.match_indices('$').any(|(at, _)| {
        path[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || "_{(".contains(c))
    });
    variable.then(|| {
        "variables are not expanded here; write the path out, or have the shell expand it (of a job by --set; not in single quotes)".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs, `~` and variables are refused with a remedy; odd names of local files are not.
    #[test]
    fn what_is_refused() {
        for (path, word) in [
            ("s3://bucket/a.warc.gz", "aws s3 cp"),
            ("S3:/bucket", "aws s3 cp"),
            ("https://a.example/x.gz", "curl"),
            ("hf://datasets/x", "hf download"),
            ("file:///data/x", "without file:"),
            ("abfs://x", "copy it first"),
            ("~/crawl/*.gz", "~ is not expanded"),
            ("~", "~ is not expanded"),
            ("$HOME/out", "variables are not expanded"),
            ("/data/${DAY}/x", "variables are not expanded"),
        ] {
            assert!(
                reading(path).is_some_and(|why| why.contains(word)),
                "{path}: {:?}",
                reading(path)
            );
            assert!(writing(path).is_some(), "{path}");
        }
        for path in [
            "",
            ".",
            "a:b.jsonl",
            "c:/x",
            "2026-05-01T10:00/x.gz",
            "a~",
            "./~",
            "cost$.jsonl",
            "5$ 1",
        ] {
            assert_eq!((reading(path), writing(path)), (None, None), "{path}");
        }
    }
}
