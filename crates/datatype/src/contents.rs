//! The constructor of a type, with the arguments as they were given: MPI_Type_get_envelope and _contents (MPI-5.0
//! §5.1.13).
//!
//! Constants of an ABI (orders, distributions, MPI_UNDEFINED) stay symbols in [`Argument`]; `abi` turns them into
//! numbers. Used by `elements` and `external32`, which read the recipe as a signature.

use crate::array::{Darg, Darray, Distribution, Order};
use crate::basic::Basic;
use crate::datatype::Datatype;
use hawser_base::{Class, Error, Result};
use std::sync::Arc;

/// Which function made a type: the one with `int` and MPI_Aint arguments or its `_c` form with MPI_Count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
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

/// The constructing call.
pub(crate) enum Recipe {
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
    Subarray { sizes: Box<[i64]>, subsizes: Box<[i64]>, starts: Box<[i64]>, order: Order, old: Arc<Datatype> },
    Darray { grid: Box<Darray>, old: Arc<Datatype> },
    F90Real { basic: Basic, precision: Option<i64>, range: Option<i64> },
    F90Complex { basic: Basic, precision: Option<i64>, range: Option<i64> },
    F90Integer { basic: Basic, range: i64 },
    Resized { lb: i64, extent: i64, old: Arc<Datatype> },
}

impl Recipe {
    pub fn combiner(&self) -> Combiner {
        match self {
            Recipe::Named(_) => Combiner::Named,
            Recipe::Dup(_) => Combiner::Dup,
            Recipe::Contiguous { .. } => Combiner::Contiguous,
            Recipe::Vector { .. } => Combiner::Vector,
            Recipe::Hvector { .. } => Combiner::Hvector,
            Recipe::Indexed { .. } => Combiner::Indexed,
            Recipe::Hindexed { .. } => Combiner::Hindexed,
            Recipe::IndexedBlock { .. } => Combiner::IndexedBlock,
            Recipe::HindexedBlock { .. } => Combiner::HindexedBlock,
            Recipe::Struct { .. } => Combiner::Struct,
            Recipe::Subarray { .. } => Combiner::Subarray,
            Recipe::Darray { .. } => Combiner::Darray,
            Recipe::F90Real { .. } => Combiner::F90Real,
            Recipe::F90Complex { .. } => Combiner::F90Complex,
            Recipe::F90Integer { .. } => Combiner::F90Integer,
            Recipe::Resized { .. } => Combiner::Resized,
        }
    }
}

/// An entry of the integer array, with the constants of the ABI still as symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    Number(i64),
    Order(Order),
    Distribution(Distribution),
    /// MPI_DISTRIBUTE_DFLT_DARG.
    DefaultDarg,
    /// MPI_UNDEFINED.
    Undefined,
}

/// The result of MPI_Type_get_envelope(_c). `form` tells whether the function without `_c` may be used: it may not when
/// the type was made with MPI_Count arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub combiner: Combiner,
    pub form: Form,
    pub integers: usize,
    pub addresses: usize,
    pub counts: usize,
    pub types: usize,
}

/// The result of MPI_Type_get_contents(_c), each array in the order of MPI-5.0 §5.1.13.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub integers: Vec<Argument>,
    pub addresses: Vec<i64>,
    /// Only of types made with MPI_Count arguments.
    pub counts: Vec<i64>,
    pub types: Vec<Arc<Datatype>>,
}

impl Contents {
    fn new(types: &[Arc<Datatype>]) -> Contents {
        Contents { types: types.to_vec(), ..Contents::default() }
    }

    /// Arguments that are `int` in the short form and MPI_Count in the long one.
    fn numbers(mut self, form: Form, values: &[i64]) -> Contents {
        match form {
            Form::Int => self.integers.extend(values.iter().map(|&v| Argument::Number(v))),
            Form::Count => self.counts.extend_from_slice(values),
        }
        self
    }

