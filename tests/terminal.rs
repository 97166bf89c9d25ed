use crate::texts::crawl;
use crate::workbench::{Bench, demo_inputs, failure, skip};
use serde_json::Value;
use std::process::{Command, Output};

/// Runs a command on a pseudo-terminal of 24 lines, and prints what it writes there.
const TERMINAL: &str = "
import fcntl, os, pty, struct, subprocess, sys, termios
terminal, inner = pty.openpty()
fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
process = subprocess.Popen(sys.argv[2:], stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
os.close(inner)
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    sys.stdout.buffer.write(part)
sys.exit(process.wait())
";

/// What a terminal shows.
struct Screen {
    /// The lines at the end, without colours.
    lines: Vec<String>,
    /// Every line that was erased, as it was before.
    erased: Vec<String>,
    /// Whether something was painted.
    is_painted: bool,
}

impl Screen {
    /// Draws what was written: carriage returns, line feeds, and the escape sequences that a bar
    /// needs. Another sequence fails the test.
    fn of(written: &str) -> Screen {
        let mut screen =
            Screen { lines: vec![String::new()], erased: Vec::new(), is_painted: false };
        let (mut row, mut column) = (0, 0);
        let mut rest = written.chars();
        while let Some(c) = rest.next() {
            match c {
                '\r' => column = 0,
                '\n' => {
                    (row, column) = (row + 1, 0);
                    if row == screen.lines.len() {
                        screen.lines.push(String::new());
                    }
                }
                '\x1b' => {
                    assert_eq!(rest.next(), Some('['), "{written:?}");
                    let numbers: String =
                        rest.clone().take_while(|c| !c.is_ascii_alphabetic()).collect();
                    let kind = rest.nth(numbers.len()).expect("a whole sequence");
                    match (numbers.as_str(), kind) {
                        (_, 'm') => screen.is_painted = true,
                        ("2", 'K') => screen.erased.push(std::mem::take(&mut screen.lines[row])),
                        (n, 'A') => row -= n.parse::<usize>().unwrap_or(1),
                        (n, 'B') => row += n.parse::<usize>().unwrap_or(1),
                        other => panic!("a sequence that the test does not know: {other:?}"),
                    }
                }
                c => {
                    let mut line: Vec<char> = screen.lines[row].chars().collect();
                    line.resize(line.len().max(column + 1), ' ');
                    line[column] = c;
                    column += 1;
                    screen.lines[row] = line.into_iter().collect();
                }
            }
        }
        screen
    }

    fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n")
    }
}

/// What a command shows on a terminal of this many columns; none without python3. It must succeed.
fn shown(columns: usize, command: &Command) -> Option<Screen> {
    shown_to_end(columns, command, 0)
}

/// [`shown`] by a command that must end with `code`.
fn shown_to_end(columns: usize, command: &Command, code: i32) -> Option<Screen> {
    let mut python = Command::new("python3");
    python
        .args(["-c", TERMINAL, &columns.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    python
        .current_dir(command.get_current_dir().expect("a folder"))
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    let Ok(output) = python.output() else {
        skip("python3");
        return None;
    };
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stdout));
    Some(Screen::of(std::str::from_utf8(&output.stdout).expect("UTF-8")))
}

