//! Array descriptors: how Fortran passes `TYPE(*), DIMENSION(..)`.
//!
//! A procedure with BIND(C) gets the descriptor of ISO_Fortran_binding.h (Fortran 2018 §18.5), of which gfortran and
//! flang have the same fields in all places that are read here. Other procedures get a descriptor of the compiler's
//! own; that of gfortran since version 9 is known, because MPICH's modules for Fortran 2008 pass it.
//!
//! Used by `choice` of the binding; uses nothing.

use std::ffi::{c_int, c_void};
use std::ptr;

/// The most dimensions that Fortran 2018 allows (CFI_MAX_RANK).
pub const MAX_RANK: usize = 15;

/// One dimension of `CFI_cdesc_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CfiDim {
    pub lower_bound: isize,
    /// The number of elements; -1 for the last dimension of an array of assumed size.
    pub extent: isize,
    /// The distance between elements, in bytes.
    pub sm: isize,
}

/// `CFI_cdesc_t`. The order of the two bytes behind `rank` differs between compilers; they are not read.
#[repr(C)]
#[derive(Debug)]
pub struct Cfi {
    pub base_addr: *mut c_void,
    pub elem_len: usize,
    pub version: c_int,
    pub rank: u8,
    pub unread: [u8; 3],
    pub dim: [CfiDim; MAX_RANK],
}

/// One dimension of gfortran's descriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GfortranDim {
    /// The distance between elements, in units of `span`.
    pub stride: isize,
    pub lower_bound: isize,
    pub upper_bound: isize,
}

/// The descriptor of gfortran 9 and later (libgfortran.h, `GFC_FULL_ARRAY_DESCRIPTOR`).
#[repr(C)]
#[derive(Debug)]
pub struct Gfortran {
    pub base_addr: *mut c_void,
    pub offset: usize,
    pub elem_len: usize,
    pub version: c_int,
    pub rank: i8,
    pub unread: [u8; 3],
    /// The size of an element in bytes, 0 in descriptors of scalars.
    pub span: isize,
    pub dim: [GfortranDim; MAX_RANK],
}

// The offsets of both compilers' fields on machines of 64 bits.
const _: () = assert!(std::mem::offset_of!(Cfi, rank) == 20 && std::mem::offset_of!(Cfi, dim) == 24);
const _: () = assert!(std::mem::offset_of!(Gfortran, rank) == 28 && std::mem::offset_of!(Gfortran, span) == 32);

/// A dimension of a section: the number of its elements and their distance in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    pub count: usize,
    pub stride: isize,
}

/// The elements of an array argument whose bytes do not follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The first element.
    pub start: *mut c_void,
    /// The bytes of one element.
    pub element: usize,
    /// The dimensions, the one that varies fastest first.
    pub dims: Vec<Dim>,
}

/// An array argument: an address alone, or a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Array {
    Contiguous(*mut c_void),
    Section(Section),
}

/// The `version` that flang writes in a descriptor (CFI_VERSION of its ISO_Fortran_binding.h). gfortran has the lower
/// half of an element's length in its place, and no element is that long.
const FLANG: c_int = 20180515;

/// Reads the descriptor that a compiler passes to a procedure.
///
/// # Safety
/// `at` is a descriptor that gfortran or flang made.
#[inline]
pub unsafe fn array(at: *const c_void) -> Array {
    // SAFETY: the caller's promise; both descriptors have 20 bytes and more.
    unsafe {
        if (&raw const (*at.cast::<Cfi>()).version).read() == FLANG {
            Cfi::array(at.cast())
        } else {
            Gfortran::array(at.cast())
        }
    }
}

impl Cfi {
    /// # Safety
    /// `at` is a descriptor that a compiler made: `dim` has `rank` elements and no more need exist.
    pub unsafe fn array(at: *const Cfi) -> Array {
        // SAFETY: the caller's promise. Only `rank` dimensions are read.
        unsafe {
            let dim = |i: usize| {
                let CfiDim { extent, sm, .. } = (&raw const (*at).dim).cast::<CfiDim>().add(i).read();
                (extent, sm)
            };
            classify((*at).base_addr, (*at).elem_len, (*at).rank.into(), dim)
        }
    }
}

