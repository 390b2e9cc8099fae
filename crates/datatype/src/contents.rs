//! The constructor of a type, with the arguments as they were given: MPI_Type_get_envelope and _contents (MPI-5.0
//! §5.1.13).
//!
//! Constants of an ABI (orders, distributions, MPI_UNDEFINED) stay symbols in [`ContentsInteger`]; `abi` turns them
//! into numbers. Used by `elements`, which reads the constructor as a signature.

use crate::array::{ArrayOrder, Darray, Distribution, DistributionArg};
use crate::basic::Basic;
use crate::datatype::Datatype;
use hawser_base::{Class, Error, Result};
use std::sync::Arc;

/// The form of the function that made a type: with `int` and MPI_Aint arguments, or the `_c` form with MPI_Count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountForm {
    Int,
    Count,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    F90Real,
    F90Complex,
    F90Integer,
    Resized,
}

/// The call that made a type, with its arguments.
pub(crate) enum Constructor {
    Named(Basic),
    Dup(Arc<Datatype>),
    Contiguous { count: i64, old: Arc<Datatype> },
    Vector { count: i64, blocklength: i64, stride: i64, old: Arc<Datatype> },
    Hvector { count: i64, blocklength: i64, stride: i64, old: Arc<Datatype> },
    Indexed { blocklengths: Box<[i64]>, displacements: Box<[i64]>, old: Arc<Datatype> },
    Hindexed { blocklengths: Box<[i64]>, displacements: Box<[i64]>, old: Arc<Datatype> },
    IndexedBlock { blocklength: i64, displacements: Box<[i64]>, old: Arc<Datatype> },
    HindexedBlock { blocklength: i64, displacements: Box<[i64]>, old: Arc<Datatype> },
    Struct { blocklengths: Box<[i64]>, displacements: Box<[i64]>, types: Box<[Arc<Datatype>]> },
    Subarray { sizes: Box<[i64]>, subsizes: Box<[i64]>, starts: Box<[i64]>, order: ArrayOrder, old: Arc<Datatype> },
    Darray { grid: Box<Darray>, old: Arc<Datatype> },
    F90Real { basic: Basic, precision: Option<i64>, range: Option<i64> },
    F90Complex { basic: Basic, precision: Option<i64>, range: Option<i64> },
    F90Integer { basic: Basic, range: i64 },
    Resized { lb: i64, extent: i64, old: Arc<Datatype> },
}

impl Constructor {
    pub fn combiner(&self) -> Combiner {
        match self {
            Constructor::Named(_) => Combiner::Named,
            Constructor::Dup(_) => Combiner::Dup,
            Constructor::Contiguous { .. } => Combiner::Contiguous,
            Constructor::Vector { .. } => Combiner::Vector,
            Constructor::Hvector { .. } => Combiner::Hvector,
            Constructor::Indexed { .. } => Combiner::Indexed,
            Constructor::Hindexed { .. } => Combiner::Hindexed,
            Constructor::IndexedBlock { .. } => Combiner::IndexedBlock,
            Constructor::HindexedBlock { .. } => Combiner::HindexedBlock,
            Constructor::Struct { .. } => Combiner::Struct,
            Constructor::Subarray { .. } => Combiner::Subarray,
            Constructor::Darray { .. } => Combiner::Darray,
            Constructor::F90Real { .. } => Combiner::F90Real,
            Constructor::F90Complex { .. } => Combiner::F90Complex,
            Constructor::F90Integer { .. } => Combiner::F90Integer,
            Constructor::Resized { .. } => Combiner::Resized,
        }
    }
}

/// An entry of the integer array. Constants whose values differ between the ABIs are symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentsInteger {
    Number(i64),
    Order(ArrayOrder),
    Distribution(Distribution),
    /// MPI_DISTRIBUTE_DFLT_DARG.
    DefaultDarg,
    /// MPI_UNDEFINED.
    Undefined,
}

/// The result of MPI_Type_get_envelope(_c). `form` tells whether the function without `_c` may be used: it may not
/// when the type was made with MPI_Count arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub combiner: Combiner,
    pub form: CountForm,
    pub integers: usize,
    pub addresses: usize,
    pub counts: usize,
    pub types: usize,
}

/// The result of MPI_Type_get_contents(_c), each array in the order of MPI-5.0 §5.1.13.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub integers: Vec<ContentsInteger>,
    pub addresses: Vec<i64>,
    /// The array of large counts. It is empty if the type was not made with MPI_Count arguments.
    pub counts: Vec<i64>,
    pub types: Vec<Arc<Datatype>>,
}

impl Contents {
    fn new(types: &[Arc<Datatype>]) -> Contents {
        Contents { types: types.to_vec(), ..Contents::default() }
    }

