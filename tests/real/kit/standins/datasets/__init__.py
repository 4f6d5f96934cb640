"""Import stand-in for datasets: `sglang.bench_serving` imports it at start, its random prompts never use it."""
from k2_standin import install

__version__ = "0.0.0"
install(__name__)