/// What a command that is not on a terminal writes: no escape sequence, no carriage return, and on
/// stderr JSON lines alone.
fn written(output: &Output) -> String {
    for bytes in [&output.stdout, &output.stderr] {
        assert!(
            !bytes.contains(&b'\x1b') && !bytes.contains(&b'\r'),
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(
            line["level"].is_string() && (line["message"].is_string() || line["stage"].is_string()),
            "{line}"
        );
    }
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The report without the figures that differ from run to run.
fn settled(report: &str) -> String {
    let lines = report.trim_end().lines().filter(|line| !line.starts_with("took "));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The bar of a run fits the terminal, with a column to spare, and is gone at the end: what stays
/// is the report as a pipe has it.
#[test]
fn the_bar_of_a_run() {
    let crawl = crawl(4, 400, 300);
    let piped = Bench::new(crawl.path(), "");
    let report = settled(&written(&piped.run(&[])));
    for columns in [80, 40, 12] {
        let bench = Bench::new(crawl.path(), "");
        let Some(screen) = shown(columns, &bench.command(&[])) else { return };
        assert_eq!(settled(&screen.text()), report, "{columns} columns");
        let bars: Vec<&String> =
            screen.erased.iter().filter(|line| !line.trim().is_empty()).collect();
        assert!(!bars.is_empty(), "{columns} columns: no bar");
        for bar in &bars {
            // Behind a line stand spaces up to the last column.
            let bar_columns = bar.trim_end().chars().count();
            assert!(
                bar_columns < columns && bar.len() <= columns && bar.is_ascii(),
                "{columns} columns: {bar:?}"
            );
        }
        if columns >= 40 {
            // Which stages are shown depends on how long each takes.
            assert!(bars.iter().any(|bar| bar.contains(" [")), "{bars:?}");
        }
        println!("{columns} columns: {bars:#?}");
    }
}

/// What commands answer is the same text on every terminal as in a pipe, so that nothing of a URL
/// is cut: a narrow terminal wraps it. On a terminal `explain` has colours too, unless `NO_COLOR`
/// is set or the terminal is dumb; nothing else is painted.
#[test]
fn answers_are_not_cut() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let pair = bench
        .lines("pairs")
        .into_iter()
        .find(|pair| pair["accepted"] == true)
        .expect("an accepted pair");
    let [a, b] = ["a_url", "b_url"].map(|key| pair[key].as_str().expect("a URL").to_owned());
    let commands: [(&str, &[&str]); 6] = [
        ("status", &[]),
        ("status", &["--tables", "--pivots"]),
        ("explain", &[&a]),
        ("explain", &[&a, &b]),
        ("query", &["--url", &a, "--all"]),
        ("verify", &[]),
    ];
    for (name, arguments) in commands {
        let piped = written(&bench.pagefold(name, arguments));
        let lines = |text: &str| -> Vec<String> {
            // How long ago something was depends on when one looks.
            let is_settled = |line: &&str| !line.contains(" ago");
            text.trim_end()
                .lines()
                .filter(is_settled)
                .map(|line| line.trim_end().to_owned())
                .collect()
        };
        for columns in [80, 40] {
            let Some(screen) = shown(columns, &bench.other(name, arguments)) else { return };
            assert_eq!(
                lines(&screen.text()),
                lines(&piped),
                "{name} {arguments:?}, {columns} columns"
            );
            assert_eq!(screen.is_painted, name == "explain", "{name} {arguments:?}");
        }
        for (variable, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let mut command = bench.other(name, arguments);
            let Some(screen) = shown(80, command.env(variable, value)) else { return };
            assert!(!screen.is_painted, "{name} {arguments:?} with {variable}={value}");
        }
    }
}

/// Off a terminal nothing is painted or drawn: a run logs JSON lines on stderr, `--json` gives one
/// object on stdout, and a failure is a line of the log.
#[test]
fn no_terminal() {
    let bench = Bench::new(&demo_inputs(), "");
    let json = written(&bench.run(&["--json"]));
    assert_eq!(json.lines().count(), 1);
    assert!(serde_json::from_str::<Value>(&json).expect("JSON")["pages"].is_u64(), "{json}");
    let output = bench.pagefold("explain", &["http://nowhere.example/"]);
    assert_eq!((output.status.code(), written(&output)), (Some(66), String::new()));
    assert!(
        failure(&output.stderr).starts_with("http://nowhere.example/: the store has no such page"),
        "{output:?}"
    );
}

/// On a terminal an error is plain text for people, a line for each mistake, with `--json` too.
#[test]
fn errors_on_a_terminal() {
    let bench = Bench::new(&demo_inputs(), "[simhash]\nk = 9\nbnads = 4\n");
    for arguments in [&[][..], &["--json"]] {
        let Some(screen) = shown_to_end(80, &bench.other("status", arguments), 78) else { return };
        let text = screen.text();
        let lines: Vec<&str> =
            text.lines().filter(|line| line.starts_with("pagefold: job.toml:")).collect();
        assert!(lines.len() == 2 && !text.contains('{') && !screen.is_painted, "{text}");
    }
}
