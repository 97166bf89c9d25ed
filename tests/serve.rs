use crate::serve::client::{Reply, Server, reply};
use crate::texts::text;
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A server and a client.
mod client;
/// Dates of what is inserted, and windows in which pages expire.
mod dates;
/// Answers that are not provisional are what the next epoch says.
mod firm;
/// Inserted records are in the inbox until a run takes them.
mod inbox;
/// Inserts are decided in one order, durable, and taken by the next epoch.
mod inserts;
/// Trials of load.
mod load;
/// `pagefold send` sends all rows, waits for the server, and tells what was not taken.
mod sending;
/// Clients that are slow, wrong, many or unknown do not keep others from being served.
mod strangers;

const NDJSON: &str = "application/x-ndjson";

/// A bench whose texts have numbered words, so that numbers refuse nothing, with an epoch of
/// `count` texts in it.
fn bench(count: u64, more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), &format!("[confirm]\nfacts = \"off\"\n{more}"));
    let rows: String = (0..count)
        .map(|n| row(&format!("http://h{}.example/{n}", n % 5), &text(n / 4, 3 * (n % 4))))
        .map(|row| format!("{row}\n"))
        .collect();
    std::fs::create_dir_all(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), rows).expect("written");
    bench.run_well(&[]);
    bench
}

fn row(url: &str, text: &str) -> Value {
    json!({ "url": url, "text": text })
}

