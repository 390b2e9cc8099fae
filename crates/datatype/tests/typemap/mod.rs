//! The oracle: a typemap spelled out entry by entry, as MPI-5.0 §5.1 defines types, with none of the
//! engine's code. It is slow and plain; `against_typemap` compares the engine with it.

use hawser_datatype::{Basic, Darg, Darray, Datatype, Distribution, Form, Order, Repr};
use std::sync::Arc;

/// One entry of a typemap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// A basic type and its displacement.
    Data(Basic, i64),
    Lb(i64),
    Ub(i64),
    /// The end of a struct's padding: an upper bound that a marker overrides.
    Pad(i64),
}

impl Entry {
    fn moved(self, by: i64) -> Entry {
        match self {
            Entry::Data(basic, at) => Entry::Data(basic, at + by),
            Entry::Lb(at) => Entry::Lb(at + by),
            Entry::Ub(at) => Entry::Ub(at + by),
            Entry::Pad(at) => Entry::Pad(at + by),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Typemap(pub Vec<Entry>);

impl Typemap {
    pub fn data(&self) -> impl Iterator<Item = (Basic, i64)> + '_ {
        self.0.iter().filter_map(|e| if let Entry::Data(basic, at) = e { Some((*basic, *at)) } else { None })
    }

    pub fn size(&self) -> u64 {
        self.data().map(|(basic, _)| basic.size()).sum()
    }

    pub fn lb(&self) -> i64 {
        let marked = self.0.iter().filter_map(|e| if let Entry::Lb(at) = e { Some(*at) } else { None });
        let any = self.0.iter().filter_map(|e| match e {
            Entry::Data(_, at) | Entry::Ub(at) => Some(*at),
            _ => None,
        });
        marked.min().or(any.min()).unwrap_or(0)
    }

    pub fn ub(&self) -> i64 {
        let marked = self.0.iter().filter_map(|e| if let Entry::Ub(at) = e { Some(*at) } else { None });
        let any = self.0.iter().filter_map(|e| match e {
            Entry::Data(basic, at) => Some(at + basic.size() as i64),
            Entry::Lb(at) | Entry::Pad(at) => Some(*at),
            Entry::Ub(_) => None,
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
            (Basic::Lb, _) => vec![Entry::Lb(0)],
            (Basic::Ub, _) => vec![Entry::Ub(0)],
            (_, Repr::Pair(value, index)) => {
                let at = value.size().next_multiple_of(index.align()) as i64;
                vec![Entry::Data(value, 0), Entry::Data(index, at), Entry::Pad(basic.extent() as i64)]
            }
            _ => vec![Entry::Data(basic, 0)],
        })
    }

    fn place(&mut self, other: &Typemap, at: i64, copies: i64) {
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
pub enum Spec {
    Basic(Basic),
    Dup(Box<Spec>),
    Contiguous(i64, Box<Spec>),
    Vector(i64, i64, i64, Box<Spec>),
    Hvector(i64, i64, i64, Box<Spec>),
    Indexed(Vec<(i64, i64)>, Box<Spec>),
    Hindexed(Vec<(i64, i64)>, Box<Spec>),
    IndexedBlock(i64, Vec<i64>, Box<Spec>),
    HindexedBlock(i64, Vec<i64>, Box<Spec>),
    Struct(Vec<(i64, i64, Spec)>),
    Resized(i64, i64, Box<Spec>),
    /// Size, subsize and start of each dimension.
    Subarray(Vec<(i64, i64, i64)>, Order, Box<Spec>),
    Darray(Darray, Box<Spec>),
}

/// Builds types, equal ones once: programs make a type and then use it in many places.
#[derive(Default)]
struct Factory(Vec<(Spec, Arc<Datatype>)>);

impl Factory {
    fn build(&mut self, spec: &Spec) -> Arc<Datatype> {
        if let Some((_, made)) = self.0.iter().find(|(other, _)| other == spec) {
            return made.clone();
        }
        let made = self.construct(spec).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        self.0.push((spec.clone(), made.clone()));
        made
    }

    fn construct(&mut self, spec: &Spec) -> hawser_base::Result<Arc<Datatype>> {
        let form = Form::Int;
        let split = |blocks: &[(i64, i64)]| -> (Vec<i64>, Vec<i64>) { blocks.iter().copied().unzip() };
        match spec {
            Spec::Basic(basic) => Ok(Datatype::basic(*basic).clone()),
            Spec::Dup(old) => Datatype::dup(&self.build(old)),
            Spec::Contiguous(n, old) => Datatype::contiguous(*n, &self.build(old), form),
            Spec::Vector(n, b, s, old) => Datatype::vector(*n, *b, *s, &self.build(old), form),
            Spec::Hvector(n, b, s, old) => Datatype::hvector(*n, *b, *s, &self.build(old), form),
            Spec::Indexed(blocks, old) => {
                let (lengths, disps) = split(blocks);
                Datatype::indexed(&lengths, &disps, &self.build(old), form)
            }
            Spec::Hindexed(blocks, old) => {
                let (lengths, disps) = split(blocks);
                Datatype::hindexed(&lengths, &disps, &self.build(old), form)
            }
            Spec::IndexedBlock(b, disps, old) => Datatype::indexed_block(*b, disps, &self.build(old), form),
            Spec::HindexedBlock(b, disps, old) => Datatype::hindexed_block(*b, disps, &self.build(old), form),
            Spec::Struct(members) => {
                let (lengths, disps) = split(&members.iter().map(|m| (m.0, m.1)).collect::<Vec<_>>());
                let types: Vec<_> = members.iter().map(|m| self.build(&m.2)).collect();
                Datatype::structure(&lengths, &disps, &types, form)
            }
            Spec::Resized(lb, extent, old) => Datatype::resized(*lb, *extent, &self.build(old), form),
            Spec::Subarray(dims, order, old) => {
                let column = |f: fn(&(i64, i64, i64)) -> i64| dims.iter().map(f).collect::<Vec<_>>();
                let (sizes, parts, starts) = (column(|d| d.0), column(|d| d.1), column(|d| d.2));
                Datatype::subarray(&sizes, &parts, &starts, *order, &self.build(old), form)
            }
            Spec::Darray(grid, old) => Datatype::darray(grid.clone(), &self.build(old), form),
        }
    }
}

impl Spec {
    pub fn build(&self) -> Arc<Datatype> {
        Factory::default().build(self)
    }

    /// The predefined type that all of it is made of; none of a struct.
    pub fn basic(&self) -> Option<Basic> {
        match self {
            Spec::Basic(basic) => Some(*basic),
            Spec::Struct(_) => None,
            Spec::Dup(old)
            | Spec::Contiguous(_, old)
            | Spec::Vector(.., old)
            | Spec::Hvector(.., old)
            | Spec::Indexed(_, old)
            | Spec::Hindexed(_, old)
            | Spec::IndexedBlock(.., old)
            | Spec::HindexedBlock(.., old)
            | Spec::Resized(.., old)
            | Spec::Subarray(.., old)
            | Spec::Darray(_, old) => old.basic(),
        }
    }

    pub fn typemap(&self) -> Typemap {
        let mut map = Typemap::default();
        match self {
            Spec::Basic(basic) => return Typemap::of(*basic),
            Spec::Dup(old) => return old.typemap(),
            Spec::Contiguous(n, old) => map.place(&old.typemap(), 0, *n),
            Spec::Vector(n, b, s, old) => {
                let old = old.typemap();
                (0..*n).for_each(|i| map.place(&old, i * s * old.extent(), *b));
            }
            Spec::Hvector(n, b, s, old) => {
                let old = old.typemap();
                (0..*n).for_each(|i| map.place(&old, i * s, *b));
            }
            Spec::Indexed(blocks, old) => {
                let old = old.typemap();
                blocks.iter().for_each(|(b, d)| map.place(&old, d * old.extent(), *b));
            }
            Spec::Hindexed(blocks, old) => {
                let old = old.typemap();
                blocks.iter().for_each(|(b, d)| map.place(&old, *d, *b));
            }
            Spec::IndexedBlock(b, disps, old) => {
                let old = old.typemap();
                disps.iter().for_each(|d| map.place(&old, d * old.extent(), *b));
            }
            Spec::HindexedBlock(b, disps, old) => {
                let old = old.typemap();
                disps.iter().for_each(|d| map.place(&old, *d, *b));
            }
            Spec::Struct(members) => {
                members.iter().for_each(|(b, d, member)| map.place(&member.typemap(), *d, *b));
                pad(&mut map);
            }
            Spec::Resized(lb, extent, old) => {
                map.0.extend(old.typemap().data().map(|(basic, at)| Entry::Data(basic, at)));
                map.0.extend([Entry::Lb(*lb), Entry::Ub(lb + extent)]);
            }
            Spec::Subarray(dims, order, old) => {
                let sizes: Vec<i64> = dims.iter().map(|d| d.0).collect();
                array(&mut map, &sizes, *order, &old.typemap(), |i, at| {
                    (dims[i].2..dims[i].2 + dims[i].1).contains(&at)
                });
            }
            Spec::Darray(grid, old) => {
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
    if !map.0.is_empty() && !map.0.iter().any(|e| matches!(e, Entry::Ub(_))) {
        let (lb, mut ub) = (map.lb(), map.ub());
        while (ub - lb).rem_euclid(align) != 0 {
            ub += 1;
        }
        map.0.push(Entry::Pad(ub));
    }
}

/// The elements of a whole array that `mine` selects, with the bounds of the whole.
fn array(map: &mut Typemap, sizes: &[i64], order: Order, old: &Typemap, mine: impl Fn(usize, i64) -> bool) {
    let total: i64 = sizes.iter().product();
    for element in 0..total {
        let mut rest = element;
        let mut inside = true;
        let dims: Vec<usize> = match order {
            Order::C => (0..sizes.len()).rev().collect(),
            Order::Fortran => (0..sizes.len()).collect(),
        };
        for i in dims {
            inside &= mine(i, rest % sizes[i]);
            rest /= sizes[i];
        }
        if inside {
            let data = old.data().map(|(basic, at)| Entry::Data(basic, at + element * old.extent()));
            map.0.extend(data);
        }
    }
    map.0.extend([Entry::Lb(0), Entry::Ub(total * old.extent())]);
}

/// The process of dimension `i` that element `at` was dealt to.
fn owner(grid: &Darray, i: usize, at: i64) -> i64 {
    let (n, procs) = (grid.gsizes[i], grid.psizes[i]);
    let block = match (grid.distribs[i], grid.dargs[i]) {
        (Distribution::None, _) => return 0,
        (_, Darg::Size(size)) => size,
        (Distribution::Block, Darg::Default) => (n + procs - 1) / procs,
        (Distribution::Cyclic, Darg::Default) => 1,
    };
    at / block % procs
}

fn coordinate(grid: &Darray, i: usize) -> i64 {
    let below: i64 = grid.psizes[i + 1..].iter().product();
    grid.rank / below % grid.psizes[i]
}
