#!/bin/sh
# demo-lab.sh PREFIX: other people's MPI programs, unmodified, on four hosts in network namespaces of this machine
# (docs/lab.md), by the Hawser installed in PREFIX.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/demo-programs.sh"

# job "OPTIONS OF THE LAB" WORDS...: an mpiexec that knows all four hosts.
job() {
    options=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    "$root/scripts/lab" --hosts 4 $options -- mpiexec -launcher-exec lab-rsh -hosts node0,node1,node2,node3 "$@"
}
figures() { grep -E '^ +[0-9]|#bytes'; }

say "Four hosts, two ranks on each"
job "" -l -ppn 2 sh -c 'echo "rank $HAWSER_RANK of $HAWSER_SIZE on $(hostname)" $(ip -4 -br addr show eth0)'

say "Intel's IMB-MPI1 PingPong, built by Intel against Intel MPI: a rank on node0, a rank on node1"
job "" -n 2 -ppn 1 "$imb/bin/IMB-MPI1" -iter 100 -msglog 2:22 PingPong | figures

say "Intel's IMB-MPI1 Allreduce: two ranks on each host"
job "" -ppn 2 "$imb/bin/IMB-MPI1" -iter 100 -npmin 8 -msglog 2:16 Allreduce | figures

say "The same while every switch port loses 1 % of all frames"
job "--loss 0.01" -ppn 2 "$imb/bin/IMB-MPI1" -iter 100 -npmin 8 -msglog 2:16 Allreduce | figures

say "A Python program under the mpi4py wheel: two ranks on each host"
job "" -ppn 2 "$python/bin/python" "$root/scripts/demo.py"