impl Gfortran {
    /// # Safety
    /// The same as for `Cfi::array`.
    pub unsafe fn array(at: *const Gfortran) -> Array {
        // SAFETY: the caller's promise. Only `rank` dimensions are read.
        unsafe {
            let rank = (*at).rank.max(0) as usize;
            let span = if (*at).span > 0 { (*at).span } else { (*at).elem_len as isize };
            let dim = |i: usize| {
                let dim = (&raw const (*at).dim).cast::<GfortranDim>().add(i).read();
                // An array of assumed size has no upper bound in its last dimension; gfortran writes lower - 2 or -1.
                (dim.upper_bound - dim.lower_bound + 1, dim.stride * span)
            };
            classify((*at).base_addr, (*at).elem_len, rank, dim)
        }
    }
}

/// Tells arrays whose bytes follow each other from sections. `dim` returns a dimension's extent and distance.
fn classify(start: *mut c_void, element: usize, rank: usize, dim: impl Fn(usize) -> (isize, isize) + Clone) -> Array {
    let rank = rank.min(MAX_RANK);
    let dims = (0..rank).map(dim);
    let mut expected = element as isize;
    let mut contiguous = true;
    for (i, (extent, distance)) in dims.clone().enumerate() {
        // gfortran's bounds of an empty dimension may cross; those of the last dimension of an array of assumed size
        // do.
        if extent == 0 || (extent < 0 && i + 1 < rank) {
            return Array::Contiguous(start);
        }
        // An array of assumed size is contiguous by the rules of the language, and so is a dimension of one element.
        contiguous &= extent <= 1 || distance == expected;
        expected = expected.wrapping_mul(extent);
    }
    if contiguous {
        return Array::Contiguous(start);
    }
    let dims = dims.map(|(extent, stride)| Dim { count: extent.max(1) as usize, stride }).collect();
    Array::Section(Section { start, element, dims })
}

