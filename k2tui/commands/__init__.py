"""Plain commands: one module a verb, text or JSON out, no screen."""
