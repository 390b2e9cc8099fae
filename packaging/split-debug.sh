#!/bin/sh
# Takes the debug information out of programs and libraries: packaging/split-debug.sh FOLDER DEBUG
#
# Each ELF file below FOLDER is stripped in place; its debug information goes to DEBUG/.build-id/XX/YYY.debug, where gdb
# looks for it by the file's build id if DEBUG is one of its debug-file-directories (/usr/lib/debug is one). The names
# of the files are printed.
# Called by wheel.sh and deb.sh on copies, never on what cargo built.
set -eu

folder=$1 debug=$2

build_id() { readelf -n "$1" 2>/dev/null | sed -n 's/^ *Build ID: *//p'; }

find "$folder" -type f | while read -r file; do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    id=$(build_id "$file")
    if [ -n "$id" ]; then
        rest=${id#??}
        apart=$debug/.build-id/${id%"$rest"}/$rest.debug
        mkdir -p "$(dirname "$apart")"
        objcopy --only-keep-debug --compress-debug-sections "$file" "$apart"
    fi
    strip --strip-unneeded "$file"
    echo "$file"
done