/// Rows that are asked about: new ones, stored ones and near ones.
fn asked(count: u64) -> Vec<Value> {
    let edition = |n: u64| if n.is_multiple_of(8) { 3 } else { 2 * (n % 7) + 1 };
    (0..count).map(|n| row(&format!("http://new.example/{n}"), &text(n / 4, edition(n)))).collect()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn problem(reply: &Reply, status: u16) -> Value {
    assert_eq!(reply.status, status, "{reply:?}");
    assert!(reply.head.contains("content-type: application/problem+json"), "{reply:?}");
    let value = reply.json();
    assert_eq!(value["status"], status);
    assert!(value["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{value}");
    value
}

/// What `/check` says of a few hundred records is what `query` says, whether they come as a batch,
/// one by one, as texts or as pages.
#[test]
fn checks_are_those_of_query() {
    let bench = bench(240, "");
    let rows = asked(320);
    std::fs::write(bench.at("asked.jsonl"), lines(&rows)).expect("written");
    let output = bench.pagefold("query", &["asked.jsonl", "--json"]);
    let printed: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let server = Server::start(&bench, &[]);
    let batch = server.send("POST", "/check", NDJSON, lines(&rows).as_bytes());
    assert_eq!((batch.status, batch.head.contains(NDJSON)), (200, true), "{batch:?}");
    let answers = batch.lines();
    assert_eq!((answers.len(), printed.len()), (rows.len(), rows.len()));
    let mut verdicts = BTreeSet::new();
    for (answer, printed) in answers.iter().zip(&printed) {
        for key in [
            "url",
            "verdict",
            "representative",
            "cluster",
            "similarity",
            "reason",
            "provisional",
            "because",
        ] {
            assert_eq!(answer[key], printed[key], "{key}: {answer}");
        }
        assert_eq!(answer["inserted"], false);
        verdicts.insert(answer["verdict"].to_string());
    }
    assert_eq!(verdicts.len(), 3, "{verdicts:?}");
    for (at, row) in rows.iter().enumerate().step_by(29) {
        assert_eq!(server.post("/check", row).json(), answers[at]);
        let text = row["text"].as_str().expect("a text");
        let target = format!("/check?url=http://new.example/{at}");
        assert_eq!(
            server.send("POST", &target, "text/plain; charset=utf-8", text.as_bytes()).json(),
            answers[at]
        );
        let page = format!("<!doctype html><html><body><p>{text}</p></body></html>");
        let nameless = server.send("POST", "/check", "text/html", page.as_bytes()).json();
        assert_eq!(
            (&nameless["verdict"], &nameless["content"]),
            (&answers[at]["verdict"], &answers[at]["content"])
        );
    }
    let mixed = format!("{}\n\nno json\n{{\"text\":\"no url\"}}\n{}\n", rows[0], rows[1]);
    let mixed = server.send("POST", "/check", NDJSON, mixed.as_bytes()).lines();
    assert_eq!((&mixed[0], &mixed[3]), (&answers[0], &answers[1]));
    assert_eq!(
        (mixed[1]["line"].as_u64(), mixed[1]["reason"].as_str()),
        (Some(3), Some("bad_json"))
    );
    assert_eq!(
        (mixed[2]["verdict"].as_str(), mixed[2]["reason"].as_str()),
        (Some("rejected"), Some("no_url"))
    );
    assert!(server.stop().success());
}

/// Pages and pairs are explained as `explain` does it.
#[test]
fn explanations_are_those_of_explain() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let [a, b] = ["http://h0.example/0", "http://h1.example/1"];
    let printed = |urls: &[&str]| -> Value {
        let output = bench.pagefold("explain", &[urls, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    assert_eq!(server.get(&format!("/pages?url={a}")).json(), printed(&[a]));
    assert_eq!(server.get(&format!("/explain?url={a}&url={b}")).json(), printed(&[a, b]));
    problem(&server.get("/pages?url=http://nowhere.example/"), 404);
    problem(&server.get(&format!("/explain?url={a}")), 400);
    problem(&server.get(&format!("/pages?uri={a}")), 400);
}

/// Bytes of a query that are no UTF-8 became one character, so that pages with different URLs were
/// one page, and the second replaced the first. They are refused; in a URL they are encoded twice.
#[test]
fn urls_of_other_charsets_are_not_mixed() {
    let bench = bench(4, "");
    let server = Server::start(&bench, &[]);
    let check = |url: &str| {
        let target = format!("/check?url=http://latin.example/{url}");
        server.send("POST", &target, "text/plain", text(700, 0).as_bytes())
    };
    let said = problem(&check("caf%E9"), 400);
    assert!(said["detail"].as_str().is_some_and(|detail| detail.contains("%25E9")), "{said}");
    for (url, known) in [("caf%25E9", "caf%E9"), ("caf%25E8", "caf%E8"), ("caf%C3%A9", "caf%C3%A9")]
    {
        assert_eq!(check(url).json()["url"], format!("http://latin.example/{known}"));
    }
    problem(&server.get("/pages?url=http://latin.example/caf%E9"), 400);
    assert!(server.stop().success());
}

/// A run beside the server commits, and the server answers by the new head, without a restart.
#[test]
fn it_moves_to_a_new_head() {
    let bench = bench(40, "");
    let server = Server::start(&bench, &[]);
    assert_eq!(server.get("/readyz").json()["epoch"], 1);
    let later = row("http://later.example/", &text(900, 0));
    assert_eq!(server.post("/check", &later).json()["verdict"], "new");
    std::fs::write(bench.at("in/2.jsonl"), format!("{later}\n")).expect("written");
    bench.run_well(&[]);
    server.wait("the new head", || server.get("/readyz").json()["epoch"] == 2);
    assert_eq!(server.post("/check", &later).json()["verdict"], "identical");
    assert_eq!(server.get("/pages?url=http://later.example/").json()["epoch"], 2);
    // A head that was decided with other keys cannot answer for this job. The one before it does.
    std::fs::write(
        bench.at("in/3.jsonl"),
        format!("{}\n", row("http://last.example/", &text(901, 0))),
    )
    .expect("written");
    bench.run_well(&["--set", "confirm.similarity_min=0.9"]);
    server.wait("the news", || server.get("/readyz").status == 503);
    problem(&server.get("/readyz"), 503);
    assert_eq!(server.post("/check", &later).json()["verdict"], "identical");
    // Garbage collection takes the head that answers, and the one after it. The newest is found.
    bench.run_well(&["--set", "confirm.similarity_min=0.85"]);
    assert!(
        bench
            .pagefold("gc", &["--keep-epochs", "1", "--keep-days", "0", "--delete"])
            .status
            .success()
    );
    bench.run_well(&[]);
    server.wait("the newest head", || server.get("/readyz").json()["epoch"] == 5);
    assert!(server.stop().success());
}

/// The description of the interface names every key of an answer, and every path.
#[test]
fn the_interface_is_described() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let described = server.get("/openapi.json").json();
    for path in
        ["/check", "/insert", "/remove", "/pages", "/explain", "/metrics", "/healthz", "/readyz"]
    {
        assert!(described["paths"][path].is_object(), "{path}");
    }
    let removal = &described["paths"]["/remove"]["post"]["requestBody"];
    assert_eq!(removal["required"], false, "`?url=` needs no body");
    // A request without its URL was answered by a status that was not described.
    for path in ["/pages", "/explain"] {
        assert_eq!(server.get(path).status, 400, "{path}");
        assert!(described["paths"][path]["get"]["responses"]["4XX"].is_object(), "{path}");
    }
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let answer = server.post("/check", &asked(1)[0]).json();
    assert_eq!(keys(&described["components"]["schemas"]["Answer"]["properties"]), keys(&answer));
    let rejected = server.send("POST", "/check", NDJSON, b"x").lines();
    assert_eq!(
        keys(&described["components"]["schemas"]["Rejected"]["properties"]),
        keys(&rejected[0])
    );
}

/// A byte order mark at the beginning of a body of JSON, or of a batch, was refused with an
/// invisible sign in the message. It is accepted, as a run accepts it in a file.
#[test]
fn byte_order_marks_are_accepted() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let rows = [row("http://a.example/", &text(0, 0)), row("http://b.example/", &text(1, 0))];
    let one = server.send(
        "POST",
        "/check",
        "application/json",
        format!("\u{feff}{}", rows[0]).as_bytes(),
    );
    assert_eq!((one.status, &one.json()["verdict"]), (200, &json!("identical")), "{one:?}");
    let marked = format!("\u{feff}{}", lines(&rows));
    let batch = server.send("POST", "/check", NDJSON, marked.as_bytes()).lines();
    let verdicts: Vec<&Value> = batch.iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, ["identical", "identical"], "{batch:?}");
    std::fs::write(bench.at("rows.jsonl"), marked).expect("written");
    let url = format!("http://{}/check", server.at);
    let sent = std::process::Command::new(crate::workbench::pagefold())
        .args(["send", &url, "rows.jsonl"])
        .current_dir(bench.at(""))
        .output()
        .expect("started");
    assert!(sent.status.success(), "{sent:?}");
    assert!(server.stop().success());
}

/// A server that cannot start says why, with the exit code that fits.
#[test]
fn starts_that_fail() {
    let bench = bench(8, "");
    let failed = |arguments: &[&str]| {
        let output = bench.pagefold("serve", arguments);
        (output.status.code(), failure(&output.stderr))
    };
    let (code, said) = failed(&["--bind", "0.0.0.0:0"]);
    assert_eq!((code, said.contains("--token-file")), (Some(64), true), "{said}");
    std::fs::write(bench.at("open"), "0123456789abcdef0123456789abcdef\n").expect("written");
    std::fs::set_permissions(bench.at("open"), std::fs::Permissions::from_mode(0o644))
        .expect("set");
    let (code, said) = failed(&["--bind", "127.0.0.1:0", "--token-file", "open"]);
    assert_eq!((code, said.contains("chmod 600")), (Some(77), true), "{said}");
    let server = Server::start(&bench, &[]);
    let (code, said) = failed(&["--bind", &server.at.to_string()]);
    let wanted = format!("cannot listen on --bind {}: ", server.at);
    assert_eq!((code, said.contains(&wanted)), (Some(74), true), "{said}");
    let (code, said) = failed(&["--bind", "127.0.0.1:0", "--set", "store=nowhere"]);
    assert_eq!((code, said.contains("no store at")), (Some(66), true), "{said}");
}

/// A request that is under way when the server is told to stop is answered, and the server ends
/// well.
#[test]
fn a_stop_loses_no_answer() {
    let bench = bench(40, "");
    let server = Server::start(&bench, &[]);
    let rows = asked(60);
    let body = lines(&rows);
    let mut stream = server.connect().expect("accepted");
    let head = format!(
        "POST /check HTTP/1.1\r\nHost: {}\r\nContent-Type: {NDJSON}\r\nContent-Length: {}\r\n\r\n",
        server.at,
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("written");
    stream.write_all(&body.as_bytes()[..body.len() / 2]).expect("written");
    // It has been accepted, as one that came after it was answered.
    assert_eq!(server.get("/healthz").status, 200);
    crate::workbench::signal("TERM", &server.id().to_string());
    let refuses = || TcpStream::connect(server.at).is_err();
    server.wait("the end of listening", refuses);
    stream.write_all(&body.as_bytes()[body.len() / 2..]).expect("written");
    let answer = reply(stream).expect("an answer");
    assert_eq!((answer.status, answer.lines().len()), (200, rows.len()));
    assert!(server.ended().success());
}

/// HTTP/2 is spoken with a client that begins with its preface, also if that comes in pieces.
#[test]
fn http2_is_spoken() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let mut stream = server.connect().expect("accepted");
    for part in [&b"PR"[..], b"I * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0, 0, 0, 4, 0, 0, 0, 0, 0]] {
        stream.write_all(part).expect("written");
        assert_eq!(server.get("/healthz").status, 200);
    }
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).expect("a frame");
    assert_eq!(
        (frame[3], &frame[5..]),
        (4, &[0; 4][..]),
        "the settings of the connection: {frame:?}"
    );
}

