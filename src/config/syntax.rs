//! Says where a file is not TOML, in words for a reader who does not know TOML.

use crate::config::mistake::Mistake;
use crate::config::written::{At, Lines};

/// The mistake at which the parser stopped, from the line that it stands on.
pub fn mistake(text: &str, error: &toml::de::Error) -> Mistake {
    let line = Lines::of(text).line_of(error.span().map_or(0, |span| span.start));
    let written = text.lines().nth(line - 1).unwrap_or_default().trim();
    match open_list(text, line) {
        Some((begun, false)) => {
            let shown = shown(text.lines().nth(begun - 1).unwrap_or_default().trim());
            let why = format!("`{shown}`: this bracket is not closed");
            Mistake { at: Some(At::Line(begun)), why }
        }
        Some((begun, true)) if begun < line => {
            let shown = shown(written);
            let why =
                format!("`{shown}`: in a list, each text stands in quotes, with a comma behind");
            Mistake { at: Some(At::Line(line)), why }
        }
        _ => {
            let of_table = || table_twice(text, line, written);
            let is_twice = error.message().contains("duplicate");
            let twice = is_twice.then(of_table).flatten();
            let why = twice.unwrap_or_else(|| why(written, error.message()));
            Mistake { at: Some(At::Line(line)), why }
        }
    }
}

/// The line of the list of several lines that is open at `line`, and whether it is closed before
/// the next key or table.
fn open_list(text: &str, line: usize) -> Option<(usize, bool)> {
    let is_name = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c))
    };
    // The brackets that a line opens, less those that it closes; not in texts and comments.
    let lists = |line: &str| -> i32 {
        let (mut open, mut quote, mut chars) = (0, None, line.chars());
        while let Some(c) = chars.next() {
            match quote {
                Some('"') if c == '\\' => _ = chars.next(),
                Some(end) if c == end => quote = None,
                Some(_) => {}
                None if c == '#' => break,
                None if c == '"' || c == '\'' => quote = Some(c),
                None => open += i32::from(c == '[') - i32::from(c == ']'),
            }
        }
        open
    };
    let is_key = |line: &str| line.split_once('=').is_some_and(|(name, _)| is_name(name));
    let is_table = |line: &str| {
        let name = line.trim_start_matches('[').trim_end_matches(']');
        line.starts_with('[') && line.ends_with(']') && is_name(name)
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begun = (0..line.min(lines.len())).rev().find(|&at| {
        let value = lines[at].split_once('=').map_or("", |(_, value)| value.trim_start());
        is_key(lines[at]) && value.starts_with('[') && lists(lines[at]) > 0
    })?;
    let mut open = lists(lines[begun]);
    for (at, next) in lines.iter().enumerate().skip(begun + 1) {
        if is_key(next) || is_table(next) {
            break;
        }
        open += lists(next);
        if open <= 0 {
            return (at + 1 >= line).then_some((begun + 1, true));
        }
    }
    Some((begun + 1, false))
}

/// The advice if `written`, the heading of a table on this line, is there twice. A job that
/// pagefold wrote has no visible heading: its keys are written as `table.key`.
fn table_twice(text: &str, line: usize, written: &str) -> Option<String> {
    let heading = written.split('#').next().unwrap_or(written).trim();
    let name = heading.strip_prefix('[')?.strip_suffix(']')?.trim();
    let key_of = |line: &str| Some(line.split_once('=')?.0.trim().to_owned());
    let below = text.lines().skip(line).map(str::trim).take_while(|line| !line.starts_with('['));
    let below = below.filter(|line| !line.starts_with('#')).find_map(key_of);
    let mut above = text.lines().take(line - 1).map(str::trim).zip(1..);
    let dotted = |line: &str| key_of(line).filter(|key| key.starts_with(&format!("{name}.")));
    above.find_map(|(line, number)| match dotted(line) {
        Some(key) => {
            let advice = match &below {
                Some(below) => format!("write {name}.{below} = ... below that line instead"),
                None => "take this line out".into(),
            };
            Some(format!("[{name}]: keys of it stand above as {key} (line {number}); {advice}"))
        }
        None if line.split('#').next().is_some_and(|line| line.trim() == heading) => {
            Some(format!("`{heading}` is there twice; write its keys below line {number}"))
        }
        None => None,
    })
}

