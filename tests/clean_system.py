"""A system of its own in a folder (scripts/clean-root.sh): what packages are installed in and tried."""

import shutil
import subprocess

# Mounts of its own, gone with the last process in it.
ENTER = """mount -t proc proc $0/proc; mount -t sysfs sysfs $0/sys 2>/dev/null; mount --rbind /dev $0/dev
mount -t tmpfs tmpfs $0/dev/shm; exec chroot "$@" """


class System:
    """A copy of the system `clean` in `folder`; `say` runs a command in it, as root, as the only one there."""

    def __init__(self, session, clean, folder):
        self.session, self.root = session, folder
        # The nodes of /dev are the machine's.
        subprocess.run(["cp", "-a", "--reflink=auto", clean, folder], check=True)

    def call(self, *words, timeout=60):
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, self.root, self.root]
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/srv", "TMPDIR": "/tmp", "DEBIAN_FRONTEND": "noninteractive"}
        return self.session.call([*enter, *words], env, timeout)

    def say(self, *words, timeout=60):
        result = self.call(*words, timeout=timeout)
        assert result.code == 0, result
        return result.out

    def take(self, *files):
        for file in files:
            shutil.copy(file, self.root / "srv")
