"""Engines that somebody else started: found, understood, and how they become one's own."""
