//! Whatever number a program passes as a handle of any kind, or as an attribute's key.
//!
//! The library has C exports alone: its codec is built into this test.

#[allow(dead_code)]
#[path = "../src/codec.rs"]
mod codec;
#[path = "../src/handles.rs"]
mod handles;
#[path = "../../abi/tests/support/handles.rs"]
mod support;

use bolero::check;
use codec::{CHandle, FileHandle, keyval_in, keyval_out};
use hawser_base::handle::Kind;
use support::Number;

#[test]
fn handles() {
    check!().with_type::<Number>().with_iterations(20_000).for_each(|number| {
        let value = number.value();
        support::check::<CHandle<{ Kind::Comm as u32 }>>(value);
        support::check::<CHandle<{ Kind::Group as u32 }>>(value);
        support::check::<CHandle<{ Kind::Datatype as u32 }>>(value);
        support::check::<CHandle<{ Kind::Errhandler as u32 }>>(value);
        support::check::<CHandle<{ Kind::Op as u32 }>>(value);
        support::check::<CHandle<{ Kind::Info as u32 }>>(value);
        support::check::<CHandle<{ Kind::Win as u32 }>>(value);
        support::check::<CHandle<{ Kind::Request as u32 }>>(value);
        support::check::<CHandle<{ Kind::Message as u32 }>>(value);
        support::check::<CHandle<{ Kind::Session as u32 }>>(value);
        support::check::<FileHandle>(value);
        if let Some(key) = keyval_in(value) {
            assert_eq!(keyval_out(key), value, "{key:?}");
        }
    });
}