/// The figures count requests and records, and every metric has its type and help.
#[test]
fn metrics_are_counted() {
    let bench = bench(240, "");
    let server = Server::start(&bench, &[]);
    let rows = asked(320);
    let answers = server.batch("/check", &rows);
    server.get("/else");
    let reply = server.get("/metrics");
    assert!(reply.head.contains("content-type: text/plain; version=0.0.4"), "{reply:?}");
    let value = |name: &str| server.figure(name);
    for verdict in ["new", "identical", "near"] {
        let count = answers.iter().filter(|answer| answer["verdict"] == verdict).count();
        assert_eq!(
            value(&format!("pagefold_serve_records_total{{became=\"{verdict}\"}}")),
            count as f64
        );
    }
    assert_eq!(value("pagefold_serve_requests_total{path=\"/check\",status=\"2xx\"}"), 1.0);
    assert_eq!(value("pagefold_serve_requests_total{path=\"other\",status=\"4xx\"}"), 1.0);
    assert_eq!(value("pagefold_serve_request_seconds_bucket{path=\"/check\",le=\"+Inf\"}"), 1.0);
    assert_eq!((value("pagefold_serve_epoch"), value("pagefold_serve_documents")), (1.0, 240.0));
    for line in reply.body.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().expect("a name");
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        for what in ["TYPE", "HELP"] {
            assert!(reply.body.contains(&format!("# {what} {family} ")), "{what} of {family}");
        }
    }
}

