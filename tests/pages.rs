//! The pages beside the code, and the table of where things are, name files that exist.

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
