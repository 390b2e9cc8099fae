//! Sets the linker arguments of libmpifort.so.12 (`link`).

#[path = "../fortran/link.rs"]
mod link;

fn main() {
    link::link("libmpifort.so.12", "libmpi.so.12", "void *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;");
}
