# demo-programs.sh: what demo.sh and demo-lab.sh run, sourced by both with PREFIX as $1 and root set.
# Intel's IMB binaries come from the PyPI package impi-rt (nothing else of it is used), mpi4py from its wheel.
prefix=$(cd "$1" && pwd)
imb=$root/build/imb
python=$root/build/mpi4py
"$root/scripts/venv.sh" "$imb" impi-rt
"$root/scripts/venv.sh" "$python" mpi4py
PATH=$prefix/bin:$PATH
export PATH

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
