//! Recognises files beside a crawl that are no crawl, or are in a form that cannot be read.
//!
//! They are recognised by their first bytes or, if these say nothing, by their name. In a folder
//! they are passed by and not counted as bad records. If the job names such a file, it is refused,
//! with the command that converts it.

use crate::read::Limits;
use crate::read::codec::{Codec, without_ending};
use crate::read::shell::{beside, fed, word, written};
use crate::read::source::Source;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind of a file that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Companion {
    /// A zip archive that is no WACZ.
    Zip,
    /// Compressed by lz4 in its old form, without frames.
    Lz4,
    /// Compressed by xz.
    Xz,
    /// Compressed by bzip2.
    Bzip2,
    /// A tar archive, perhaps compressed.
    Tar,
    /// A 7-Zip archive.
    SevenZip,
    /// Comma separated values.
    Csv,
    /// Tab separated values.
    Tsv,
    /// Arrow's IPC file, also called Feather.
    Arrow,
    /// Arrow's IPC stream, as datasets of Hugging Face are saved.
    ArrowStream,
    /// An index of a crawl, CDX or CDXJ.
    Cdx,
    /// A crawler's list of the pages that its archives have.
    Pages,
    /// Something for people or for other programs: a README, a log, checksums, a list of paths.
    Notes,
}

impl Companion {
    /// The kind of a file, by its first decoded bytes and its compression.
    pub fn by_content(head: &[u8], codec: Codec) -> Option<Companion> {
        if head.get(257..262) == Some(b"ustar") {
            return Some(Companion::Tar);
        }
        let plain = match head {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Companion::Zip),
            [0x02, 0x21, 0x4c, 0x18, ..] => Some(Companion::Lz4),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Companion::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
                Some(Companion::Bzip2)
            }
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(Companion::SevenZip),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [b'F', b'E', b'A', b'1', ..] => {
                Some(Companion::Arrow)
            }
            // A stream begins with a mark and the length of a schema.
            [0xff, 0xff, 0xff, 0xff, _, _, _, 0, ..] => Some(Companion::ArrowStream),
            _ => None,
        };
        plain.filter(|_| codec == Codec::Plain).or_else(|| is_index(head).then_some(Companion::Cdx))
    }

    /// The kind of a file that begins like JSON lines, if a browser crawler wrote it beside its
    /// archives. Its list of pages has URLs and even texts, which the archives have, too.
    pub fn in_json(head: &[u8], path: &Path) -> Option<Companion> {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let has =
            |name: &str| memchr::memmem::find(line, format!("\"{name}\"").as_bytes()).is_some();
        let name = path.file_name()?.to_string_lossy();
        if has("format") && has("json-pages-1.0") && !has("url") {
            Some(Companion::Pages)
        } else if has("timestamp") && has("logLevel") && has("context")
            || name.starts_with("datapackage")
        {
            Some(Companion::Notes)
        } else {
            None
        }
    }

    /// The kind of a file by its name, if its content says nothing.
    pub fn by_name(path: &Path) -> Option<Companion> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let name = without_ending(&name);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        match extension {
            "zip" => Some(Companion::Zip),
            "xz" => Some(Companion::Xz),
            "bz2" => Some(Companion::Bzip2),
            "tar" | "tgz" => Some(Companion::Tar),
            "7z" => Some(Companion::SevenZip),
            "csv" => Some(Companion::Csv),
            "tsv" => Some(Companion::Tsv),
            "arrow" | "feather" | "ipc" => Some(Companion::Arrow),
            "cdx" | "cdxj" | "idx" => Some(Companion::Cdx),
            "md" | "txt" | "rst" | "log" | "html" | "pdf" | "md5" | "sha1" | "sha256"
            | "sha512" | "asc" | "sig" | "paths" | "xml" | "yaml" | "yml" | "toml" => {
                Some(Companion::Notes)
            }
            _ => ["readme", "license", "licence", "copying", "changelog", "md5sums", "sha256sums"]
                .contains(&stem)
                .then_some(Companion::Notes),
        }
    }

    /// What it is, in words.
    pub fn what(self) -> &'static str {
        match self {
            Companion::Zip => "a zip archive",
            Companion::Lz4 => "compressed by lz4 in its old form",
            Companion::Xz => "compressed by xz",
            Companion::Bzip2 => "compressed by bzip2",
            Companion::Tar => "a tar archive",
            Companion::SevenZip => "a 7-Zip archive",
            Companion::Csv => "a table of separated values (CSV)",
            Companion::Tsv => "a table of tab separated values (TSV)",
            Companion::Arrow => "an Arrow or Feather file",
            Companion::ArrowStream => "an Arrow stream",
            Companion::Cdx => "an index of a crawl (CDX), without any text",
            Companion::Pages => "a crawler's list of pages that its archives have",
            Companion::Notes => "no crawl",
        }
    }

    /// The command that converts the file at `path` to a form that can be read; `None` if it has
    /// nothing to read.
    pub fn remedy(self, path: &Path) -> Option<String> {
        let file = word(path);
        let folder =
            path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = word(folder);
        match self {
            Companion::Zip => Some(format!("unzip {file} -d {folder}")),
            Companion::Lz4 => Some(format!("lz4 -dm {file}")),
            Companion::Xz => Some(format!("xz -dk {file}")),
            Companion::Bzip2 => Some(format!("bzip2 -dk {file}")),
            // tar knows the other codecs itself.
            Companion::Tar if path.extension().is_some_and(|ending| ending == "lz4") => {
                Some(format!("lz4 -dc {file} | tar -xkf - -C {folder}"))
            }
            // Without `k` it would overwrite files of these names.
            Companion::Tar => Some(format!("tar -xkf {file} -C {folder}")),
            Companion::SevenZip => Some(format!("7z x {file} -o{folder}")),
            Companion::Csv => Some(rows(path, "")),
            Companion::Tsv if has_literal_quotes(path) => {
                Some(rows(path, ", delimiter=\"\\t\", quoting=csv.QUOTE_NONE"))
            }
            Companion::Tsv => Some(rows(path, ", delimiter=\"\\t\"")),
            Companion::Arrow => Some(format!(
                "python3 -c 'import sys, pyarrow.feather as f, pyarrow.parquet as p; \
                 p.write_table(f.read_table(sys.argv[1]), sys.argv[2])' {file} {}",
                word(&beside(path, "parquet"))
            )),
            Companion::ArrowStream => Some(format!(
                "python3 -c 'import sys, pyarrow as a, pyarrow.parquet as p; \
                 p.write_table(a.ipc.open_stream(a.memory_map(sys.argv[1])).read_all(), sys.argv[2])' \
                 {file} {}",
                word(&beside(path, "parquet"))
            )),
            Companion::Cdx | Companion::Pages | Companion::Notes => None,
        }
    }

    /// One line about the file at `path`: what it is, and what to do.
    pub fn line(self, path: &Path) -> String {
        let what = format!("{} is {}", path.display(), self.what());
        match self.remedy(path) {
            Some(remedy) => format!("{what}, which is not read as it is: run {remedy}"),
            None if path.extension().is_some_and(|of| of.eq_ignore_ascii_case("html")) => format!(
                "{what}: HTML is read from WARC, or from rows of JSON lines and Parquet with the \
                 fields `url` and `html`"
            ),
            None => format!("{what}: name the files of the crawl, or their folder"),
        }
    }
}

