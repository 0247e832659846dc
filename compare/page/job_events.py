"""The three events of a job: its buttons, its stream, and what is drawn when it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import gradio as gr
from gradio.components import Component


class JobCallbacks(Protocol):
    """What a job calls."""

    def begin(self, request: gr.Request) -> Any:
        """Run and Stop, before a job."""

    def run(self, request: gr.Request, *values: Any) -> Iterator[tuple[str, Any]]:
        """The stream as it grows, and at its end what came of it."""

    def finish(self, result: Any, request: gr.Request) -> Any:
        """None for what is kept of it, Run and Stop, and what is drawn of `result`."""


@dataclass(frozen=True)
class Places:
    """Where a job tells: `view`, its stream; `buttons`, Run and Stop; `drawn`, what comes of it."""

    view: Component
    buttons: tuple[gr.Button, gr.Button]
    drawn: Sequence[Component]


def on_run(
    triggers: Sequence[Any],
    inputs: Sequence[Component],
    callbacks: JobCallbacks,
    places: Places,
    num_threads: int,
) -> None:
    """Run `callbacks.begin` at each of `triggers`, then `callbacks.run` and `callbacks.finish`.

    The stream is the only output of `run`, but for what `finish` draws from: Gradio makes
    every output anew at each update, changed or not, which takes the time that is measured.
    """
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    result = gr.State()  # from the end of a job until it is drawn
    begun = gr.on(
        triggers,
        callbacks.begin,
        None,
        [*places.buttons],
        queue=False,
        trigger_mode="once",
        **quiet,
    )
    assert begun is not None
    begun.then(
        callbacks.run,
        [*inputs],
        [places.view, result],
        concurrency_id="engine",
        concurrency_limit=num_threads,
        trigger_mode="once",
        **quiet,
    ).then(
        callbacks.finish,
        result,
        [result, *places.buttons, *places.drawn],
        concurrency_limit=None,
        **quiet,
    )
