"""Hosts and networks on one machine, to test clusters: see docs/lab.md."""

from .host import Host
from .lab import Lab, Unavailable
from .nic import Nic
from .probe import features, missing

__all__ = ["Host", "Lab", "Nic", "Unavailable", "features", "missing"]
