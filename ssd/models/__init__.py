"""Models: architectures, files, and the named pairs."""
