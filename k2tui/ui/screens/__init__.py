"""Screens: panes put together, and the keys that act on them."""
