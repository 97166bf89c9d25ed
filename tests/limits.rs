//! The table in `workers/LIMITS.md` names constants of the code with the values that they have.

use std::path::Path;

/// The value of a constant that is a number or a shifted one, such as `64 << 20`.
fn value(expression: &str) -> Option<u64> {
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    match expression.split_once("<<") {
        Some((n, shift)) => Some(number(n)? << number(shift)?),
        None => number(expression),
    }
}

/// Every row names constants that exist and have the value that the row says.
#[test]
fn limits_are_those_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("workers/LIMITS.md")).expect("there");
    let mut checked = 0;
    for row in page.lines().filter(|line| line.starts_with('|') && line.contains(".rs`")) {
        let constants = row.split('|').nth(2).expect("a column of constants");
        for constant in constants.split(';') {
            let words: Vec<&str> =
                constant.split_whitespace().map(|word| word.trim_matches('`')).collect();
            let [file, name, stated] = words[..] else {
                panic!("{constant:?} is not file, name and value")
            };
            let code =
                std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            let declared = code.lines().find(|line| line.contains(&format!("const {name}:")));
            let declared = declared.unwrap_or_else(|| panic!("{file} has no constant {name}"));
            let expression =
                declared.split('=').nth(1).expect("a value").trim().trim_end_matches(';');
            let value = value(expression)
                .unwrap_or_else(|| panic!("{file} {name}: {expression} is no number"));
            assert_eq!(value.to_string(), stated.replace(',', ""), "{file} {name}");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} constants");
}