    /// Appends arguments that are `int` in the form without `_c` and MPI_Count in the `_c` form.
    fn numbers(mut self, form: CountForm, values: &[i64]) -> Contents {
        match form {
            CountForm::Int => self.integers.extend(values.iter().map(|&v| ContentsInteger::Number(v))),
            CountForm::Count => self.counts.extend_from_slice(values),
        }
        self
    }

    /// Appends arguments that are MPI_Aint in the form without `_c` and MPI_Count in the `_c` form.
    fn bytes(mut self, form: CountForm, values: &[i64]) -> Contents {
        match form {
            CountForm::Int => self.addresses.extend_from_slice(values),
            CountForm::Count => self.counts.extend_from_slice(values),
        }
        self
    }

    /// Appends arguments that are `int` in both forms.
    fn integers(mut self, values: impl IntoIterator<Item = ContentsInteger>) -> Contents {
        self.integers.extend(values);
        self
    }
}

impl Datatype {
    pub fn combiner(&self) -> Combiner {
        self.constructor.combiner()
    }

    pub fn envelope(&self) -> Envelope {
        let contents = self.arguments();
        Envelope {
            combiner: self.combiner(),
            form: self.form,
            integers: contents.integers.len(),
            addresses: contents.addresses.len(),
            counts: contents.counts.len(),
            types: contents.types.len(),
        }
    }

    /// Returns the arguments of the constructor; an error for a predefined type, which has none.
    pub fn contents(&self) -> Result<Contents> {
        match self.constructor {
            Constructor::Named(basic) => {
                let text =
                    format!("{} is predefined and has no contents; call MPI_Type_get_envelope first", basic.name());
                Err(Error::new(Class::Type, text))
            }
            _ => Ok(self.arguments()),
        }
    }

    fn arguments(&self) -> Contents {
        let form = self.form;
        let of = |old: &Arc<Datatype>| Contents::new(std::slice::from_ref(old));
        match &self.constructor {
            Constructor::Named(_) => Contents::default(),
            Constructor::Dup(old) => of(old),
            Constructor::Contiguous { count, old } => of(old).numbers(form, &[*count]),
            Constructor::Vector { count, blocklength, stride, old } => {
                of(old).numbers(form, &[*count, *blocklength, *stride])
            }
            Constructor::Hvector { count, blocklength, stride, old } => {
                of(old).numbers(form, &[*count, *blocklength]).bytes(form, &[*stride])
            }
            Constructor::Indexed { blocklengths, displacements, old } => of(old)
                .numbers(form, &[blocklengths.len() as i64])
                .numbers(form, blocklengths)
                .numbers(form, displacements),
            Constructor::Hindexed { blocklengths, displacements, old } => of(old)
                .numbers(form, &[blocklengths.len() as i64])
                .numbers(form, blocklengths)
                .bytes(form, displacements),
            Constructor::IndexedBlock { blocklength, displacements, old } => {
                of(old).numbers(form, &[displacements.len() as i64, *blocklength]).numbers(form, displacements)
            }
            Constructor::HindexedBlock { blocklength, displacements, old } => {
                of(old).numbers(form, &[displacements.len() as i64, *blocklength]).bytes(form, displacements)
            }
            Constructor::Struct { blocklengths, displacements, types } => Contents::new(types)
                .numbers(form, &[blocklengths.len() as i64])
                .numbers(form, blocklengths)
                .bytes(form, displacements),
            Constructor::Subarray { sizes, subsizes, starts, order, old } => of(old)
                .integers([ContentsInteger::Number(sizes.len() as i64)])
                .numbers(form, sizes)
                .numbers(form, subsizes)
                .numbers(form, starts)
                .integers([ContentsInteger::Order(*order)]),
            Constructor::Darray { grid, old } => darray(grid, form, of(old)),
            Constructor::F90Real { precision, range, .. } | Constructor::F90Complex { precision, range, .. } => {
                Contents::default().integers([*precision, *range].map(optional))
            }
            Constructor::F90Integer { range, .. } => Contents::default().integers([ContentsInteger::Number(*range)]),
            Constructor::Resized { lb, extent, old } => of(old).bytes(form, &[*lb, *extent]),
        }
    }
}

fn optional(value: Option<i64>) -> ContentsInteger {
    value.map_or(ContentsInteger::Undefined, ContentsInteger::Number)
}

fn darray(grid: &Darray, form: CountForm, contents: Contents) -> Contents {
    let dargs = grid.dargs.iter().map(|darg| match darg {
        DistributionArg::Default => ContentsInteger::DefaultDarg,
        DistributionArg::Size(size) => ContentsInteger::Number(*size),
    });
    contents
        .integers([grid.size, grid.rank, grid.gsizes.len() as i64].map(ContentsInteger::Number))
        .numbers(form, &grid.gsizes)
        .integers(grid.distribs.iter().map(|&d| ContentsInteger::Distribution(d)))
        .integers(dargs)
        .integers(grid.psizes.iter().map(|&p| ContentsInteger::Number(p)))
        .integers([ContentsInteger::Order(grid.order)])
}
