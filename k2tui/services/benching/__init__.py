"""Verbs that measure: a benchmark, and a series of them over restarts."""
