//! The oracle: a typemap spelled out entry by entry, as MPI-5.0 §5.1 defines types, with none of the
//! engine's code. It is slow and plain; `against_typemap` compares the engine with it.

use hawser_datatype::{ArrayOrder, Basic, CountForm, Darray, Datatype, Distribution, DistributionArg, Repr};
use std::sync::Arc;

/// One entry of a typemap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TypemapEntry {
    /// A basic type and its displacement.
    Data(Basic, i64),
    Lb(i64),
    Ub(i64),
    /// The end of a struct's padding: an upper bound that a marker overrides.
    Pad(i64),
}

impl TypemapEntry {
    fn moved(self, by: i64) -> TypemapEntry {
        match self {
            TypemapEntry::Data(basic, at) => TypemapEntry::Data(basic, at + by),
            TypemapEntry::Lb(at) => TypemapEntry::Lb(at + by),
            TypemapEntry::Ub(at) => TypemapEntry::Ub(at + by),
            TypemapEntry::Pad(at) => TypemapEntry::Pad(at + by),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Typemap(pub Vec<TypemapEntry>);

impl Typemap {
    pub fn data(&self) -> impl Iterator<Item = (Basic, i64)> + '_ {
        self.0.iter().filter_map(|e| if let TypemapEntry::Data(basic, at) = e { Some((*basic, *at)) } else { None })
    }

    pub fn size(&self) -> u64 {
        self.data().map(|(basic, _)| basic.size()).sum()
    }

    pub fn lb(&self) -> i64 {
        let marked = self.0.iter().filter_map(|e| if let TypemapEntry::Lb(at) = e { Some(*at) } else { None });
        let any = self.0.iter().filter_map(|e| match e {
            TypemapEntry::Data(_, at) | TypemapEntry::Ub(at) => Some(*at),
            _ => None,
        });
        marked.min().or(any.min()).unwrap_or(0)
    }

    pub fn ub(&self) -> i64 {
        let marked = self.0.iter().filter_map(|e| if let TypemapEntry::Ub(at) = e { Some(*at) } else { None });
        let any = self.0.iter().filter_map(|e| match e {
            TypemapEntry::Data(basic, at) => Some(at + basic.size() as i64),
            TypemapEntry::Lb(at) | TypemapEntry::Pad(at) => Some(*at),
            TypemapEntry::Ub(_) => None,
        });
        marked.max().or(any.max()).unwrap_or(0)
    }

    pub fn extent(&self) -> i64 {
        self.ub() - self.lb()
    }

    pub fn true_lb(&self) -> i64 {
        self.data().map(|(_, at)| at).min().unwrap_or(0)
    }

    pub fn true_ub(&self) -> i64 {
        self.data().map(|(basic, at)| at + basic.size() as i64).max().unwrap_or(0)
    }

    fn of(basic: Basic) -> Typemap {
        Typemap(match (basic, basic.repr()) {
            (Basic::Lb, _) => vec![TypemapEntry::Lb(0)],
            (Basic::Ub, _) => vec![TypemapEntry::Ub(0)],
            (_, Repr::Pair(value, index)) => {
                let at = value.size().next_multiple_of(index.align()) as i64;
                vec![
                    TypemapEntry::Data(value, 0),
                    TypemapEntry::Data(index, at),
                    TypemapEntry::Pad(basic.extent() as i64),
                ]
            }
            _ => vec![TypemapEntry::Data(basic, 0)],
        })
    }

    fn append(&mut self, other: &Typemap, at: i64, copies: i64) {
        let extent = other.extent();
        for i in 0..copies {
            self.0.extend(other.0.iter().map(|e| e.moved(at + i * extent)));
        }
    }

    /// Displacements of all data bytes of `count` elements, in packed order.
    pub fn bytes(&self, count: u64) -> Vec<i64> {
        let mut bytes = Vec::new();
        for i in 0..count as i64 {
            for (basic, at) in self.data() {
                bytes.extend((0..basic.size() as i64).map(|b| i * self.extent() + at + b));
            }
        }
        bytes
    }
}

/// A constructor call; displacements of index kinds count extents, the others bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeSpec {
    Basic(Basic),
    Dup(Box<TypeSpec>),
    Contiguous(i64, Box<TypeSpec>),
    Vector(i64, i64, i64, Box<TypeSpec>),
    Hvector(i64, i64, i64, Box<TypeSpec>),
    Indexed(Vec<(i64, i64)>, Box<TypeSpec>),
    Hindexed(Vec<(i64, i64)>, Box<TypeSpec>),
    IndexedBlock(i64, Vec<i64>, Box<TypeSpec>),
    HindexedBlock(i64, Vec<i64>, Box<TypeSpec>),
    Struct(Vec<(i64, i64, TypeSpec)>),
    Resized(i64, i64, Box<TypeSpec>),
    /// Size, subsize and start of each dimension.
    Subarray(Vec<(i64, i64, i64)>, ArrayOrder, Box<TypeSpec>),
    Darray(Darray, Box<TypeSpec>),
}

/// Builds types, equal ones once: programs make a type and then use it in many places.
#[derive(Default)]
struct TypeCache(Vec<(TypeSpec, Arc<Datatype>)>);

impl TypeCache {
    fn build(&mut self, spec: &TypeSpec) -> Arc<Datatype> {
        if let Some((_, made)) = self.0.iter().find(|(other, _)| other == spec) {
            return made.clone();
        }
        let made = self.construct(spec).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        self.0.push((spec.clone(), made.clone()));
        made
    }

