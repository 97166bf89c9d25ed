//! What `pagefold send` sends, waits for and reports.

use super::client::Server;
use super::inserts::{INBOX, members, text_of, unlike};
use super::{asked, bench, problem, row};
use crate::texts::text;
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What `pagefold send` with these arguments prints, and its exit code.
fn sent(bench: &Bench, arguments: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let mut command = Command::new(crate::workbench::pagefold());
    let output =
        command.arg("send").args(arguments).current_dir(bench.at("")).output().expect("started");
    let lines = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    (output.status.code(), lines, failure(&output.stderr))
}

/// `pagefold send` sends a file in batches and prints an answer for each row; what was not taken is
/// reported by the exit code. To send all again inserts nothing twice.
#[test]
fn rows_are_sent_from_a_file() {
    let bench = bench(8, INBOX);
    std::fs::write(bench.at("token"), "0123456789abcdef0123456789abcdef\n").expect("written");
    std::fs::set_permissions(bench.at("token"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    let server = Server::start(&bench, &["--token-file", "token"]);
    let rows: Vec<Value> =
        (0..1200).map(|n| row(&format!("http://sent.example/{n}"), &unlike(n))).collect();
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("rows.jsonl"), text.trim_end()).expect("written");
    std::fs::write(bench.at("bad.jsonl"), format!("{}\n\nno json\n", rows[0])).expect("written");
    let url = |path: &str| format!("http://{}{path}", server.at);
    let send = |arguments: &[&str]| {
        let (code, lines, _) = sent(&bench, arguments);
        (code, lines)
    };
    for expected in ["new", "identical"] {
        let (code, lines) = send(&[&url("/insert"), "rows.jsonl", "--token-file", "token"]);
        assert_eq!((code, lines.len()), (Some(0), rows.len()));
        for (line, row) in lines.iter().zip(&rows) {
            assert_eq!(
                (&line["url"], text_of(line, "verdict").as_str()),
                (&row["url"], expected),
                "{line}"
            );
        }
    }
    let (code, lines) = send(&[&url("/check"), "bad.jsonl", "--token-file", "token"]);
    assert_eq!(
        (code, lines.len(), text_of(&lines[1], "verdict")),
        (Some(65), 2, "rejected".into())
    );
    assert_eq!(send(&[&url("/check"), "rows.jsonl"]).0, Some(77));
    assert_eq!(send(&[&url("/else"), "rows.jsonl", "--token-file", "token"]).0, Some(64));
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert_eq!(members(&bench).len(), 8 + rows.len());
}

/// A row over the limit of a body ended `pagefold send` after a minute, and the rows around it were
/// lost. It is told as rejected by its line, in its place, and all others are sent, also where the
/// server takes less than a batch has.
#[test]
fn rows_that_are_too_large_are_reported() {
    let bench = bench(8, &format!("[read.limits]\nline_bytes_max = 100000\n{INBOX}"));
    let server = Server::start(&bench, &[]);
    let long = |number: u64, bytes: usize| {
        let words = unlike(number);
        words.repeat(bytes / words.len() + 1)
    };
    let rows: Vec<Value> = (0..40)
        .map(|n| {
            let text = match n {
                11 => long(n, 120_000),
                23 => long(n, 17 << 20),
                30..35 => long(n, 30_000),
                _ => unlike(n),
            };
            row(&format!("http://large.example/{n}"), &text)
        })
        .collect();
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("rows.jsonl"), text).expect("written");
    let (code, lines, said) =
        sent(&bench, &[&format!("http://{}/insert", server.at), "rows.jsonl"]);
    assert_eq!((code, lines.len()), (Some(65), rows.len()), "{said}");
    assert!(said.contains("rows.jsonl: 2 rows not taken"), "{said}");
    for (at, (line, row)) in lines.iter().zip(&rows).enumerate() {
        if at == 11 || at == 23 {
            assert_eq!(
                (&line["verdict"], &line["reason"], &line["line"]),
                (&json!("rejected"), &json!("long_line"), &json!(at + 1)),
                "{line}"
            );
        } else {
            assert_eq!((&line["url"], &line["inserted"]), (&row["url"], &json!(true)), "{line}");
        }
    }
    // Only a batch has parts.
    let body = rows[11].to_string();
    for (form, in_parts) in [("application/json", false), ("application/x-ndjson", true)] {
        let said = problem(&server.send("POST", "/check", form, body.as_bytes()), 413);
        assert_eq!(text_of(&said, "detail").contains("in parts"), in_parts, "{said}");
    }
    assert!(server.stop().success());
}

