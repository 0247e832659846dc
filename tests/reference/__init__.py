"""Slow twins of the product's fast paths: plain loops, nothing shared, never imported by it."""