impl Section {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|dim| dim.count).product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the address of each element, in array order.
    fn addresses(&self) -> impl Iterator<Item = *mut u8> + '_ {
        (0..self.len()).map(|mut index| {
            let mut at = self.start.cast::<u8>();
            for dim in &self.dims {
                at = at.wrapping_offset((index % dim.count) as isize * dim.stride);
                index /= dim.count;
            }
            at
        })
    }

    /// Copies all elements to one piece of memory.
    ///
    /// # Safety
    /// The elements may be read.
    pub unsafe fn gather(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len() * self.element);
        for from in self.addresses() {
            // SAFETY: the caller's promise.
            all.extend_from_slice(unsafe { std::slice::from_raw_parts(from, self.element) });
        }
        all
    }

    /// Copies the elements back from one piece of memory.
    ///
    /// # Safety
    /// The elements may be written.
    pub unsafe fn scatter(&self, all: &[u8]) {
        for (to, element) in self.addresses().zip(all.chunks_exact(self.element.max(1))) {
            // SAFETY: the caller's promise.
            unsafe { ptr::copy_nonoverlapping(element.as_ptr(), to, self.element) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cfi(start: *mut c_void, element: usize, dims: &[(isize, isize)]) -> Array {
        let mut dim = [CfiDim { lower_bound: 0, extent: 0, sm: 0 }; MAX_RANK];
        for (to, &(extent, sm)) in dim.iter_mut().zip(dims) {
            *to = CfiDim { lower_bound: 0, extent, sm };
        }
        let rank = dims.len() as u8;
        let descriptor = Cfi { base_addr: start, elem_len: element, version: FLANG, rank, unread: [0; 3], dim };
        // SAFETY: a whole descriptor.
        unsafe { super::array((&raw const descriptor).cast()) }
    }

    #[test]
    fn scalars_whole_arrays_and_assumed_sizes_are_contiguous() {
        let at = ptr::without_provenance_mut(0x1000);
        let whole: [&[(isize, isize)]; 7] = [
            &[],
            &[(5, 8)],
            &[(3, 8), (4, 24)],
            &[(3, 8), (-1, 24)],
            &[(0, 16), (4, 24)],
            &[(1, 64)],
            &[(-3, 8), (4, 24)],
        ];
        for dims in whole {
            assert_eq!(cfi(at, 8, dims), Array::Contiguous(at), "{dims:?}");
        }
    }

    #[test]
    fn every_second_element_and_a_row_are_sections() {
        let mut values: Vec<i32> = (0..12).collect();
        let at: *mut c_void = values.as_mut_ptr().cast();
        for (dims, expected) in [
            (&[(3isize, 8isize)][..], vec![0, 2, 4]),
            (&[(2, 4), (3, 16)][..], vec![0, 1, 4, 5, 8, 9]),
            (&[(2, 16)][..], vec![0, 4]),
        ] {
            let Array::Section(section) = cfi(at, 4, dims) else { panic!("{dims:?} is no section") };
            // SAFETY: within `values`.
            let all = unsafe { section.gather() };
            let got: Vec<i32> = all.chunks(4).map(|c| i32::from_ne_bytes(c.try_into().unwrap())).collect();
            assert_eq!(got, expected);
            let negated: Vec<u8> = got.iter().flat_map(|v| (-v).to_ne_bytes()).collect();
            // SAFETY: within `values`.
            unsafe { section.scatter(&negated) };
            // SAFETY: within `values`.
            unsafe { section.scatter(&all) };
        }
        assert_eq!(values, (0..12).collect::<Vec<i32>>());
    }

    #[test]
    fn a_section_may_run_backwards() {
        let mut values: Vec<u8> = (0..6).collect();
        let last: *mut c_void = (&raw mut values[5]).cast();
        let Array::Section(section) = cfi(last, 1, &[(6, -1)]) else { panic!("no section") };
        // SAFETY: within `values`.
        assert_eq!(unsafe { section.gather() }, [5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn the_descriptor_of_gfortran_says_the_same() {
        let mut values: Vec<f64> = (0..10).map(f64::from).collect();
        let at: *mut c_void = values.as_mut_ptr().cast();
        let mut dim = [GfortranDim { stride: 0, lower_bound: 0, upper_bound: 0 }; MAX_RANK];
        let read = |dim, rank| {
            let (offset, elem_len, version, unread, span) = (usize::MAX, 8, 0, [0; 3], 8);
            let made = Gfortran { base_addr: at, offset, elem_len, version, rank, unread, span, dim };
            // SAFETY: a whole descriptor.
            unsafe { super::array((&raw const made).cast()) }
        };
        dim[0] = GfortranDim { stride: 1, lower_bound: 1, upper_bound: 10 };
        assert_eq!(read(dim, 1), Array::Contiguous(at));
        dim[0] = GfortranDim { stride: 3, lower_bound: 1, upper_bound: 4 };
        let dims = vec![Dim { count: 4, stride: 24 }];
        assert_eq!(read(dim, 1), Array::Section(Section { start: at, element: 8, dims }));
        // The upper bound of an array of assumed size.
        dim[0] = GfortranDim { stride: 1, lower_bound: 1, upper_bound: -1 };
        assert_eq!(read(dim, 1), Array::Contiguous(at));
        assert_eq!(read(dim, 0), Array::Contiguous(at));
        // A component of a derived type: the elements have 4 bytes, the distances count in 16.
        dim[0] = GfortranDim { stride: 1, lower_bound: 1, upper_bound: 2 };
        dim[1] = GfortranDim { stride: 5, lower_bound: 1, upper_bound: 3 };
        let component =
            Gfortran { base_addr: at, offset: 0, elem_len: 4, version: 0, rank: 2, unread: [0; 3], span: 16, dim };
        let dims = vec![Dim { count: 2, stride: 16 }, Dim { count: 3, stride: 80 }];
        // SAFETY: a whole descriptor.
        let section = unsafe { super::array((&raw const component).cast()) };
        assert_eq!(section, Array::Section(Section { start: at, element: 4, dims }));
    }
}