/// The most bytes of a table that are searched for quotes.
const TABLE_BYTES_MAX: usize = 1 << 20;

/// Whether quotes are text in the table of tab separated values at `path`: a cell begins with a
/// quote and does not end with one, but every line has as many cells as the first. If quotes
/// enclosed cells, a cell with a line end would leave lines with fewer cells.
fn has_literal_quotes(path: &Path) -> bool {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let Ok(mut source) = Source::open(path, 0, bytes, &Limits::default()) else { return false };
    let Ok(head) = source.fill(TABLE_BYTES_MAX) else { return false };
    // The last line may be cut.
    let lines = head.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let (mut columns, mut is_any_open) = (None, false);
    for line in lines.map(|line| line.strip_suffix(b"\r\n").unwrap_or(&line[..line.len() - 1])) {
        let cells: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        is_any_open |= cells.iter().any(|cell| is_open(cell));
        if !line.is_empty() && *columns.get_or_insert(cells.len()) != cells.len() {
            return false;
        }
    }
    is_any_open
}

/// Whether a quote begins the cell and no quote ends it. Two quotes in a row stand for one in the
/// text.
fn is_open(cell: &[u8]) -> bool {
    let Some(rest) = cell.strip_prefix(b"\"") else { return false };
    let closing = rest.iter().rev().take_while(|byte| **byte == b'"').count();
    closing % 2 == 0
}

