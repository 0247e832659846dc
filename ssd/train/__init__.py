"""Making a draft and an N-gram for a target: `python -m ssd.train`."""
