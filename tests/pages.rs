//! The pages beside the code, and the table of where things are, name files that exist, the list of
//! bad input names tests that exist, and rooms import what the page on architecture says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files under `folder` whose names end in `.ending`, but for hidden and built ones.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"))
    {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with('.') || name == "target" || name == "out" {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
    found
}

/// Every Rust file that a page names in backquotes is there: by its path from the top, from `src`,
/// from `workers` or from the page, or by its name alone.
#[test]
fn named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = files(root, "rs");
    let mut checked = 0;
    for page in files(root, "md") {
        let text = std::fs::read_to_string(&page).expect("readable");
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")) {
            if name.contains(char::is_whitespace) || name.contains("NAME") {
                continue;
            }
            let folder = page.parent().expect("a folder");
            let from = [root.to_owned(), root.join("src"), root.join("workers"), folder.to_owned()];
            let is_there = from.iter().any(|from| from.join(name).is_file())
                || sources.iter().any(|source| source.file_name().is_some_and(|own| own == name));
            assert!(is_there, "{} names {name}, which is not there", page.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} names");
}

/// The list of bad input named three tests that had been renamed. Every `FILE.rs::TEST` of it is
/// there.
#[test]
fn tests_of_bad_input_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = files(root, "rs");
    let list = std::fs::read_to_string(root.join("tests/bad_input.rs")).expect("readable");
    let words = list.lines().take_while(|line| line.starts_with("//"));
    let words = words.flat_map(|line| line.split([' ', ',']));
    let mut checked = 0;
    for (file, test) in words.filter_map(|word| word.split_once("::")) {
        let named =
            |source: &&PathBuf| source.ends_with(file) || source.ends_with(format!("{file}.rs"));
        let is_there = sources.iter().filter(named).any(|source| {
            let text = std::fs::read_to_string(source).expect("readable");
            text.contains(&format!("fn {test}("))
        });
        assert!(is_there, "{file} has no test {test}");
        checked += 1;
    }
    assert!(checked > 30, "only {checked} tests");
}

/// The formatter leaves comments as they are. None is wider than the code.
#[test]
fn comments_are_as_wide_as_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for source in files(root, "rs") {
        let text = std::fs::read_to_string(&source).expect("readable");
        for (line, at) in text.lines().zip(1..).filter(|(l, _)| l.trim_start().starts_with("//")) {
            assert!(line.chars().count() <= 100, "{}:{at}: {line}", source.display());
            checked += 1;
        }
    }
    assert!(checked > 10_000, "only {checked} lines");
}

/// Two messages advised `pagefold verify --deep`, which cannot be run without a job. A message
/// names `JOB`, in whose place the job of the command line is printed.
#[test]
fn commands_in_messages_name_a_job() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for source in
        files(&root.join("src"), "rs").into_iter().chain(files(&root.join("workers"), "rs"))
    {
        let text = std::fs::read_to_string(&source).expect("readable");
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for command in ["export", "gc", "rebuild", "verify"] {
                let without = format!("`pagefold {command} --");
                assert!(!line.contains(&without), "{}: {line}", source.display());
                checked += line.matches(&format!("`pagefold {command} JOB")).count();
            }
        }
    }
    assert!(checked > 10, "only {checked} commands");
}

/// Every file that the table "Where is ..." names is there, by its path from the top.
#[test]
fn files_are_where_the_table_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("CONTRIBUTING.md")).expect("readable");
    let (_, after) = page.split_once("\n## Where is ...\n").expect("the table");
    let (table, _) = after.split_once("\n## ").expect("an end");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).skip(1);
    let rows: Vec<(&str, &str)> = rows.collect();
    assert!(rows.len() >= 19, "{} rows", rows.len());
    for (what, files) in rows {
        let names = files.split('`').skip(1).step_by(2);
        let mut files = names.filter(|name| name.contains('/')).peekable();
        assert!(files.peek().is_some(), "{what}: no file");
        files.for_each(|file| assert!(root.join(file).is_file(), "{what}: no {file}"));
    }
}

/// The rooms of `workers`, each with those that it imports, by the table of its page.
fn documented_rooms(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (_, after) =
        page.split_once("| imports, besides leaves |\n|---|---|---|\n").expect("a table");
    let rows = after.lines().map_while(|line| line.strip_prefix("| `")?.strip_suffix('|'));
    let room = |row: &str| {
        let (name, rest) = row.split_once("` | ").expect("a name");
        let (_, imports) = rest.rsplit_once('|').expect("a last column");
        let imports = imports.split(',').map(|one| one.trim().to_owned());
        (name.to_owned(), imports.filter(|one| !one.is_empty()).collect())
    };
    rows.map(room).collect()
}

/// Each room of `workers` imports the rooms that the page on architecture names, and no other. Of
/// two rooms the one that is listed later may import the earlier one, so there is no circle.
#[test]
fn rooms_import_what_the_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers");
    let page = std::fs::read_to_string(root.join("README.md")).expect("readable");
    let documented = documented_rooms(&page);
    assert!(documented.len() >= 21, "only {} rooms", documented.len());
    let place = |room: &str| page.find(&format!("\n| `{room}` | "));
    for (room, imports) in &documented {
        let mut found = BTreeSet::new();
        for file in files(&root.join(room), "rs") {
            let is_test = |part: &std::ffi::OsStr| {
                let part = part.to_string_lossy();
                part.contains("test") || part.starts_with("oracle")
            };
            if file.strip_prefix(&root).expect("below").iter().any(is_test) {
                continue;
            }
            let code = std::fs::read_to_string(&file).expect("readable");
            let code = code.split("#[cfg(test)]\nmod ").next().expect("a first part");
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            for named in lines.flat_map(|line| line.split("crate::").skip(1)) {
                let name: String = named.chars().take_while(char::is_ascii_alphanumeric).collect();
                if documented.contains_key(&name) && name != *room {
                    assert!(
                        place(&name) < place(room),
                        "{room} imports {name}: {}",
                        file.display()
                    );
                    found.insert(name);
                }
            }
        }
        assert_eq!(&found, imports, "what {room} imports, and what the page says of it");
    }
}
