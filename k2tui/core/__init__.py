"""Thinking: facts, phases, profiles, grammar. Pure, standard library only, no I/O."""
