"""lab-rsh [options] HOST COMMAND...: runs COMMAND on a host of the lab as ssh would; `mpiexec -launcher-exec lab-rsh`.

The words are joined and given to the far end's sh; standard streams are relayed through pipes, so that the far end
sees their end when this process is killed; the exit code is the command's, 255 where the host cannot be reached or
the command died by a signal. ssh's options are taken and do nothing. The way does not use the lab's networks: it
works also with every cable pulled. The far end is `session` in keeper.py; lab.py puts this file into every host.
"""

import os
import signal
import socket
import struct
import sys
import threading

OPTIONS_WITH_VALUE = "bcDEeFIiJLlmOopQRSWw"  # ssh(1)
BLOCK_BYTES = 1 << 16


def main():
    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if len(option) == 2 and option[1] in OPTIONS_WITH_VALUE:
            words.pop(0)
    if len(words) < 2:
        leave("usage: lab-rsh [options] HOST COMMAND...")
    host, command = words[0].rpartition("@")[2], " ".join(words[1:])
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(f"/run/lab/{host}")
    except FileNotFoundError:
        leave(f"lab-rsh: there is no host {host} in this lab")
    except OSError as error:
        leave(f"lab-rsh: connect to host {host}: {error.strerror}")
    far_in, near_in = os.pipe()
    near_out, far_out = os.pipe()
    near_err, far_err = os.pipe()
    streams = struct.pack("3i", far_in, far_out, far_err)
    connection.sendmsg([command.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    for stream in (far_in, far_out, far_err):
        os.close(stream)
    threading.Thread(target=relay, args=(0, near_in), daemon=True).start()
    outputs = [threading.Thread(target=relay, args=pair, daemon=True) for pair in ((near_out, 1), (near_err, 2))]
    for thread in outputs:
        thread.start()
    for thread in outputs:
        thread.join()
    status = connection.recv(1)
    if not status:
        leave(f"lab-rsh: connection to {host} closed")
    os._exit(status[0])


def relay(source, target):
    try:
        while block := os.read(source, BLOCK_BYTES):
            while block:
                block = block[os.write(target, block):]
    except OSError:
        pass  # nobody reads any more
    if target > 2:
        os.close(target)


def leave(message):
    print(message, file=sys.stderr, flush=True)
    os._exit(255)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
