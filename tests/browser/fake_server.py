"""The page on an engine without models, on GRADIO_SERVER_PORT.

A prompt of `a|b|c` makes the engine say b and c; a prompt that begins with "slow" makes its rounds
slow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from compare.job import Job, Lane, LaneEnded, Limits, Record, Told
from compare.lab import Lab
from compare.page.build import build, launch_settings
from tests.fake_engine import METHODS, FakeEngine, Script, opener


class Paced(FakeEngine):
    """An engine whose pace the prompt sets."""

    def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        self.round_s = 0.1 if job.prompt.startswith("slow") else 0.005
        yield from super().lane(lane, job)


def codec_of(pair: str) -> Script | None:
    """What the ids of the fake engine's own words say."""
    return Script(FakeEngine().pieces) if pair == "fake" else None


if __name__ == "__main__":
    page = build(Lab(opener(Paced()), METHODS, Limits()), codec_of)
    page.launch(server_port=int(os.environ["GRADIO_SERVER_PORT"]), **launch_settings())