    /// Arguments that are MPI_Aint in the short form and MPI_Count in the long one.
    fn bytes(mut self, form: Form, values: &[i64]) -> Contents {
        match form {
            Form::Int => self.addresses.extend_from_slice(values),
            Form::Count => self.counts.extend_from_slice(values),
        }
        self
    }

    /// Arguments that are `int` in both forms.
    fn integers(mut self, values: impl IntoIterator<Item = Argument>) -> Contents {
        self.integers.extend(values);
        self
    }
}

impl Datatype {
    pub fn combiner(&self) -> Combiner {
        self.recipe.combiner()
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

    /// An error for a named type, which has no contents.
    pub fn contents(&self) -> Result<Contents> {
        match self.recipe {
            Recipe::Named(basic) => {
                let text =
                    format!("{} is predefined and has no contents; ask MPI_Type_get_envelope first", basic.name());
                Err(Error::new(Class::Type, text))
            }
            _ => Ok(self.arguments()),
        }
    }

    fn arguments(&self) -> Contents {
        let form = self.form;
        let of = |old: &Arc<Datatype>| Contents::new(std::slice::from_ref(old));
        match &self.recipe {
            Recipe::Named(_) => Contents::default(),
            Recipe::Dup(old) => of(old),
            Recipe::Contiguous { count, old } => of(old).numbers(form, &[*count]),
            Recipe::Vector { count, blocklength, stride, old } => {
                of(old).numbers(form, &[*count, *blocklength, *stride])
            }
            Recipe::Hvector { count, blocklength, stride, old } => {
                of(old).numbers(form, &[*count, *blocklength]).bytes(form, &[*stride])
            }
            Recipe::Indexed { blocklengths, displacements, old } => of(old)
                .numbers(form, &[blocklengths.len() as i64])
                .numbers(form, blocklengths)
                .numbers(form, displacements),
            Recipe::Hindexed { blocklengths, displacements, old } => of(old)
                .numbers(form, &[blocklengths.len() as i64])
                .numbers(form, blocklengths)
                .bytes(form, displacements),
            Recipe::IndexedBlock { blocklength, displacements, old } => {
                of(old).numbers(form, &[displacements.len() as i64, *blocklength]).numbers(form, displacements)
            }
            Recipe::HindexedBlock { blocklength, displacements, old } => {
                of(old).numbers(form, &[displacements.len() as i64, *blocklength]).bytes(form, displacements)
            }
            Recipe::Struct { blocklengths, displacements, types } => Contents::new(types)
                .numbers(form, &[blocklengths.len() as i64])
                .numbers(form, blocklengths)
                .bytes(form, displacements),
            Recipe::Subarray { sizes, subsizes, starts, order, old } => of(old)
                .integers([Argument::Number(sizes.len() as i64)])
                .numbers(form, sizes)
                .numbers(form, subsizes)
                .numbers(form, starts)
                .integers([Argument::Order(*order)]),
            Recipe::Darray { grid, old } => darray(grid, form, of(old)),
            Recipe::F90Real { precision, range, .. } | Recipe::F90Complex { precision, range, .. } => {
                Contents::default().integers([*precision, *range].map(optional))
            }
            Recipe::F90Integer { range, .. } => Contents::default().integers([Argument::Number(*range)]),
            Recipe::Resized { lb, extent, old } => of(old).bytes(form, &[*lb, *extent]),
        }
    }
}

fn optional(value: Option<i64>) -> Argument {
    value.map_or(Argument::Undefined, Argument::Number)
}

fn darray(grid: &Darray, form: Form, contents: Contents) -> Contents {
    let dargs = grid.dargs.iter().map(|darg| match darg {
        Darg::Default => Argument::DefaultDarg,
        Darg::Size(size) => Argument::Number(*size),
    });
    contents
        .integers([grid.size, grid.rank, grid.gsizes.len() as i64].map(Argument::Number))
        .numbers(form, &grid.gsizes)
        .integers(grid.distribs.iter().map(|&d| Argument::Distribution(d)))
        .integers(dargs)
        .integers(grid.psizes.iter().map(|&p| Argument::Number(p)))
        .integers([Argument::Order(grid.order)])
}
