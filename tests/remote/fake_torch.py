"""A torch that has nothing but an all-reduce: what it does stands in the NCCL variables, as with the real one."""

from __future__ import annotations

from pathlib import Path

TORCH = """
__version__ = "9.9"
bfloat16 = float16 = "half"
class _Cuda:
    @staticmethod
    def is_available():
        return False
cuda = _Cuda
class _Vector:
    def __init__(self, size):
        self.size = size
    def fill_(self, value):
        return self
def ones(size, dtype, device):
    return _Vector(size)
"""
DISTRIBUTED = """
import os, pathlib, time
def is_available():
    return "NO_DISTRIBUTED" not in os.environ
def init_process_group(backend):
    here = pathlib.Path(os.environ["RANKS_SEEN"])
    (here / ("%s-%s" % (os.environ["RANK"], os.getpid()))).write_text("")
    if os.environ.get("NCCL_ALGO") == "Tree" and os.environ["RANK"] == "1":
        while True:
            time.sleep(60)
    if os.environ.get("NCCL_PROTO") == "LL128":
        raise RuntimeError("NCCL error: unhandled cuda error\\nmore")
def all_reduce(vector):
    time.sleep(vector.size * (1e-9 if os.environ.get("NCCL_PROTO") == "LL" else 2e-8))
"""


def write_torch(under: Path) -> Path:
    """Write it there; what a python puts in front of its path."""
    package = under / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TORCH, encoding="utf-8")
    (package / "distributed.py").write_text(DISTRIBUTED, encoding="utf-8")
    return under