/// The command that converts a table to JSON lines, with Python's reader called with `arguments`.
/// Cells may be longer than the reader's usual limit, and Excel writes a byte order mark. A quote
/// without its end is an error, because the next rows would become part of the cell.
fn rows(path: &Path, arguments: &str) -> String {
    let program = format!(
        "python3 -c 'import csv, json, sys; csv.field_size_limit(sys.maxsize); \
         sys.stdin.reconfigure(encoding=\"utf-8-sig\", newline=\"\"); \
         [print(json.dumps(row)) for row in csv.DictReader(sys.stdin, strict=True{arguments})]'"
    );
    written(&fed(&program, path), &beside(path, "jsonl"))
}

/// Whether a text begins as an index does: the legend of CDX, or a line of a key such as
/// `org,example)/path`, digits of a time, and more.
fn is_index(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    if line.starts_with(b" CDX ") || line.starts_with(b"CDX ") {
        return true;
    }
    let (key, time) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    key.windows(2).any(|pair| pair == b")/")
        && (4..=17).contains(&time.len())
        && time.iter().all(u8::is_ascii_digit)
        && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::gzip;
    use std::process::Command;

    /// Companions are recognised by their content under any name, and otherwise by their name. A
    /// crawl with an odd name or beginning is no companion.
    #[test]
    fn companions_are_known() {
        let content = |head: &[u8]| Companion::by_content(head, Codec::Plain);
        let mut zip = b"PK\x03\x04".to_vec();
        zip.resize(30, 0);
        assert_eq!(content(&[&zip[..], b"a.warc.gz"].concat()), Some(Companion::Zip));
        let mut tar = vec![0; 257];
        tar.extend(b"ustar\x0000");
        assert_eq!(Companion::by_content(&tar, Codec::Gzip), Some(Companion::Tar));
        assert_eq!(content(b" CDX N b a m s k r M S V g\n"), Some(Companion::Cdx));
        assert_eq!(content(b"com,example)/ 20240101000000 {\"url\": 1}\n"), Some(Companion::Cdx));
        assert_eq!(content(b"\x02\x21\x4c\x18rest"), Some(Companion::Lz4));
        let json = |head: &str, name: &str| Companion::in_json(head.as_bytes(), Path::new(name));
        let pages =
            "{\"format\": \"json-pages-1.0\", \"id\": \"pages\", \"title\": \"All Pages\"}\n{}";
        assert_eq!(json(pages, "x"), Some(Companion::Pages));
        let log = "{\"timestamp\":\"2024\",\"logLevel\":\"info\",\"context\":\"general\",\"message\":\"m\"}";
        assert_eq!(json(log, "x.jsonl"), Some(Companion::Notes));
        assert_eq!(json("{\n", "in/datapackage.json"), Some(Companion::Notes));
        for rows in [
            "{\"url\":\"a\",\"format\":\"json-pages-1.0\"}",
            "{\"timestamp\":1,\"text\":\"logLevel\"}",
            "{",
        ] {
            assert_eq!(json(rows, "x.jsonl"), None);
        }
        for crawl in
            [&b"WARC/1.0\r\n"[..], b"{\"url\":1}", b"filedesc://x 0 0", b"PAR1", b"a (b)/c d"]
        {
            assert_eq!(content(crawl), None);
        }
        let names = [
            ("a.cdx.lz4", Some(Companion::Cdx)),
            ("in/README", Some(Companion::Notes)),
            ("a.cdx.gz", Some(Companion::Cdx)),
            ("table.CSV", Some(Companion::Csv)),
            ("x.warc.gz", None),
            ("part-00000", None),
        ];
        names.into_iter().for_each(|(name, what)| {
            assert_eq!(Companion::by_name(Path::new(name)), what, "{name}")
        });
    }

    /// Rows of a table were merged where a cell began with a quote that was text. Each command does
    /// its task on ordinary files: with long cells, tabs, a byte order mark, compression. It
    /// overwrites no file.
    #[test]
    fn commands_do_what_they_say() {
        let has = |words: &[&str]| {
            let run = Command::new(words[0]).args(&words[1..]).output();
            run.is_ok_and(|output| output.status.success())
        };
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let bash = |command: &str| {
            Command::new("bash").args(["-c", command]).output().expect("bash is there")
        };
        let play = |name: &str, made: &str| {
            let (path, made) = (at(name), at(made));
            let bytes = path.metadata().expect("written").len();
            let what = super::super::companion(&path, bytes).expect("readable").expect("known");
            let output = bash(&what.remedy(&path).expect("a command"));
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            std::fs::read(made).expect("made")
        };
        let lacks = |what: &str| {
            assert!(std::env::var("PAGEFOLD_REQUIRE").as_deref() != Ok("all"), "it lacks {what}");
            eprintln!("a part of this test cannot run here: it lacks {what}");
        };
        if has(&["python3", "--version"]) {
            let long = "x".repeat(200_000);
            let lines = |bytes: Vec<u8>| -> Vec<serde_json::Value> {
                let text = String::from_utf8(bytes).expect("UTF-8");
                text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
            };
            let csv = format!("\u{feff}url,text\r\nhttp://a.example/,\"{long}, \r\nb\"\r\n");
            std::fs::write(at("a.csv"), &csv).expect("written");
            std::fs::write(at("a.jsonl"), "mine").expect("written");
            let row = &lines(play("a.csv", "a-2.jsonl"))[0];
            assert_eq!(row["url"], "http://a.example/");
            assert_eq!(row["text"], format!("{long}, \r\nb"));
            assert_eq!(std::fs::read(at("a.jsonl")).expect("readable"), b"mine");
            std::fs::write(at("b.tsv"), "url\ttext\nu\ta, b\n").expect("written");
            assert_eq!(lines(play("b.tsv", "b.jsonl"))[0]["text"], "a, b");
            let literal =
                "id\ttext\n1\t\"Hello, she said\n2\tsecond\n3\ta \"quoted\" one\n4\tfourth\n";
            std::fs::write(at("d.tsv"), literal).expect("written");
            let rows = lines(play("d.tsv", "d.jsonl"));
            assert_eq!((rows.len(), &rows[0]["text"]), (4, &"\"Hello, she said".into()));
            std::fs::write(at("e.tsv"), "id\ttext\n1\t\"a\nb\"\n2\tc\n").expect("written");
            let rows = lines(play("e.tsv", "e.jsonl"));
            assert_eq!((rows.len(), &rows[0]["text"]), (2, &"a\nb".into()));
            std::fs::write(at("c.csv.gz"), gzip(b"url,text\nu,t\n")).expect("written");
            assert_eq!(lines(play("c.csv.gz", "c.jsonl"))[0]["text"], "t");
            // The rows before a bad one had the name of the whole, and the next run read them.
            let bad = [b"url,text\n".repeat(5000), b"u,\xd6\xd0\n".to_vec()].concat();
            std::fs::write(at("f.csv"), bad).expect("written");
            assert!(
                !bash(&Companion::Csv.remedy(&at("f.csv")).expect("a command")).status.success()
            );
            assert!(!at("f.jsonl").exists());
        } else {
            lacks("python3");
        }
        if has(&["python3", "-c", "import pyarrow.feather, pyarrow.parquet"]) {
            let write = "import sys, pyarrow as a; t = a.table({\"text\": [\"t\"]}); n = sys.argv[1]; \
                         w = a.ipc.new_file(n + \"/f.arrow\", t.schema); w.write(t); w.close(); \
                         w = a.ipc.new_stream(n + \"/s.arrow\", t.schema); w.write(t); w.close()";
            let output = Command::new("python3").args(["-c", write]).arg(folder.path()).output();
            assert!(output.is_ok_and(|output| output.status.success()));
            assert!(play("f.arrow", "f.parquet").starts_with(b"PAR1"));
            assert!(play("s.arrow", "s.parquet").starts_with(b"PAR1"));
        } else {
            lacks("pyarrow");
        }
        std::fs::write(at("x.jsonl"), "old").expect("written");
        let output = bash(&format!("cd {} && tar -cf x.tar x.jsonl", word(folder.path())));
        assert!(output.status.success());
        std::fs::write(at("x.jsonl"), "mine").expect("written");
        bash(&Companion::Tar.remedy(&at("x.tar")).expect("a command"));
        assert_eq!(std::fs::read(at("x.jsonl")).expect("readable"), b"mine");
    }

    /// A remedy is one command whose names are quoted.
    #[test]
    fn remedies_are_commands() {
        let line = Companion::Zip.line(Path::new("in/it's.zip"));
        assert!(line.ends_with(r"run unzip 'in/it'\''s.zip' -d in"), "{line}");
        assert!(Companion::Cdx.line(Path::new("a.cdx")).contains("name the files of the crawl"));
    }
}
