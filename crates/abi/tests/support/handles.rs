//! Generates numbers that a program might pass as a handle, for the fuzz targets of both ABIs: each is a handle, or
//! none.

use bolero::TypeGenerator;
use hawser_abi::CHandle;

/// Any number, or one near those that are handles: kinds, slots and generations where both ABIs have them.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Number {
    Any(i32),
    Near { top: u8, bits: u16, flip: Option<u8> },
}

impl Number {
    pub fn value(&self) -> i32 {
        match *self {
            Number::Any(value) => value,
            Number::Near { top, bits, flip } => {
                let value = i32::from(top) << 24 | i32::from(bits);
                flip.map_or(value, |bit| value ^ 1 << (bit % 32))
            }
        }
    }
}

/// Asserts that a value that decodes is encoded to itself: two numbers never name one object.
pub fn check<H: CHandle>(value: i32) {
    let handle = H::from_int(value);
    assert_eq!(handle.to_int(), value);
    if let Some(decoded) = handle.decode() {
        assert_eq!(H::encode(decoded).to_int(), value, "{:?} {value:#x} is {decoded:?}", H::KIND);
    }
}

/// Fuzzes any number as a handle of each kind, of which the ABI's `codec` has another type for `$file` alone, and as an
/// attribute's key.
macro_rules! fuzz_handles {
    ($file:ty) => {
        fuzz_handles!($file; Comm Group Datatype Errhandler Op Info Win Request Message Session)
    };
    ($file:ty; $($kind:ident)+) => {
        bolero::check!().with_type::<support::Number>().with_iterations(20_000).for_each(|number| {
            let value = number.value();
            $(support::check::<codec::CHandle<{ hawser_base::handle::ObjectKind::$kind as u32 }>>(value);)+
            support::check::<$file>(value);
            if let Some(key) = codec::keyval_in(value) {
                assert_eq!(codec::keyval_out(key), value, "{key:?}");
            }
        })
    };
}