/// A record that came alone and was not taken was not counted; only those of batches were.
#[test]
fn each_rejected_record_is_counted() {
    let bench = bench(8, "[serve]\ninbox = \"inbox\"\n[read.limits]\nline_bytes_max = 10000\n");
    let server = Server::start(&bench, &[]);
    let json = "application/json";
    let late = "{\"url\":\"http://a.example/\",\"text\":\"x\",\"date\":\"2999-01-01\"}";
    let long = "x".repeat(10_001);
    for (target, form, body, status) in [
        ("/check", json, "{", 400),
        ("/check", json, "{\"url\":\"http://a.example/\"}", 422),
        ("/insert", json, late, 422),
        ("/insert", "text/plain", "x", 422),
        ("/insert?url=", "text/plain", "x", 422),
        ("/remove", json, "[]", 400),
        ("/check", json, long.as_str(), 413),
    ] {
        let said = problem(&server.send("POST", target, form, body.as_bytes()), status);
        assert!(said["reason"].is_string(), "{said}");
    }
    assert_eq!(server.batch("/insert", &[json!({}), asked(1)[0].clone(), json!(1)]).len(), 3);
    let rejected = || server.figure("pagefold_serve_records_total{became=\"rejected\"}");
    assert_eq!(rejected(), 7.0 + 2.0);
    // These are no records.
    problem(&server.send("POST", "/check", "text/css", b"x"), 415);
    problem(&server.send("POST", "/check", NDJSON, long.as_bytes()), 413);
    assert_eq!(rejected(), 9.0);
    assert!(server.stop().success());
}

/// A method that `/healthz` and `/readyz` do not take was refused without a message.
#[test]
fn other_methods_are_problems() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let described = server.get("/openapi.json").json();
    let paths = described["paths"].as_object().expect("paths");
    for (path, methods) in paths.iter().chain([(&"/openapi.json".into(), &json!({ "get": {} }))]) {
        let refused = server.send("DELETE", path, "", b"");
        problem(&refused, 405);
        let allow = refused.head.lines().find_map(|line| line.strip_prefix("allow: "));
        let wanted = if methods["get"].is_object() { "get,head" } else { "post" };
        assert_eq!(allow, Some(wanted), "{path}: {refused:?}");
    }
    assert!(server.stop().success());
}