/// The lines in answers of `pagefold send` began anew with each batch. They are those of the file,
/// blank ones counted.
#[test]
fn lines_are_those_of_the_file() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &[]);
    let wrong = [3, 501, 502, 777, 1203];
    let text: String = (1..=1203)
        .map(|line| match line {
            line if wrong.contains(&line) => "no json\n".to_owned(),
            line if line % 10 == 0 => "\n".to_owned(),
            line => format!("{}\n", row(&format!("http://lines.example/{line}"), &text(line, 0))),
        })
        .collect();
    std::fs::write(bench.at("rows.jsonl"), text).expect("written");
    let (code, lines, said) = sent(&bench, &[&format!("http://{}/check", server.at), "rows.jsonl"]);
    assert_eq!((code, lines.len()), (Some(65), 1203 - 120), "{said}");
    assert!(said.contains("5 rows not taken"), "{said}");
    let rejected = lines.iter().filter_map(|line| line["line"].as_u64());
    assert_eq!(rejected.collect::<Vec<_>>(), wrong);
    assert!(server.stop().success());
}

/// `pagefold send` was silent for a minute if no server answered. Now it says at once what it waits
/// for.
#[test]
fn waiting_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("free");
    let mut child = Command::new(crate::workbench::pagefold())
        .args(["send", &format!("http://{free}/check")])
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    child.stdin.take().expect("piped").write_all(b"{}\n").expect("written");
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    said.read_line(&mut line).expect("readable");
    // Only the error at the end has an exit code.
    assert!(failure(&line).is_empty() && line.contains("tries again for a minute"), "{line}");
    assert!(line.contains(&format!("http://{free}/check: Connection refused;")), "{line}");
    child.kill().expect("killed");
    child.wait().expect("ended");
}

/// Rows for a server of the same machine went to the proxy of the environment, and the message
/// blamed the server. They go to the server; a proxy for others is named.
#[test]
fn a_proxy_is_for_other_machines() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("free");
    let send = |url: &str| {
        let mut command = Command::new(crate::workbench::pagefold());
        command
            .args(["send", url])
            .env_remove("RUST_LOG")
            .env("http_proxy", format!("http://{free}"));
        for name in ["no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY"]
        {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let row = asked(1)[0].to_string();
        child.stdin.take().expect("piped").write_all(row.as_bytes()).expect("written");
        child
    };
    let output = send(&format!("http://{}/check", server.at)).wait_with_output().expect("ended");
    assert!(output.status.success(), "{}", failure(&output.stderr));
    let mut child = send("http://other.example/check");
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    said.read_line(&mut line).expect("readable");
    assert!(line.contains(&format!("/check through the proxy {free}: ")), "{line}");
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(server.stop().success());
}

/// `pagefold send` told rows as rejected at once that a full inbox did not take, and the file had
/// to be sent again. It waits until a run has taken the inbox, says so, and answers stay in order.
#[test]
fn a_full_inbox_is_waited_for() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &["--inbox-mib", "1", "--seal-seconds", "1"]);
    let rows: Vec<Value> =
        (0..1200).map(|n| row(&format!("http://many.example/{n}"), &unlike(n))).collect();
    std::fs::write(bench.at("rows.jsonl"), super::lines(&rows)).expect("written");
    let child = Command::new(crate::workbench::pagefold())
        .args(["send", &format!("http://{}/insert", server.at), "rows.jsonl"])
        .current_dir(bench.at(""))
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let ended = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                bench.run_well(&[]);
                thread::sleep(Duration::from_millis(500));
            }
        });
        let output = child.wait_with_output();
        ended.store(true, Ordering::SeqCst);
        output.expect("ended")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("the inbox is full; tries again"), "{said}");
    let answers = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(answers.lines().count(), rows.len());
    for (answer, row) in answers.lines().zip(&rows) {
        let answer: Value = serde_json::from_str(answer).expect("JSON");
        assert_eq!((&answer["url"], &answer["inserted"]), (&row["url"], &json!(true)), "{answer}");
    }
    assert!(server.stop().success());
}