    fn construct(&mut self, spec: &TypeSpec) -> hawser_base::Result<Arc<Datatype>> {
        let form = CountForm::Int;
        let split = |blocks: &[(i64, i64)]| -> (Vec<i64>, Vec<i64>) { blocks.iter().copied().unzip() };
        match spec {
            TypeSpec::Basic(basic) => Ok(Datatype::basic(*basic).clone()),
            TypeSpec::Dup(old) => Datatype::dup(&self.build(old)),
            TypeSpec::Contiguous(n, old) => Datatype::contiguous(*n, &self.build(old), form),
            TypeSpec::Vector(n, b, s, old) => Datatype::vector(*n, *b, *s, &self.build(old), form),
            TypeSpec::Hvector(n, b, s, old) => Datatype::hvector(*n, *b, *s, &self.build(old), form),
            TypeSpec::Indexed(blocks, old) => {
                let (lengths, disps) = split(blocks);
                Datatype::indexed(&lengths, &disps, &self.build(old), form)
            }
            TypeSpec::Hindexed(blocks, old) => {
                let (lengths, disps) = split(blocks);
                Datatype::hindexed(&lengths, &disps, &self.build(old), form)
            }
            TypeSpec::IndexedBlock(b, disps, old) => Datatype::indexed_block(*b, disps, &self.build(old), form),
            TypeSpec::HindexedBlock(b, disps, old) => Datatype::hindexed_block(*b, disps, &self.build(old), form),
            TypeSpec::Struct(members) => {
                let (lengths, disps) = split(&members.iter().map(|m| (m.0, m.1)).collect::<Vec<_>>());
                let types: Vec<_> = members.iter().map(|m| self.build(&m.2)).collect();
                Datatype::structure(&lengths, &disps, &types, form)
            }
            TypeSpec::Resized(lb, extent, old) => Datatype::resized(*lb, *extent, &self.build(old), form),
            TypeSpec::Subarray(dims, order, old) => {
                let column = |f: fn(&(i64, i64, i64)) -> i64| dims.iter().map(f).collect::<Vec<_>>();
                let (sizes, parts, starts) = (column(|d| d.0), column(|d| d.1), column(|d| d.2));
                Datatype::subarray(&sizes, &parts, &starts, *order, &self.build(old), form)
            }
            TypeSpec::Darray(grid, old) => Datatype::darray(grid.clone(), &self.build(old), form),
        }
    }
}

impl TypeSpec {
    pub fn build(&self) -> Arc<Datatype> {
        TypeCache::default().build(self)
    }

    /// The predefined type that all of it is made of; none of a struct.
    pub fn basic(&self) -> Option<Basic> {
        match self {
            TypeSpec::Basic(basic) => Some(*basic),
            TypeSpec::Struct(_) => None,
            TypeSpec::Dup(old)
            | TypeSpec::Contiguous(_, old)
            | TypeSpec::Vector(.., old)
            | TypeSpec::Hvector(.., old)
            | TypeSpec::Indexed(_, old)
            | TypeSpec::Hindexed(_, old)
            | TypeSpec::IndexedBlock(.., old)
            | TypeSpec::HindexedBlock(.., old)
            | TypeSpec::Resized(.., old)
            | TypeSpec::Subarray(.., old)
            | TypeSpec::Darray(_, old) => old.basic(),
        }
    }

