//! Tests that the state machines of the sources are whole, that only their events change a state, and that
//! docs/protocol.md shows them as they are.

use std::fs::read_to_string;
use std::path::Path;

use hawser_imports::machines::{BEGIN, END, Machine, document, machines};
use hawser_imports::sources::{self, Source};

const DOOR: &str = "
    /// A door.
    enum DoorState {
        /// Nobody passes.
        Closed,
        Open { by: u32 },
        Lost,
    }

    state_machine! {
        impl DoorState {
            start Closed;
            /// Somebody opens it,
            /// with a key.
            opened(Closed => Open { by: u32 }, Open => Open);
            closed(Open | Closed => Closed, Closed => Open);
        }
    }";

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn all_machines(sources: &[Source]) -> Vec<Machine> {
    sources.iter().flat_map(|source| machines(&source.path(), &source.text)).collect()
}

#[test]
fn the_machines_are_whole_and_only_events_change_a_state() {
    let sources = sources::of_all_crates();
    let machines = all_machines(&sources);
    assert!(machines.len() >= 4, "path, direct connection, send and host have machines: {machines:?}");
    let mut wrong: Vec<String> = machines.iter().flat_map(Machine::faults).collect();
    for machine in &machines {
        let folder = machine.file.split("/src/").next().unwrap();
        for source in sources.iter().filter(|source| source.path().starts_with(&format!("{folder}/"))) {
            let lines = machine.assignments(&source.text);
            wrong.extend(lines.iter().map(|line| format!("{}:{line} assigns a {}", source.path(), machine.name)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_document_shows_the_machines_as_they_are() {
    let text = read_to_string(root().join("docs/protocol.md")).unwrap();
    let current = document(&text, &all_machines(&sources::of_all_crates()));
    assert!(text == current, "docs/protocol.md shows other state machines than the sources have; run `make machines`");
}

#[test]
fn a_state_without_a_way_to_it_and_two_results_are_found() {
    let [door] = machines("door.rs", DOOR).try_into().unwrap();
    assert_eq!(door.faults(), ["DoorState: no event leads to Lost", "DoorState: closed has two results in Closed"]);
}

#[test]
fn an_assignment_of_a_state_is_found() {
    let [door] = machines("door.rs", DOOR).try_into().unwrap();
    let text = "fn f(d: &mut Door) {
        d.state = DoorState::Closed;
        (d.state, d.at) = (house::DoorState::Open { by: 1 }, 5);
        d.is_closed = d.state == DoorState::Closed;
        d.state.closed();
        d.state = LampState::Off;
    }";
    assert_eq!(door.assignments(text), [2, 3]);
}

#[test]
fn a_machine_is_drawn_between_the_marks() {
    let page = document(&format!("before\n{BEGIN}\nold\n{END}\nafter\n"), &machines("door.rs", DOOR));
    assert!(page.starts_with("before\n") && page.ends_with("\nafter\n") && !page.contains("old"), "{page}");
    for line in [
        "    [*] --> Closed",
        "    Closed --> Open: opened, closed",
        "    Open --> Closed: closed",
        "| (all) | A door. `door.rs` |",
        "| Closed | Nobody passes. |",
        "| opened | Somebody opens it, with a key. |",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line} is not in\n{page}");
    }
}