/// `written`, cut if it is long.
fn shown(written: &str) -> String {
    written.chars().take(80).collect()
}

fn why(written: &str, message: &str) -> String {
    if message.contains("duplicate") {
        return format!("`{}` is there twice", written.split('=').next().unwrap_or(written).trim());
    }
    let shown = shown(written);
    let value = written.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    let is_bare = |value: &str| {
        value.starts_with(|c: char| c.is_alphabetic() || "/~.$".contains(c))
            && !value.contains(['"', '\'', '[', '{'])
    };
    let is_switch = |value: &str| {
        let words = ["yes", "no", "on", "off", "true", "false"];
        words.iter().any(|word| word.eq_ignore_ascii_case(value))
    };
    match value {
        Some((key, "")) => format!("`{key}` has no value"),
        Some((_, value)) if is_switch(value) => {
            format!("`{shown}`: write true or false, or a number; a text stands in quotes")
        }
        Some((_, value)) if value.starts_with('"') && value.contains('\\') => format!(
            "`{shown}`: in double quotes a backslash begins an escape; write / or stand it in '...'"
        ),
        Some((key, value)) if !key.is_empty() && is_bare(value) => {
            format!("`{shown}`: a text stands in quotes: {key} = \"{value}\"")
        }
        _ if shown.is_empty() => "a quote, a bracket or a brace is not closed above".into(),
        _ => format!("`{shown}` is not TOML: a line is `key = value`, `[table]` or `# comment`"),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tree;
    use crate::config::written::At;

    /// A mistake in the syntax is reported at the line where it begins, and a file that follows the
    /// advice is accepted.
    #[test]
    fn mistakes_are_reported() {
        for (text, line, expected) in [
            ("a = 1\nb = yes\n", 2, "`b = yes`: write true or false, or a number"),
            ("b = True\n", 1, "`b = True`: write true or false"),
            ("b = x\n", 1, "a text stands in quotes: b = \"x\""),
            ("d = \"C:\\data\"\n", 1, "a backslash begins an escape; write /"),
            ("a = [\n[t]\nb = 1\n", 1, "`a = [`: this bracket is not closed"),
            ("a = [\"x\",\nb = 1\n", 1, "`a = [\"x\",`: this bracket is not closed"),
            ("a = [\"x\"\n", 1, "this bracket is not closed"),
            ("a = [\n  \"x\"\n  \"y\",\n]\nb = 1\n", 3, "in a list, each text stands in quotes"),
            ("a = [\n  \"x\",\n]\nb == 1\n", 4, "is not TOML"),
            ("a = [\"x\"]\nb == 1\n", 2, "is not TOML"),
            ("a = [\"x#1/[\"]  # [\nb = yes\n", 2, "`b = yes`: write true or false"),
            ("a = 1\n\na = 2\n", 3, "`a` is there twice"),
            (
                "s = 1\nr.inputs = 2\n[r]\ncomplete = true\n",
                3,
                "[r]: keys of it stand above as r.inputs (line 2); write r.complete = ... below that \
                 line instead",
            ),
            ("r.a = 1\n[r]\n", 2, "(line 1); take this line out"),
            (
                "[r]\na = 1\n[s]\n[r] # x\nb = 2\n",
                4,
                "`[r]` is there twice; write its keys below line 1",
            ),
            ("r.f.a = 1\n[r.f]\nb = 2\n", 2, "as r.f.a (line 1); write r.f.b = ... below that"),
        ] {
            let mistake = tree::parse(text).expect_err(text);
            assert_eq!(mistake.at, Some(At::Line(line)), "{text}: {}", mistake.why);
            assert!(mistake.why.contains(expected), "{text}: {}", mistake.why);
        }
    }
}