    pub fn typemap(&self) -> Typemap {
        let mut map = Typemap::default();
        match self {
            TypeSpec::Basic(basic) => return Typemap::of(*basic),
            TypeSpec::Dup(old) => return old.typemap(),
            TypeSpec::Contiguous(n, old) => map.append(&old.typemap(), 0, *n),
            TypeSpec::Vector(n, b, s, old) => {
                let old = old.typemap();
                (0..*n).for_each(|i| map.append(&old, i * s * old.extent(), *b));
            }
            TypeSpec::Hvector(n, b, s, old) => {
                let old = old.typemap();
                (0..*n).for_each(|i| map.append(&old, i * s, *b));
            }
            TypeSpec::Indexed(blocks, old) => {
                let old = old.typemap();
                blocks.iter().for_each(|(b, d)| map.append(&old, d * old.extent(), *b));
            }
            TypeSpec::Hindexed(blocks, old) => {
                let old = old.typemap();
                blocks.iter().for_each(|(b, d)| map.append(&old, *d, *b));
            }
            TypeSpec::IndexedBlock(b, disps, old) => {
                let old = old.typemap();
                disps.iter().for_each(|d| map.append(&old, d * old.extent(), *b));
            }
            TypeSpec::HindexedBlock(b, disps, old) => {
                let old = old.typemap();
                disps.iter().for_each(|d| map.append(&old, *d, *b));
            }
            TypeSpec::Struct(members) => {
                members.iter().for_each(|(b, d, member)| map.append(&member.typemap(), *d, *b));
                pad(&mut map);
            }
            TypeSpec::Resized(lb, extent, old) => {
                map.0.extend(old.typemap().data().map(|(basic, at)| TypemapEntry::Data(basic, at)));
                map.0.extend([TypemapEntry::Lb(*lb), TypemapEntry::Ub(lb + extent)]);
            }
            TypeSpec::Subarray(dims, order, old) => {
                let sizes: Vec<i64> = dims.iter().map(|d| d.0).collect();
                array(&mut map, &sizes, *order, &old.typemap(), |i, at| {
                    (dims[i].2..dims[i].2 + dims[i].1).contains(&at)
                });
            }
            TypeSpec::Darray(grid, old) => {
                array(&mut map, &grid.gsizes, grid.order, &old.typemap(), |i, at| {
                    owner(grid, i, at) == coordinate(grid, i)
                });
            }
        }
        map
    }
}

/// Rounds the extent of a struct up to its largest alignment.
fn pad(map: &mut Typemap) {
    let align = map.data().map(|(basic, _)| basic.align()).max().unwrap_or(1) as i64;
    if !map.0.is_empty() && !map.0.iter().any(|e| matches!(e, TypemapEntry::Ub(_))) {
        let (lb, mut ub) = (map.lb(), map.ub());
        while (ub - lb).rem_euclid(align) != 0 {
            ub += 1;
        }
        map.0.push(TypemapEntry::Pad(ub));
    }
}

/// The elements of a whole array that `mine` selects, with the bounds of the whole.
fn array(map: &mut Typemap, sizes: &[i64], order: ArrayOrder, old: &Typemap, mine: impl Fn(usize, i64) -> bool) {
    let total: i64 = sizes.iter().product();
    for element in 0..total {
        let mut rest = element;
        let mut inside = true;
        let dims: Vec<usize> = match order {
            ArrayOrder::C => (0..sizes.len()).rev().collect(),
            ArrayOrder::Fortran => (0..sizes.len()).collect(),
        };
        for i in dims {
            inside &= mine(i, rest % sizes[i]);
            rest /= sizes[i];
        }
        if inside {
            let data = old.data().map(|(basic, at)| TypemapEntry::Data(basic, at + element * old.extent()));
            map.0.extend(data);
        }
    }
    map.0.extend([TypemapEntry::Lb(0), TypemapEntry::Ub(total * old.extent())]);
}

/// The process of dimension `i` that element `at` was dealt to.
fn owner(grid: &Darray, i: usize, at: i64) -> i64 {
    let (n, procs) = (grid.gsizes[i], grid.psizes[i]);
    let block = match (grid.distribs[i], grid.dargs[i]) {
        (Distribution::None, _) => return 0,
        (_, DistributionArg::Size(size)) => size,
        (Distribution::Block, DistributionArg::Default) => (n + procs - 1) / procs,
        (Distribution::Cyclic, DistributionArg::Default) => 1,
    };
    at / block % procs
}

fn coordinate(grid: &Darray, i: usize) -> i64 {
    let below: i64 = grid.psizes[i + 1..].iter().product();
    grid.rank / below % grid.psizes[i]
}