/// The answers about rows that a server had inserted before its inbox was full were lost if the
/// server then went: sent again, a new text is `identical`. They are printed before the wait.
#[test]
fn answers_before_a_wait_are_printed() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &["--inbox-mib", "1"]);
    let rows: Vec<Value> =
        (0..1200).map(|n| row(&format!("http://many.example/{n}"), &unlike(n))).collect();
    std::fs::write(bench.at("rows.jsonl"), super::lines(&rows)).expect("written");
    let mut child = Command::new(crate::workbench::pagefold())
        .args(["send", &format!("http://{}/insert", server.at), "rows.jsonl"])
        .current_dir(bench.at(""))
        .env_remove("RUST_LOG")
        .stdout(std::fs::File::create(bench.at("answers.jsonl")).expect("made"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    said.read_line(&mut line).expect("readable");
    assert!(line.contains("the inbox is full; tries again"), "{line}");
    child.kill().expect("killed");
    child.wait().expect("ended");
    let answers = std::fs::read_to_string(bench.at("answers.jsonl")).expect("UTF-8");
    let inserted = answers.lines().filter(|line| line.contains("\"inserted\":true")).count();
    assert!(inserted > 100 && inserted == server.figure("pagefold_serve_inbox_records") as usize);
    server.kill();
}

/// A URL without its path ended with the JSON of the server and no remedy, and https to a server of
/// http with a minute of tries and the advice to try again.
#[test]
fn a_wrong_url_is_reported() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    std::fs::write(bench.at("rows.jsonl"), format!("{}\n", asked(1)[0])).expect("written");
    for (url, wanted) in [
        (format!("http://{}", server.at), "/check, /insert or /remove"),
        (format!("http://{}/chek", server.at), "/check, /insert or /remove"),
        (format!("https://{}/check", server.at), "write http://"),
    ] {
        let (code, lines, said) = sent(&bench, &[&url, "rows.jsonl"]);
        assert_eq!((code, lines.len()), (Some(64), 0), "{said}");
        assert!(said.starts_with(&format!("{url}: ")) && said.contains(wanted), "{said}");
    }
    assert!(server.stop().success());
}

