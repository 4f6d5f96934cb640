"""What the probe on a node says, as readings."""
