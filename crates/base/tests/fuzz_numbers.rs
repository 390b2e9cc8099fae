//! Fuzzes the numbers that a program passes as handles, and the texts in a parameter's variable.

use bolero::check;
use hawser_base::Handle;
use hawser_base::handle_table::HandleTable;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_ALL};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Bits are a handle or none; a handle is its bits, and names the object that was inserted for it or none.
#[test]
fn handles() {
    let table = HandleTable::new();
    let live: Vec<Handle> = (0..40u32).map(|value| table.insert(value).unwrap()).collect();
    live.iter().step_by(3).for_each(|&handle| assert!(table.remove(handle)));
    check!().with_type::<(u32, bool, u8)>().with_iterations(20_000).for_each(|&(bits, near, turn)| {
        let known = live[usize::from(turn) % live.len()].bits();
        let bits = if near { known ^ 1 << (bits % 32) } else { bits };
        let Some(handle) = Handle::from_bits(bits) else { return };
        assert_eq!(handle.bits(), bits);
        let found = table.get(handle).map(|value| *value as usize);
        let due = live.iter().position(|&other| other == handle).filter(|at| at % 3 != 0);
        assert_eq!(found, due, "{handle:?}");
    });
}

/// Keeps the texts of parameters forever, each once: a default lives as long as the program.
fn kept(text: String) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap();
    match texts.get(text.as_str()) {
        Some(known) => known,
        None => {
            let text = Box::leak(text.into_boxed_str());
            texts.insert(text);
            text
        }
    }
}

#[test]
fn parameters() {
    check!().with_iterations(5000).for_each(|bytes| {
        // Most texts of arbitrary bytes are wrong at once: these are digits, units and blanks.
        let near = bytes.iter().map(|&byte| char::from(b"0123456789kKmMgGiIbB x-"[usize::from(byte % 23)]));
        for text in [near.take(24).collect(), String::from_utf8_lossy(bytes).into_owned()] {
            let text = kept(text);
            let param = |kind| Param {
                name: "HAWSER_FUZZ_IS_NOT_SET",
                kind,
                default: text,
                help: "",
                scope: T_SCOPE_LOCAL,
                verbosity: T_VERBOSITY_USER_ALL,
                read: ReadTime::AtStart,
            };
            for kind in [ParamKind::Number { min: 1, max: 1 << 40 }, ParamKind::Bytes { min: 1, max: 1 << 40 }] {
                match param(kind).number() {
                    Ok(number) => assert!((1..=1 << 40).contains(&number)),
                    Err(error) => assert!(error.to_string().contains("HAWSER_FUZZ_IS_NOT_SET")),
                }
            }
            let _ = (param(ParamKind::Flag).flag(), param(ParamKind::Text).check());
            assert_eq!(
                param(ParamKind::Choice(&["one", "x"])).choice().is_ok(),
                ["one", "x"].iter().any(|w| text.trim().eq_ignore_ascii_case(w))
            );
        }
    });
}
