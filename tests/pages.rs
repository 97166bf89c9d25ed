//! The pages beside the code name files that exist.

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
