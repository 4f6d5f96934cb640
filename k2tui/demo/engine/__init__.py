"""A simulated SGLang: its flags, its log, its HTTP replies and its ways to fail, on the standard library alone.

It runs on a demo node in place of `python3 -m sglang.launch_server`, started by the real launch wrapper.
"""
