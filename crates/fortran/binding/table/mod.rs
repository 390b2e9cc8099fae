//! Entry points that convert each argument by itself, written by tools/binding.py.

mod coll;
mod comm;
mod datatype;
mod env;
mod io;
mod p2p;
mod rma;
