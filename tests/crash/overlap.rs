use crate::crash::scene::{Scene, stderr_of};
use crate::workbench::failure;
use std::process::Stdio;

/// Of two runs that start together on one store exactly one commits. The other says that it must be
/// tried again, or came later and found nothing new. Store and results are those of one undisturbed
/// run.
#[test]
fn overlapping_runs() {
    let scene = Scene::new();
    let (mut refused, mut came_after) = (0, 0);
    for round in 0..20 {
        let bench = scene.bench();
        let cluster = bench.cluster(2, 1);
        let second =
            if round % 4 == 3 { ["--cluster", cluster.as_str()] } else { ["--threads", "2"] };
        let children = [["--threads", "1"], second].map(|arguments| {
            let mut command = bench.command(&arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
        });
        let outputs = children.map(|child| child.wait_with_output().expect("ended"));
        let committed =
            outputs.iter().filter(|output| stderr_of(output).contains("\"committed\"")).count();
        assert_eq!(committed, 1, "round {round}: {outputs:?}");
        for output in &outputs {
            match output.status.code() {
                Some(0) if stderr_of(output).contains("\"committed\"") => {}
                Some(0) => {
                    assert!(
                        String::from_utf8_lossy(&output.stdout).starts_with("nothing due"),
                        "{output:?}"
                    );
                    came_after += 1;
                }
                Some(75) => {
                    assert!(
                        failure(&output.stderr).contains("another run is at work"),
                        "{output:?}"
                    );
                    refused += 1;
                }
                _ => panic!("round {round}: {output:?}"),
            }
        }
        scene.check_done(&bench, &format!("round {round}"));
    }
    println!(
        "20 rounds: one committed in each; the other was refused in {refused} and came after in {came_after}"
    );
}
