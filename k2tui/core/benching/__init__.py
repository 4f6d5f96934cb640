"""Benchmarks: what is measured, what it is worth, and what may be compared with what."""
