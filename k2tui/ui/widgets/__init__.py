"""Panes: each shows one thing, row by row, and paints only rows that changed."""
