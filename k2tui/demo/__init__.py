"""The simulated fleet: a node, an engine, its faults."""
