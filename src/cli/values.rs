//! Values of the command line: each is checked, with messages in the words of the job file.

use crate::config::paths;
use crate::config::takes::Takes;
use clap::builder::{PathBufValueParser, StringValueParser, TypedValueParser};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A path that is read. A path that no shell has expanded, or a URL, would be a file that does not
/// exist, or a pattern without a match.
pub fn source() -> impl TypedValueParser<Value = PathBuf> {
    path(paths::reading)
}

/// A path that is written. A path that no shell has expanded, or a URL, would become a folder of
/// that name.
pub fn place() -> impl TypedValueParser<Value = PathBuf> {
    path(paths::writing)
}

/// The named file. `None` stands for stdin: no name, or `-`.
pub fn named_file(named: Option<&PathBuf>) -> Option<&Path> {
    named.map(PathBuf::as_path).filter(|path| *path != Path::new("-"))
}

fn path(refused: fn(&str) -> Option<String>) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| {
        // A name with such letters is accepted if it exists, or its folder does.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let is_there = path.exists() || folder.is_some_and(Path::exists);
        match path.to_str().and_then(refused).filter(|_| !is_there) {
            Some(why) => Err(why),
            None => Ok(path),
        }
    })
}

/// A whole number between two bounds; `u64::MAX` is no bound.
pub fn whole<N: TryFrom<u64> + Clone + Send + Sync + 'static>(
    least: u64,
    most: u64,
) -> impl TypedValueParser<Value = N> {
    StringValueParser::new().try_map(move |text| {
        let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        match number.and_then(|number| N::try_from(number).ok()) {
            Some(number) => Ok(number),
            None if is_whole && most == u64::MAX && !text.starts_with('0') => {
                Err("the number is too large".to_owned())
            }
            None => Err(format!("{} is wanted", Takes::Whole(least, most).wanted())),
        }
    })
}

/// The address of a socket.
pub fn socket(text: &str) -> Result<SocketAddr, String> {
    let why = "an IP address and a port are wanted, such as 127.0.0.1:7311 or [::1]:7311";
    text.parse().map_err(|_| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn why<P: TypedValueParser>(parser: P, value: &str) -> Option<String> {
        let command = clap::Command::new("x");
        let parsed = parser.parse_ref(&command, None, OsStr::new(value));
        parsed.err().map(|error| error.to_string())
    }

    /// For a number that is malformed or out of bounds the message says what is allowed, and names
    /// no type of the program.
    #[test]
    fn numbers() {
        let of = |least, most, value| why(whole::<u32>(least, most), value);
        assert_eq!(of(1, u64::MAX, "7"), None);
        for (least, most, value, expected) in [
            (1, u64::MAX, "abc", "a whole number from 1 up is wanted"),
            (1, u64::MAX, "0", "a whole number from 1 up is wanted"),
            (1, u64::MAX, "5000000000", "the number is too large"),
            (1, u64::MAX, "99999999999999999999999", "the number is too large"),
            (1, 1024, "1025", "a whole number from 1 to 1024 is wanted"),
            (0, u64::MAX, "1.5", "a whole number is wanted"),
        ] {
            let said = of(least, most, value).unwrap_or_default();
            assert!(said.contains(expected), "{value}: {said}");
        }
    }

    /// Paths that a shell should have expanded are refused, and names that are not UTF-8 are taken.
    #[test]
    fn paths_of_this_machine() {
        assert!(why(place(), "s3://b/f").is_some_and(|why| why.contains("only local files")));
        assert!(why(source(), "~/f").is_some_and(|why| why.contains("~ is not expanded")));
        assert_eq!(why(place(), "out/f"), None);
        let folder = tempfile::tempdir().expect("a folder");
        let odd = folder.path().join("a $HOME.jsonl");
        assert_eq!(why(source(), odd.to_str().expect("UTF-8")), None);
        let odd = OsStr::from_bytes(b"caf\xe9");
        let taken = source().parse_ref(&clap::Command::new("x"), None, odd);
        assert_eq!(taken.ok(), Some(PathBuf::from(odd)));
    }
}