/// systemd listens and hands the socket over: the server answers on it.
#[test]
fn a_socket_is_handed_over() {
    let bench = bench(8, "");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("free");
    let at = listener.local_addr().expect("bound");
    let start =
        "exec 3<&0; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve job.toml --bind 127.0.0.1:1";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", start, &crate::workbench::pagefold()]).current_dir(bench.at(""));
    let mut child = command.stdin(std::os::fd::OwnedFd::from(listener)).spawn().expect("started");
    // The socket listens already, so no client is refused.
    let reply = client::send(at, "GET", "/readyz", "", "", b"").expect("an answer");
    assert_eq!(reply.json()["epoch"], 1);
    crate::workbench::signal("TERM", &child.id().to_string());
    assert!(child.wait().expect("ended").success());
}

/// Messages called a socket that was handed over `--bind`, an option that nobody had given.
#[test]
fn a_socket_that_was_handed_over_is_reported_as_such() {
    let bench = bench(8, "");
    let listener = std::net::TcpListener::bind("0.0.0.0:0").expect("free");
    let start = "exec 3<&0; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve job.toml";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", start, &crate::workbench::pagefold()]).current_dir(bench.at(""));
    let at = listener.local_addr().expect("bound");
    let output = command.stdin(std::os::fd::OwnedFd::from(listener)).output().expect("started");
    let said = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains(&format!("the socket {at}, which was handed over")), "{said}");
    assert!(said.contains("--token-file") && !said.contains("--bind"), "{said}");
}

/// The commands and the Python of the page about the server do what it says.
#[test]
fn the_page_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve/README.md");
    let page = std::fs::read_to_string(page).expect("readable");
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        page.split(&fence)
            .skip(1)
            .map(|rest| rest.split_once("```").expect("its end").0.to_owned())
            .collect()
    };
    let bench = bench(8, "[serve]\ninbox = \"inbox\"\n");
    std::fs::write(bench.at("rows.jsonl"), lines(&asked(3))).expect("written");
    std::fs::write(bench.at("page.html"), format!("<p>{}</p>", text(0, 3))).expect("written");
    std::fs::write(bench.at("token"), "0123456789abcdef0123456789abcdef\n").expect("written");
    std::fs::set_permissions(bench.at("token"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    let said = |program: &str, arguments: &[&str]| -> String {
        let output =
            std::process::Command::new(program).args(arguments).current_dir(bench.at("")).output();
        let output = output.expect("started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let has = |program: &str, arguments: &[&str]| {
        std::process::Command::new(program)
            .args(arguments)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let server = Server::start(&bench, &[]);
    if has("curl", &["--version"]) {
        let commands = blocks("sh")[0].replace("127.0.0.1:7311", &server.at.to_string());
        let (_, commands) = commands.split_once("&\n").expect("a server in the background");
        let verdicts = said("sh", &["-ec", commands]).matches("\"verdict\":").count();
        assert_eq!(verdicts, 1 + 3 + 1, "{commands}");
    } else {
        crate::workbench::skip("curl is missing");
    }
    assert!(server.stop().success());
    let server = Server::start(&bench, &["--token-file", "token"]);
    if has("python3", &["-c", "import requests"]) {
        // What the pipeline needs of Scrapy has a stand-in.
        let [client, pipeline] = &blocks("python")[..] else { panic!("not two programs") };
        let scrapy = "import sys, types\nsys.modules['scrapy'] = sys.modules['scrapy.exceptions'] = scrapy = \
                      types.ModuleType('scrapy')\nscrapy.DropItem = type('DropItem', (Exception,), {})\n";
        let program = format!("{scrapy}{client}\n{pipeline}")
            .replace("127.0.0.1:7311", &server.at.to_string())
            .replace("# session.headers", "session.headers");
        let page = "<p>a page of some words that no other page of this store has, as far as one can tell</p>";
        let asked = format!(
            "{program}\nprint(is_new('http://a.example/', '{page}'), is_new('http://b.example/', '{page}'))"
        );
        assert_eq!(said("python3", &["-c", &asked]), "True False\n");
        let item = |words: &str| {
            format!(
                "NewTexts().process_item({{'url': 'http://c.example/', 'html': '{words}'}}, None)"
            )
        };
        let news =
            page.replace("a page", "another leaf").replace("words", "quite different sentences");
        assert_eq!(
            said("python3", &["-c", &format!("{program}\nprint({}['url'])", item(&news))]),
            "http://c.example/\n"
        );
        let dropped = format!(
            "{program}\ntry: {}\nexcept scrapy.DropItem as known: print(known)",
            item(page)
        );
        assert_eq!(said("python3", &["-c", &dropped]), "its text is known: http://c.example/\n");
    } else {
        crate::workbench::skip("Python's requests are missing");
    }
    assert!(server.stop().success());
}
