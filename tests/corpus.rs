use crate::texts::text;
use crate::workbench::{Bench, failure, pagefold};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A bench whose inputs are the folder `in`, with `read` among the keys of [read].
fn bench(read: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("a job");
    let job = job.replace("[read]\n", &format!("[read]\n{read}\n"));
    std::fs::write(bench.at("job.toml"), job).expect("written");
    bench
}

fn put(bench: &Bench, name: &str, rows: impl IntoIterator<Item = serde_json::Value>) {
    let lines: String = rows.into_iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("in").join(name), lines).expect("written");
}

/// What a filter to `kept` and `removed` prints.
fn filtered(bench: &Bench) -> String {
    let output = bench.pagefold("filter", &["--to", "kept", "--removed", "removed"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// If a column of data was named `op`, the rows that it removed were in no line of the report, so
/// accepted rows and pages did not add up. A line names the column, also in the report of a filter.
#[test]
fn rows_that_remove_pages_are_reported() {
    let corpus = bench("key = \"id\"");
    let op = |n: u64| match n % 3 {
        0 => "remove",
        1 => "add",
        _ => "keep",
    };
    let row = |n: u64| json!({ "id": n, "text": text(n, 0), "op": op(n) });
    let removed = json!({ "id": 1, "deleted": true });
    put(&corpus, "a.jsonl", (0..30).map(row).chain([removed]));
    let said = corpus.run_well(&[]);
    for line in [
        "accepted   31",
        "superseded 1        by another record of the same `id`",
        "removals   11       rows: 1 by `deleted`, 10 by `op`; not known before: 11 pages that inputs remove or only see",
        "pages      19       19 distinct texts",
    ] {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
    assert!(!said.contains("removed_by"), "said once:\n{said}");
    let remedy = "if that is data: deleted = \"\" and op = \"\" under [read.fields]";
    assert!(said.contains(remedy), "{said}");
    let data = bench("key = \"row\"\nfields.deleted = \"\"\nfields.op = \"\"");
    put(&data, "a.jsonl", (0..30).map(row));
    let all = data.run_well(&[]);
    assert!(all.contains("pages      30") && !all.contains("removals"), "{all}");
    let said = filtered(&corpus);
    let line = "removed    12       11 remove their page (1 by `deleted`, 10 by `op`), 1 of pages that are gone";
    assert!(said.contains(line), "{said}");
}

/// Three files whose ids begin at 0, and a column of dates that no job names.
fn shards(bench: &Bench, shards: impl IntoIterator<Item = u64>) {
    for shard in shards {
        let row = |id: u64| json!({ "id": id, "date": format!("2024-01-0{}", 1 + shard), "text": text(shard * 1000 + id, 0) });
        put(bench, &format!("s{shard}.jsonl"), (0..40).map(row));
    }
}

/// Ids started again in each file, and a column of dates made their rows versions of one another:
/// two thirds of a corpus were lost without a message. The run stops and names a remedy that keeps
/// all rows. Rows of URLs, and a job that says that the rows are versions, pass.
#[test]
fn ids_that_begin_anew_with_dates() {
    let corpus = bench("key = \"id\"");
    shards(&corpus, 0..3);
    let refused = corpus.run(&[]);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(65), "{said}");
    for part in ["80 of 120 rows would be lost", "the same `id`", "a later date", "key = \"row\""] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let said = corpus.run_well(&["--set", "guards.overwritten_max=0.7"]);
    let line = "superseded 80       by another record of the same `id`, 80 with another text\n";
    assert!(said.contains(line), "{said}");
    let rows = bench("key = \"row\"");
    shards(&rows, 0..3);
    assert!(rows.run_well(&[]).contains("pages      120"));
    let crawl = bench("fields.url = [\"id\"]");
    shards(&crawl, 0..3);
    assert!(crawl.run_well(&[]).contains("same URL, 80 with another text\n"));
}

/// A run refused the inbox of a server to which each document was sent anew a few times, as if ids
/// began anew in each file, and advised a key that no inbox can have. It keeps the latest rows.
/// Rows of other inputs stop the run as before.
#[test]
fn documents_that_are_sent_anew() {
    let corpus = bench("key = \"id\"");
    let job = std::fs::read_to_string(corpus.at("job.toml")).expect("a job");
    let with_inbox = |inbox: &str| {
        std::fs::write(corpus.at("job.toml"), format!("{job}[serve]\ninbox = \"{inbox}\"\n"))
            .expect("written");
    };
    shards(&corpus, 0..3);
    with_inbox("inbox");
    let said = failure(corpus.run(&[]).stderr);
    assert!(said.contains("80 of 120 rows") && !said.contains("key = \"row\""), "{said}");
    with_inbox("in");
    let said = corpus.run_well(&[]);
    let line = "superseded 80       by another record of the same `id`, 80 with another text\n";
    assert!(said.contains(line) && said.contains("pages      40"), "{said}");
}

/// A new file replaced the pages of an older file that still existed, run after run, and no report
/// said so. If the older file is gone, the rows are versions.
#[test]
fn ids_that_begin_anew_in_each_run() {
    let corpus = bench("key = \"id\"");
    shards(&corpus, [0]);
    assert!(!corpus.run_well(&[]).contains("changed"));
    shards(&corpus, [1]);
    let said = corpus.run_well(&[]);
    let line = "changed    40       pages have another text now; the former rows of 40 are in inputs that are still there";
    assert!(said.contains(line) && said.contains("key = \"row\""), "{said}");
    std::fs::remove_file(corpus.at("in/s1.jsonl")).expect("removed");
    shards(&corpus, [2]);
    let said = corpus.run_well(&[]);
    assert!(said.contains("changed    40       pages have another text now\n"), "{said}");
}

/// Python writes `NaN` for empty cells of pandas, and a corpus with such scores could not be read.
/// Now it is read, also with labels beside its fields, and its lines stay as they are.
#[test]
fn rows_with_numbers_of_python() {
    let corpus = bench("key = \"id\"");
    let line = |n: u64| {
        let score = ["NaN", "-Infinity", "Infinity"][n as usize % 3];
        format!("{{\"id\":{n},\"score\": {score} ,\"text\":\"{}\"}}\n", text(n, 0))
    };
    let lines: String = (0..30).map(line).collect();
    std::fs::write(corpus.at("in/a.jsonl"), &lines).expect("written");
    let said = corpus.run_well(&[]);
    assert!(said.contains("noted      30       nan 30") && !said.contains("rejected"), "{said}");
    let mut init = Command::new(pagefold());
    let init = init.args(["init", "in/a.jsonl"]).current_dir(corpus.at("")).output();
    let printed = String::from_utf8(init.expect("started").stdout).expect("UTF-8");
    assert!(printed.contains("read.key = \"id\""), "{printed}");
    filtered(&corpus);
    assert_eq!(std::fs::read_to_string(corpus.at("kept/a.jsonl")).expect("kept"), lines);
    let output = corpus.pagefold("filter", &["--to", "labelled", "--annotate"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let labelled = std::fs::read_to_string(corpus.at("labelled/a.jsonl")).expect("written");
    assert_eq!(labelled.lines().count(), lines.lines().count());
    for (labelled, line) in labelled.lines().zip(lines.lines()) {
        let own = line.strip_suffix('}').expect("an object");
        assert!(labelled.starts_with(own) && labelled.contains("\"cluster\":"), "{labelled}");
    }
}

/// The rows of a table whose ids are UUIDs, as databases write them.
fn uuids(texts: &[String]) -> Vec<u8> {
    let schema = "message rows {
        required fixed_len_byte_array(16) id (UUID);
        required binary text (STRING);
    }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::default()).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let id = |n: usize| (0x0123_4567_89ab_cdef_u128 << 64 | n as u128).to_be_bytes().to_vec();
    let ids: Vec<FixedLenByteArray> =
        (0..texts.len()).map(|n| ByteArray::from(id(n)).into()).collect();
    let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
    let mut column = group.next_column().expect("readable").expect("ids");
    column.typed::<FixedLenByteArrayType>().write_batch(&ids, None, None).expect("written");
    column.close().expect("whole");
    let mut column = group.next_column().expect("readable").expect("texts");
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).expect("written");
    column.close().expect("whole");
    group.close().expect("whole");
    writer.into_inner().expect("whole")
}

/// Ids that are UUIDs, and whole numbers that pandas writes as `7.0`, were refused as keys.
#[test]
fn ids_of_databases() {
    let corpus = bench("key = \"id\"");
    let texts: Vec<String> = (0..5).map(|n| text(n, 0)).collect();
    std::fs::write(corpus.at("in/a.parquet"), uuids(&texts)).expect("written");
    corpus.run_well(&[]);
    let keys = |bench: &Bench| {
        let members = bench.lines("members");
        members
            .iter()
            .map(|row| row["url"].as_str().expect("a key").to_owned())
            .collect::<BTreeSet<_>>()
    };
    let uuid = |n| format!("01234567-89ab-cdef-0000-00000000000{n}");
    assert_eq!(keys(&corpus), [0, 1, 2, 3, 4].map(uuid).into());
    let floats = bench("key = \"id\"");
    let ids = Arc::new(Float64Array::from_iter_values((0..5).map(f64::from))) as ArrayRef;
    let texts = Arc::new(StringArray::from_iter_values(&texts)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).expect("a batch");
    let file = std::fs::File::create(floats.at("in/a.parquet")).expect("created");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("whole");
    floats.run_well(&[]);
    assert_eq!(keys(&floats), ["0", "1", "2", "3", "4"].map(str::to_owned).into());
}

/// A shard that was removed left its pages in the store, and a run said that nothing was due. The
/// run says how many such pages there are, and its remedy removes them; a renamed file is not gone.
#[test]
fn shards_that_are_gone() {
    let corpus = bench("key = \"row\"");
    let shard = |shard: u64| (0..30).map(move |n| json!({ "text": text(shard * 100 + n, 0) }));
    (0..3).for_each(|n| put(&corpus, &format!("s{n}.jsonl"), shard(n)));
    assert!(!corpus.run_well(&[]).contains("elsewhere"));
    std::fs::rename(corpus.at("in/s0.jsonl"), corpus.at("in/s9.jsonl")).expect("renamed");
    assert!(corpus.run_well(&[]).contains("nothing due: every input is consumed; the store"));
    std::fs::remove_file(corpus.at("in/s1.jsonl")).expect("removed");
    put(&corpus, "s2.jsonl", shard(2).chain([json!({ "text": text(999, 0) })]));
    let line = "60 pages are of 2 consumed inputs that are gone or changed; [read] complete = true lets a run remove them";
    let said = corpus.run_well(&[]);
    assert!(said.contains(&format!("elsewhere  {line}\n")), "{said}");
    let said = corpus.run_well(&[]);
    assert!(said.contains(&format!("nothing due: every input is consumed; {line}; ")), "{said}");
    let status = corpus.pagefold("status", &[]);
    let said = String::from_utf8(status.stdout).expect("UTF-8");
    assert!(said.contains(&format!("elsewhere  {line}\n")), "{said}");
    let said = corpus.run_well(&["--set", "read.complete=true"]);
    assert!(said.contains("gone       60") && !said.contains("elsewhere"), "{said}");
    let said = corpus.run_well(&["--set", "read.complete=true"]);
    assert!(said.contains("nothing due: every input is consumed; the store"), "{said}");
}

/// Each change of a file was followed by a redirect for each of its former rows, for a year. A row
/// that a snapshot lacks is not remembered, because no later record can have its key.
#[test]
fn former_rows_of_a_file_are_forgotten() {
    let corpus = bench("key = \"row\"\ncomplete = true");
    let rows = |n: u64| (0..n).map(|n| json!({ "text": text(n / 2, 0) }));
    put(&corpus, "a.jsonl", rows(30));
    corpus.run_well(&[]);
    put(&corpus, "a.jsonl", rows(31));
    corpus.run_well(&[]);
    let redirects = corpus.lines("redirects");
    assert_eq!(redirects.len(), 15, "{redirects:?}");
    assert!(redirects.iter().all(|row| row["relation"] != "gone"), "{redirects:?}");
    assert!(corpus.pagefold("verify", &["--deep"]).status.success());
}

/// The recipe for a corpus kept short texts twice, let rows expire, and chose by the order of runs.
/// The job for corpora keeps one row of each text, even of short ones; the columns `op` and
/// `deleted` are data; the order of runs changes nothing, and rows of a file that is gone are
/// removed.
#[test]
fn the_job_for_corpora() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs/corpus.toml");
    let job = std::fs::read_to_string(page).expect("the job");
    let inputs = "inputs = [\"../tests/data/demo/*.jsonl*\"]";
    assert!(job.contains(inputs) && !job.contains("[pages]"), "{job}");
    let job = job
        .replace(inputs, "inputs = [\"in\"]")
        .replace("../out/corpus-store", "store")
        .replace("../out/corpus", "out");
    let corpus = || {
        let corpus = bench("");
        std::fs::write(corpus.at("job.toml"), &job).expect("written");
        corpus
    };
    let shard = |bench: &Bench, shard: u64| {
        let row = |n: u64| json!({ "url": "http://a.example/r", "op": "remove", "deleted": true, "text": text(n + shard * 4, 0) });
        let short =
            ["ok", "Page not found", "你好"].map(|text| json!({ "text": text, "shard": shard }));
        put(bench, &format!("s{shard}.jsonl"), (0..8).map(row).chain(short));
    };
    let kept = |bench: &Bench| -> BTreeSet<String> {
        let members = bench.lines("members");
        let kept = members.iter().filter(|row| row["is_representative"] == true);
        kept.map(|row| row["url"].as_str().expect("a key").to_owned()).collect()
    };
    let (once, often) = (corpus(), corpus());
    (0..3).for_each(|n| shard(&once, n));
    let said = once.run_well(&[]);
    assert!(said.contains("pages      33") && said.contains("kept       19"), "{said}");
    for n in [2, 0, 1] {
        shard(&often, n);
        often.run_well(&[]);
    }
    assert_eq!(kept(&once), kept(&often));
    filtered(&once);
    let lines: String = (0..3)
        .map(|n| std::fs::read_to_string(once.at(&format!("kept/s{n}.jsonl"))).expect("kept"))
        .collect();
    for text in ["ok", "Page not found", "你好"] {
        assert_eq!(lines.matches(&format!("\"text\":\"{text}\"")).count(), 1, "{lines}");
    }
    std::fs::remove_file(once.at("in/s1.jsonl")).expect("removed");
    let said = once.run_well(&[]);
    assert!(said.contains("pages      22") && said.contains("gone       11"), "{said}");
}

/// Messages about rows named hosts and URLs: a wrong key led to advice about files, a document's id
/// was called a host, a rejected row was called unknown, and labels of other documents led to
/// advice about URLs.
#[test]
fn messages_speak_of_keys() {
    let corpus = bench("key = \"id\"");
    let row = |n: u64| match n {
        0 => json!({ "id": "doc-0", "says": "nothing" }),
        1 => json!({ "id": "doc-1", "text": "" }),
        _ => json!({ "id": format!("doc-{n}"), "text": text(n % 2, 0) }),
    };
    put(&corpus, "a.jsonl", (0..12).map(row));
    let output = corpus.run(&["--set", "clusters.pages_warn=2"]);
    let said = String::from_utf8_lossy(&output.stdout);
    let cluster = said.lines().find(|line| line.contains("5 pages")).expect("a cluster");
    assert!(cluster.contains("1 text  doc-") && !cluster.contains("host"), "{said}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a cluster of 5 pages, 1 text, ") && !said.contains("host"), "{said}");
    let explain = corpus.pagefold("explain", &["doc-0"]);
    let said = failure(&explain.stderr);
    assert!(
        said.contains("epoch 1 rejected a record of it, no_text: ")
            && said.contains("a.jsonl at 0"),
        "{said}"
    );
    let label = |key: &str| format!("{{\"url\":\"{key}\",\"label\":\"x\"}}\n");
    std::fs::write(corpus.at("others.jsonl"), label("a") + &label("b")).expect("written");
    let said = failure(corpus.pagefold("eval", &["--labels", "others.jsonl"]).stderr);
    assert!(said.contains("`[read] key` says what a page is"), "{said}");
    std::fs::write(corpus.at("labels.jsonl"), ["doc-1", "doc-2", "doc-3"].map(label).concat())
        .expect("written");
    let output = corpus.pagefold("eval", &["--labels", "labels.jsonl"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("2 distinct texts, 1 empty page\n"), "{said}");
    let wrong = bench("key = \"nope\"");
    std::fs::write(wrong.at("in/a.parquet"), uuids(&[text(1, 0), text(2, 0)])).expect("written");
    let said = failure(wrong.run(&[]).stderr);
    assert!(said.contains("Name a column that every row has, [read] key = \"id\""), "{said}");
}
