#!/bin/sh
# debian-source.sh DIR FILE PACKAGE: the source that Debian has of a package, without Debian's changes, unpacked in DIR,
# made once: until there is DIR/FILE. The system's lists may be of binary packages alone: apt reads changed copies of
# them. Where the source cannot be had it says so, and the tests that need it are skipped.
set -eu
dir=$1 file=$2 package=$3
[ ! -e "$dir/$file" ] || exit 0
mkdir -p "$dir/apt/parts" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
get() {
    apt-get -qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$dir/apt/parts" \
        -o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" "$@" >/dev/null 2>&1
}
if ! command -v apt-get >/dev/null 2>&1; then
    echo "debian-source.sh: there is no apt-get, nothing is tested with $package"
    exit 0
fi
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$list" ] || continue
    sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb /deb-src /' "$list" >"$dir/apt/parts/${list##*/}"
done
# An update fails where one of the lists is of a repository without sources; those that it has are there all the same.
get update || true
rm -rf "$dir/new" "$dir/$package"_*.orig.tar.*
mkdir "$dir/new"
# FILE comes last to its place, so that an interrupted run is repeated.
if (cd "$dir" && get source --download-only --tar-only "$package") &&
    tar -xf "$dir/$package"_*.orig.tar.* -C "$dir/new" --strip-components 1; then
    rm -rf "$dir/apt" "$dir/${file%%/*}"
    first=${file%%/*}
    for entry in "$dir/new"/* "$dir/new"/.[!.]*; do
        [ ! -e "$entry" ] || [ "${entry##*/}" = "$first" ] || { rm -rf "$dir/${entry##*/}" && mv "$entry" "$dir/"; }
    done
    mv "$dir/new/$first" "$dir/" && rmdir "$dir/new"
else
    echo "debian-source.sh: apt-get cannot download the source of $package, nothing is tested with it"
fi
