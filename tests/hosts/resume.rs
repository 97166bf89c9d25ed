use super::lan::Lan;
use super::scene::{FILES, GENEROUS, Scene};
use crate::workbench::signal;

const HOSTS: usize = 3;

/// A run whose launcher is killed or stopped by SIGTERM when most splits are finished repeats only
/// those that its hosts were at in the next run, by its own account, and gives the same bytes.
#[test]
fn little_is_done_again() {
    let Some(lan) = Lan::new(HOSTS) else { return };
    for name in ["KILL", "TERM"] {
        let scene = Scene::new(&lan, None, "");
        let mut run = scene.start();
        scene.at_work(0, FILES * 9 / 10, &mut run).expect("at work");
        signal(name, &run.child.id().to_string());
        let status = run.ended();
        assert!(!status.success(), "{name}: the run was over before it was stopped");
        lan.no_worker_left(GENEROUS, name);
        let ended = scene.start().succeeded(&scene, 1);
        let [done, resumed] =
            ["splits_done", "splits_resumed"].map(|key| ended[key].as_u64().expect("a number"));
        println!("{name}: {resumed} splits were kept, {done} done again");
        assert_eq!(done + resumed, FILES, "{name}: {ended}");
        assert!(done <= HOSTS as u64, "{name}: {done} of {FILES} splits were done again");
    }
}
