"""Proofs: a server is asked for a real answer and for the effects of its flags; core/effects judges what comes."""

from k2tui.services.proofs.looks import LogTail, NodeLooks, ProofScripts, WatchedLog, looks_at

__all__ = ["LogTail", "NodeLooks", "ProofScripts", "WatchedLog", "looks_at"]
