"""Experiments on the decoders of `ssd`: suites, runs, records, metrics, certificates, a page."""
