"""Compiled functions over plain arrays; no Python objects.

Imported only when people are to be verified: compiling takes a while, once per machine.
"""
