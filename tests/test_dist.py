"""The tarball of the sources (packaging/dist.sh): it has every crate, so that it builds without a network."""

import json
import os
import subprocess

import pytest
from harness import LONG, ROOT


@pytest.mark.timeout(1200)
def test_it_needs_no_network(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("NOT TESTED: the tarball is made of a git checkout")
    # How small it is does not matter here.
    quick = os.environ | {"XZ_OPT": "-T0 -0"}
    done = subprocess.run([ROOT / "packaging/dist.sh", tmp_path], env=quick, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    subprocess.run(["tar", "-xf", done.stdout.strip(), "-C", tmp_path], check=True)
    sources = next(path for path in tmp_path.iterdir() if path.is_dir())
    # No crate that was fetched before helps.
    env = os.environ | {"CARGO_HOME": str(tmp_path / "cargo")}
    alone = ["unshare", "--net"] if os.geteuid() == 0 else []
    done = subprocess.run([*alone, "cargo", "metadata", "--format-version", "1", "--locked"], cwd=sources, env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = {package["name"] for package in json.loads(done.stdout)["packages"]}
    assert {"hawser-launch", "libc", "clap", "loom"} <= names
    if LONG:
        done = subprocess.run([*alone, "make", "install", f"PREFIX={tmp_path / 'prefix'}"], cwd=sources, env=env,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "prefix/bin/mpiexec").exists()
