"""Readings over time: kept in rings, put on one time axis, read back out of logs."""
