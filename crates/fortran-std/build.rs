//! Sets the linker arguments of libmpifort_abi.so.1 (`link`).

#[path = "../fortran/link.rs"]
mod link;

fn main() {
    link::link("libmpifort_abi.so.1", "libmpi_abi.so.1", "");
}
