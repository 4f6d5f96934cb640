"""Doors: SSH, HTTP, files. Everything that touches the world."""
