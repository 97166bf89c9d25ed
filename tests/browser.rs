use crate::workbench::{Bench, demo_inputs, skip};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The names under which systems install Chromium.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How long the browser may think about one command.
const PATIENCE: Duration = Duration::from_secs(120);

/// A headless Chromium, asked by its DevTools protocol over a pipe.
struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    number: u64,
    session: Option<String>,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens an empty page; none if there is no Chromium.
    fn open() -> Option<Browser> {
        let exists = |name: &&&str| {
            Command::new(**name).arg("--version").output().is_ok_and(|out| out.status.success())
        };
        let name = NAMES.iter().find(exists)?;
        let profile = tempfile::tempdir().expect("a folder");
        // Chromium reads commands from descriptor 3 and answers on 4. As root it has no sandbox.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", name])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
            ])
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let to = process.stdin.take().expect("piped");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for answer in answers.split(0).map_while(Result::ok) {
                let value = serde_json::from_slice(&answer).expect("JSON");
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            process,
            to,
            from,
            number: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"]
            .clone();
        let session =
            browser.call("Target.attachToTarget", json!({ "targetId": page, "flatten": true }));
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("a browser that reads");
        loop {
            let answer =
                self.from.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Shows a file in a window of this width, and waits until it is loaded.
    fn show(&mut self, path: &Path, width: u32, scheme: &str) {
        let window =
            json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", window);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", media);
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url(path) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.from.recv_timeout(PATIENCE).expect("a page that is loaded");
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    fn value(&mut self, expression: &str) -> Value {
        let answer = self
            .call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// The words that an expression lists.
    fn words(&mut self, expression: &str) -> BTreeSet<String> {
        let value = self.value(expression);
        value
            .as_array()
            .expect("a list")
            .iter()
            .map(|word| word.as_str().expect("a word").to_owned())
            .collect()
    }

    /// What was requested since the page was opened.
    fn requests(&self) -> Vec<&str> {
        let sent =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().expect("a URL")).collect()
    }
}

impl Drop for Browser {
    /// Ends this browser, so that a failed test leaves none.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn report_of(bench: &Bench) -> std::path::PathBuf {
    bench.run_well(&["--allow", "rejects"]);
    assert!(bench.pagefold("report", &[]).status.success());
    bench.at("out/report.html").canonicalize().expect("written")
}

/// The names of all elements, and of their attributes.
const KINDS: &str = "[...new Set([...document.querySelectorAll('*')].flatMap(element =>
    [element.localName, ...[...element.attributes].map(at => element.localName + ' ' + at.name)]))]";

/// Links that leave the page, and styles that are more than a width.
const STRANGE: &str = "[...document.querySelectorAll('[href], [style]')]
    .filter(element => element.matches('[href]:not([href^=\"#\"])') ||
        element.hasAttribute('style') && !/^width:(0|max[(]2px, [0-9]+% [/] 10[)])$/.test(element.getAttribute('style')))
    .map(element => element.outerHTML)";

/// What stands to the right of the window. A table that is too wide scrolls by itself.
const OUTSIDE: &str = "[...document.querySelectorAll('body *')]
    .filter(element => !element.closest('.wide') && element.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(element => element.outerHTML.slice(0, 200))";

/// The least contrast of a text with the paper (WCAG 2, relative luminance).
const CONTRAST: &str = "(() => {
    const part = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = colour => {
        const [red, green, blue] = colour.match(/[0-9.]+/g).map(value => part(value / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const contrast = element => {
        const ink = light(getComputedStyle(element).color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    };
    return Math.min(...[...document.querySelectorAll('body *')].map(contrast));
})()";

/// A report asks for nothing, fits a phone and a desk, and is legible in light and dark. One of a
/// crawl of pages full of markup and script has the elements of any other, and runs nothing. The
/// policy of the page would stop a script, too; it is switched off, so that the escaping alone
/// holds.
#[test]
fn a_report_in_a_browser() {
    let Some(mut browser) = Browser::open() else { return skip("chromium") };
    let demo = Bench::new(&demo_inputs(), "");
    let demo = (report_of(&demo), demo);
    let hostile = hostile();
    let hostile = (report_of(&hostile), hostile);
    for policy in [true, false] {
        browser.call("Page.setBypassCSP", json!({ "enabled": !policy }));
        browser.show(&demo.0, 1280, "light");
        let kinds = browser.words(KINDS);
        assert!(kinds.contains("ins") && kinds.contains("i style"), "{kinds:?}");
        browser.show(&hostile.0, 1280, "light");
        let of_hostile = browser.words(KINDS);
        let strange: Vec<&String> = of_hostile.difference(&kinds).collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(browser.value("typeof hit"), "undefined", "a script ran");
        assert_eq!(
            browser.value("document.body.innerText.includes('\\u202e')"),
            false,
            "text that is turned round"
        );
        for shown in ["<script>hit = 1</script>", "onerror=\"hit = 2\"", "<style>", "{{ 7 * 7 }}"] {
            let is_shown =
                browser.value(&format!("document.body.innerText.includes({})", json!(shown)));
            assert_eq!(is_shown, true, "{shown} is no text of the page");
        }
    }
    let mut papers = BTreeSet::new();
    for path in [&demo.0, &hostile.0] {
        for (width, scheme) in [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")] {
            browser.show(path, width, scheme);
            assert_eq!(browser.requests(), [url(path)], "{width} {scheme}");
            assert_eq!(browser.words(STRANGE), BTreeSet::new(), "{width} {scheme}");
            assert_eq!(browser.words(OUTSIDE), BTreeSet::new(), "{width} {scheme}");
            let contrast = browser.value(CONTRAST).as_f64().expect("a number");
            assert!(contrast >= 4.5, "{width} {scheme}: a contrast of {contrast}");
            let paper = browser.value("getComputedStyle(document.body).backgroundColor");
            papers.insert(paper.as_str().expect("a colour").to_owned());
        }
    }
    assert_eq!(papers.len(), 2, "dark is as light: {papers:?}");
}

/// A crawl in which URLs, hosts, texts, bad rows and the name of a file are markup.
fn hostile() -> Bench {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    let markup = "{{ 7 * 7 }} </title></style></p></td><style>@import 'http://127.0.0.1:9/';</style>\
                  <script>hit = 1</script><img src=x onerror=\"hit = 2\">'\"`><svg/onload='hit = 3'>\
                  <a href='javascript:hit = 4'>&lt;b&gt; {% raw %}\u{202e}<base href=http://127.0.0.1:9/>\
                  <meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><!--";
    let long = "w".repeat(900);
    let mut rows = String::new();
    for n in 0..6 {
        let text = format!("{markup} {} {long} edition {n}", crate::texts::text(n / 3, n % 3));
        let host =
            if n % 2 == 0 { "h.example" } else { "\"><img src=x onerror=\"hit = 5\">.example" };
        rows +=
            &format!("{}\n", json!({ "url": format!("http://{host}/{n}{markup}"), "text": text }));
    }
    let page = format!(
        "<!doctype html><title>{markup}</title><p>{markup} {}</p>",
        crate::texts::text(2, 0)
    );
    rows += &format!(
        "{}\n",
        json!({ "url": format!("\"><script>hit = 6</script>{markup}"), "html": page })
    );
    rows += &format!("{{\"url\": \"<script>hit = 7</script>{long}\n");
    rows += &format!("{}\n", json!({ "text": markup }));
    std::fs::create_dir_all(bench.at("in")).expect("made");
    std::fs::write(bench.at("in").join("<script>hit = 8<script>.jsonl"), rows).expect("written");
    bench
}
