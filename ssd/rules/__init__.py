"""Acceptance rules: what a target pass over a tree settles."""
