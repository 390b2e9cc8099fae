"""on_host.py PID FOLDER COMMAND...: runs COMMAND in the namespaces of PID, a host's init, started by host.py.

What nsenter does, but for three things: a stopped program does not stop its parent out here, which then would not reap
it and so keep the host from ending; signals that ask a program to do something are handed on; and this process lets go
of the standard streams, so that their end is the program's end. Killed itself, it takes the program with it.
"""

import ctypes
import os
import resource
import signal
import sys

NAMESPACES = ("user", "mnt", "uts", "ipc", "net", "pid")  # the user namespace first: it permits the others
HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
FROM_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # which gives them to the program as well
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def enter(pid):
    # all opened first: /proc is another one once the mount namespace is; one's own user namespace cannot be entered
    foreign = [name for name in NAMESPACES if not os.path.samefile(f"/proc/{pid}/ns/{name}", f"/proc/self/ns/{name}")]
    theirs = {name: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in foreign}
    for name, handle in theirs.items():
        if libc.setns(handle, 0) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the {name} namespace of {pid}")


def program(folder, command):
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in (*HANDED_ON, *FROM_THE_TERMINAL, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(folder)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def main():
    pid, folder, *command = sys.argv[1:]
    enter(pid)
    for number in FROM_THE_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
        program(folder, command)
    for number in HANDED_ON:
        signal.signal(number, lambda number, _frame: os.kill(child, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
    os.closerange(0, 3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
