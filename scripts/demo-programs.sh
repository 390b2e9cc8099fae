# demo-programs.sh: where demo.sh and demo-lab.sh find what they run, sourced by both with PREFIX as $1 and root set.
prefix=$(cd "$1" && pwd)
"$root/scripts/demo-fetch.sh"
imb=$root/build/imb
python=$root/build/mpi4py
PATH=$prefix/bin:$PATH
export PATH

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
