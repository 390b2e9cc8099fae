//! Fuzzes the numbers that a program passes as a handle of any kind, or as an attribute's key.
//!
//! The library has C exports alone: its codec is built into this test.

#[allow(dead_code)]
#[path = "../src/codec.rs"]
mod codec;
#[macro_use]
#[path = "../../abi/tests/support/handles.rs"]
mod support;

#[test]
fn handles() {
    fuzz_handles!(codec::CHandle<{ hawser_base::handle::ObjectKind::File as u32 }>);
}
