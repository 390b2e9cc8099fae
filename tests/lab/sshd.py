"""Real OpenSSH on the hosts of a lab: keys, configuration and logs are in one folder, nothing in anybody's ~/.ssh.

sshd comes from the system or, where it is not installed, from what scripts/debian.sh has unpacked beside it. Every host
serves port 22 of its own network to the user of this process, by key. Needs root: sshd parts with its privileges.
"""

import shutil
import subprocess
import time
from pathlib import Path

from .enter import ENVIRONMENT, Failure

UNPACKED = Path(__file__).resolve().parents[2] / "build" / "openssh"
# Programs that later releases (9.8, 10.0) were divided into, and the options that say where they are.
PARTS = {"sshd-session": "SshdSessionPath", "sshd-auth": "SshdAuthPath"}
READY_S, POLL_S = 10.0, 0.01

SERVER = """HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
UseDNS no
StrictModes no
PidFile none
"""
CLIENT = """IdentityFile {folder}/user_key
IdentitiesOnly yes
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile none
StrictHostKeyChecking yes
UpdateHostKeys no
BatchMode yes
"""


def program():
    """sshd's path, or None."""
    found = shutil.which("sshd", path=ENVIRONMENT["PATH"])
    ours = UNPACKED / "usr/sbin/sshd"
    return Path(found) if found else ours if ours.exists() else None


def serve(lab, folder):
    """Starts it on all hosts; the path of an `ssh` that knows the way to them, also for `mpiexec -launcher-exec`."""
    sshd, folder = program(), Path(folder)
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", folder / key], check=True)
    (folder / "known_hosts").write_text(f"* {(folder / 'host_key.pub').read_text()}")
    (folder / "sshd_config").write_text(SERVER.format(folder=folder) + "".join(parts(sshd)))
    (folder / "ssh_config").write_text(CLIENT.format(folder=folder))
    client = folder / "ssh"
    client.write_text(f'#!/bin/sh\nexec ssh -F {folder}/ssh_config "$@"\n')
    client.chmod(0o755)
    for host in lab.hosts:
        start_one(host, sshd, folder)
    return client


def unpacked(sshd):
    return UNPACKED in sshd.parents


def parts(sshd):
    """Lines of the configuration that say where the rest of an unpacked sshd is."""
    where = UNPACKED / "usr/lib/openssh"
    found = {part: option for part, option in PARTS.items() if unpacked(sshd) and (where / part).exists()}
    return [f"{option} {where / part}\n" for part, option in found.items()]


def start_one(host, sshd, folder):
    log = folder / f"{host.name}.log"
    libraries = ":".join(map(str, UNPACKED.glob("usr/lib/*-linux-*")))
    env = {"LD_LIBRARY_PATH": libraries} if unpacked(sshd) else {}
    with log.open("w") as stderr:
        command = [sshd, "-D", "-e", "-f", folder / "sshd_config"]
        server = host.start(command, env=env, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
    deadline = time.monotonic() + READY_S
    while "Server listening" not in log.read_text():
        if server.poll() is not None or time.monotonic() > deadline:
            raise Failure(f"sshd on {host.name}: {log.read_text()}")
        time.sleep(POLL_S)
