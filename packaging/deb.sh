#!/bin/sh
# Makes Debian packages of an installation: packaging/deb.sh PREFIX OUT
#
# PREFIX is what install.sh has laid out. OUT gets hawser_VERSION_ARCH.deb and, with the debug information,
# hawser-dbgsym_VERSION_ARCH.deb. The installation lies whole in /usr/lib/TRIPLET/hawser, as Debian's Open MPI does;
# /usr/bin has its tools as mpiexec.hawser and so on, which the alternatives groups of Debian's MPI packages offer at a
# priority below theirs.
# Called by `make deb` and by tests/test_deb.py, on Debian or Ubuntu. Nothing is built here.
set -eu

[ $# -eq 2 ] || { sed -n '2p' "$0" | sed 's/^# //' >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
command -v dpkg-shlibdeps >/dev/null || { echo "deb.sh: dpkg-shlibdeps is missing: install dpkg-dev" >&2; exit 1; }
version=$(sed -n 's/^Version: //p' "$prefix/lib/pkgconfig/mpi.pc")
arch=$(dpkg --print-architecture)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
umask 022
tree=$work/hawser
home=/usr/lib/$triplet/hawser
mkdir -p "$tree$home" "$tree/usr/bin" "$tree/usr/share/man/man1" "$tree/usr/share/doc/hawser"
# The alternatives groups put links there.
mkdir -p "$tree/usr/include/$triplet" "$tree/usr/lib/$triplet/pkgconfig"
cp -a "$prefix/bin" "$prefix/lib" "$prefix/include" "$prefix/libexec" "$tree$home"
# Module files are for one version of a compiler: mpifort makes those of the user's.
rm -rf "$tree$home/lib/hawser"
# The prefix has the modes of whoever installed it.
find "$tree" -type d -exec chmod 755 {} +

# The alternatives groups have links to these files in other folders.
sed -i "s|^prefix=.*|prefix=$home|" "$tree$home"/lib/pkgconfig/*.pc

for name in mpiexec mpirun mpicc mpicxx mpifort mpicc_abi mpicxx_abi mpifort_abi; do
    ln -s "../lib/$triplet/hawser/bin/$name" "$tree/usr/bin/$name.hawser"
done
for name in hawser-info hawser-bench; do
    ln -s "../lib/$triplet/hawser/bin/$name" "$tree/usr/bin/$name"
done
man=$tree/usr/share/man/man1
for page in mpiexec mpicc; do
    gzip -9n <"$prefix/share/man/man1/$page.1" >"$man/$page.hawser.1.gz"
done
for page in "$prefix"/share/man/man1/hawser-*.1; do gzip -9n <"$page" >"$man/${page##*/}.gz"; done
for name in mpicxx mpifort mpicc_abi mpicxx_abi mpifort_abi; do ln -s mpicc.hawser.1.gz "$man/$name.hawser.1.gz"; done
ln -s mpiexec.hawser.1.gz "$man/mpirun.hawser.1.gz"

doc=$tree/usr/share/doc/hawser
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Hawser

Files: *
Copyright: 2026 The authors of Hawser
License: Apache-2.0
 On Debian systems, the text of this license is in /usr/share/common-licenses/Apache-2.0.
END
gzip -9n <"$root/CHANGELOG.md" >"$doc/CHANGELOG.md.gz"
# Debian's own form, in which its tools read the version.
gzip -9n >"$doc/changelog.gz" <<END
hawser ($version) unstable; urgency=medium

  * The changes are in /usr/share/doc/hawser/CHANGELOG.md.gz.

 -- Hawser developers <hawser@example.invalid>  $(LC_ALL=C date -R -u -r "$root/CHANGELOG.md")
END

"$here/split-debug.sh" "$tree" "$work/hawser-dbgsym/usr/lib/debug" >"$work/files"
# Policy 8.1: shared libraries are not executable.
find "$tree$home/lib" -type f -name 'lib*.so*' -exec chmod 644 {} +

# fields PACKAGE DEPENDS, with the description on standard input
fields() {
    cat <<END
Package: $1
Version: $version
Architecture: $arch
Maintainer: Hawser developers <hawser@example.invalid>
Depends: $2
Installed-Size: $(du -sk "$work/$1" | cut -f 1)
END
    cat
}

# dpkg-shlibdeps names the packages of the libraries that these files need; it wants to see a source package.
mkdir "$work/debian"
printf 'Source: hawser\n\nPackage: hawser\nArchitecture: any\n' >"$work/debian/control"
mkdir "$tree/DEBIAN" "$work/hawser-dbgsym/DEBIAN"
(cd "$work" && xargs dpkg-shlibdeps -l"$tree$home/lib" -O <files >depends 2>log) || { cat "$work/log" >&2; exit 1; }
depends=$(sed -n 's/^shlibs:Depends=//p' "$work/depends")
[ -n "$depends" ] || { echo "deb.sh: dpkg-shlibdeps has found no package that the files need" >&2; exit 1; }

fields hawser "$depends" >"$tree/DEBIAN/control" <<END
Suggests: gcc | c-compiler, gfortran | fortran-compiler, openssh-client, python3-mpi4py
Section: devel
Priority: optional
Description: MPI for clusters of commodity computers
 Hawser runs programs built for MPICH, Intel MPI, MVAPICH or the standard ABI
 of MPI 5.0 as they are, over shared memory and plain Ethernet. This package
 has the libraries, the launcher mpiexec.hawser, the compiler wrappers and the
 benchmark.
 .
 Beside other MPI packages it is chosen by "update-alternatives --set mpirun
 /usr/bin/mpirun.hawser".
END
fields hawser-dbgsym "hawser (= $version)" >"$work/hawser-dbgsym/DEBIAN/control" <<END
Section: debug
Priority: optional
Description: debug symbols for hawser
END

# Debian's MPICH has priority 40 in these groups, its Open MPI 50.
sed "s|@HOME@|$home|g; s|@TRIPLET@|$triplet|g" "$here/debian/postinst" >"$tree/DEBIAN/postinst"
sed "s|@HOME@|$home|g; s|@TRIPLET@|$triplet|g" "$here/debian/prerm" >"$tree/DEBIAN/prerm"
chmod 755 "$tree/DEBIAN/postinst" "$tree/DEBIAN/prerm"

for package in hawser hawser-dbgsym; do
    (cd "$work/$package" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
    dpkg-deb --root-owner-group -Zxz --build "$work/$package" "$out" >/dev/null
    echo "$out/${package}_${version}_$arch.deb"
done
