"""The page on an engine without models, on GRADIO_SERVER_PORT.

A prompt of `a|b|c` makes the engine say b and c; a prompt of "slow" makes its rounds slow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from compare.job import Job, Lane, LaneEnded, Limits, Record, Told
from compare.lab import Lab
from compare.page.build import build, launch_settings
from tests.fake_engine import METHODS, FakeEngine, opener


class Paced(FakeEngine):
    """An engine whose pace the prompt sets."""

    def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        self.round_s = 0.1 if job.prompt.startswith("slow") else 0.005
        yield from super().lane(lane, job)


if __name__ == "__main__":
    page = build(Lab(opener(Paced()), METHODS, Limits()))
    page.launch(server_port=int(os.environ["GRADIO_SERVER_PORT"]), **launch_settings())
