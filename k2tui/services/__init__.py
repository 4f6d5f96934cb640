"""Verbs in time: watch, launch, stop, prove. They see adapters as Protocols."""