/// A proxy that redirected lost the rows, with exit code 0: a redirected POST becomes a GET without
/// a body, and the page that answered it was printed. Of an answer without a body the message was
/// the URL and nothing else.
#[test]
fn rows_are_not_lost_behind_a_proxy() {
    let bench = bench(8, "");
    std::fs::write(bench.at("rows.jsonl"), format!("{}\n", asked(1)[0])).expect("written");
    let proxy = TcpListener::bind("127.0.0.1:0").expect("free");
    let url = format!("http://{}/check", proxy.local_addr().expect("an address"));
    let replies = [
        "301 Moved Permanently\r\nLocation: https://a.example/check\r\nContent-Length: 0",
        "302 Found\r\nLocation: https://a.example/check\r\nContent-Length: 0",
        "200 OK\r\nContent-Length: 13",
        "200 OK\r\nContent-Length: 0",
        "204 No Content",
    ];
    let answering = thread::spawn(move || {
        for reply in replies {
            let (mut client, _) = proxy.accept().expect("a client");
            let head = BufReader::new(client.try_clone().expect("a socket")).lines();
            let is_last =
                |line: &std::io::Result<String>| matches!(line.as_deref(), Ok("") | Err(_));
            head.take_while(|line| !is_last(line)).for_each(drop);
            let page = if reply.ends_with("13") { "<html></html>" } else { "" };
            let reply = format!("HTTP/1.1 {reply}\r\nConnection: close\r\n\r\n{page}");
            client.write_all(reply.as_bytes()).expect("written");
            client.shutdown(Shutdown::Write).expect("ended");
            // What else the client sends is read, because otherwise the reply might be lost.
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
    let elsewhere = "it redirects to https://a.example/check; write that address";
    let other = "it does not answer rows as `pagefold serve` does";
    for wanted in [elsewhere, elsewhere, other, other, "it answers 204 without a word"] {
        let (code, lines, said) = sent(&bench, &[&url, "rows.jsonl"]);
        assert!((code, lines.len()) == (Some(64), 0) && said.contains(wanted), "{said}");
    }
    answering.join().expect("no panic");
}

/// `pagefold send` waited for the end of a pipe, or for 500 rows of it, before it sent any. It
/// sends what it has if no row follows for a while.
#[test]
fn rows_of_an_open_pipe_are_sent() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let mut child = Command::new(crate::workbench::pagefold())
        .args(["send", &format!("http://{}/check", server.at)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut pipe = child.stdin.take().expect("piped");
    let mut answers = BufReader::new(child.stdout.take().expect("piped")).lines();
    for n in 0..2 {
        let url = format!("http://pipe.example/{n}");
        writeln!(pipe, "{}", row(&url, &text(n, 0))).expect("written");
        let answer = answers.next().expect("an answer").expect("UTF-8");
        assert!(answer.contains(&url), "{answer}");
    }
    drop(pipe);
    assert!(answers.next().is_none() && child.wait().expect("ended").success());
    assert!(server.stop().success());
}

/// A server that answered 503 was asked again for minutes without a word. Its reason is printed at
/// once, and the rows are sent again.
#[test]
fn a_busy_server_is_reported() {
    let bench = bench(8, "");
    std::fs::write(bench.at("rows.jsonl"), "{}\n").expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").expect("free");
    let url = format!("http://{}/check", listener.local_addr().expect("an address"));
    let replies = ["503 Service Unavailable\r\nRetry-After: 0", "200 OK"];
    let answering = thread::spawn(move || {
        for (reply, body) in
            replies.into_iter().zip(["it opens its store", "{\"verdict\":\"new\"}"])
        {
            let (mut client, _) = listener.accept().expect("a client");
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 {reply}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            client.write_all(reply.as_bytes()).expect("written");
            client.shutdown(Shutdown::Write).expect("ended");
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
    let output = Command::new(crate::workbench::pagefold())
        .args(["send", &url, "rows.jsonl"])
        .current_dir(bench.at(""))
        .env_remove("RUST_LOG")
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout.starts_with(b"{\"verdict\""), "{said}");
    assert!(said.contains("it opens its store; sends the rows up to"), "{said}");
    answering.join().expect("no panic");
}

/// `-` was taken for a file of that name. It is stdin, for `send` and for `query`.
#[test]
fn a_dash_is_stdin() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let url = format!("http://{}/check", server.at);
    for arguments in [&["send", &url, "-"][..], &["query", "job.toml", "-", "--json"]] {
        let mut child = Command::new(crate::workbench::pagefold())
            .args(arguments)
            .current_dir(bench.at(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        // One that reads a file of that name has ended.
        let _ = child.stdin.take().expect("piped").write_all(asked(1)[0].to_string().as_bytes());
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(text_of(&answer, "verdict"), "identical", "{arguments:?}");
    }
    assert!(server.stop().success());
}

/// A compressed file was sent as it is, and hundreds of rows of it were rejected. Nothing is sent,
/// and the message has the command that unpacks it, which works. It lacked the token file.
#[test]
fn a_compressed_file_is_reported() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let rows: String = asked(12).iter().map(|row| format!("{row}\n")).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(rows.as_bytes()).expect("in memory");
    std::fs::write(bench.at("my rows.gz"), encoder.finish().expect("in memory")).expect("written");
    let packed = zstd::encode_all(rows.as_bytes(), 1).expect("in memory");
    std::fs::write(bench.at("rows.zst"), packed).expect("written");
    let url = format!("http://{}/check", server.at);
    for (file, wanted) in [
        ("my rows.gz", format!("`gzip -dc < 'my rows.gz' | pagefold send {url}`")),
        ("rows.zst", format!("`zstd -dc < rows.zst | pagefold send {url}`")),
    ] {
        let (code, lines, said) = sent(&bench, &[&url, file]);
        assert_eq!((code, lines.len()), (Some(65), 0), "{said}");
        assert!(said.contains(&wanted), "{said}");
        if file.ends_with("gz") {
            let advised = said.split('`').nth(1).expect("a command");
            let advised = advised.replace("pagefold", "\"$0\"");
            let output = Command::new("sh")
                .args(["-ec", &advised, &crate::workbench::pagefold()])
                .current_dir(bench.at(""))
                .output()
                .expect("started");
            assert_eq!(output.stdout.split(|byte| *byte == b'\n').count(), 13, "{output:?}");
        }
    }
    std::fs::write(bench.at("token"), "0123456789abcdef0123456789abcdef\n").expect("written");
    std::fs::set_permissions(bench.at("token"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    let (_, _, said) = sent(&bench, &[&url, "rows.zst", "--token-file", "token"]);
    assert!(said.contains(&format!("pagefold send {url} --token-file token`")), "{said}");
    assert!(server.stop().success());
}
