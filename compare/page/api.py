"""The endpoint that programs call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from compare.job import Ended, Failed, Job, Message, Refused, Started
from compare.lab import Lab
from compare.page.callbacks import check_seed, whole_number
from ssd.sampling import Sampling


def compare_endpoint(lab: Lab) -> Callable[..., dict[str, Any]]:
    """The function behind `/compare`."""

    def compare(
        prompt: str,
        methods: str = "autoregressive,speculative,staged",
        temperature: float = 0,
        top_k: int = 0,
        top_p: float = 1,
        repetition_penalty: float = 1,
        seed: int = 0,
        max_new_tokens: int = 64,
    ) -> dict[str, Any]:
        """Run the methods on one prompt, one after another, on the server's device.

        Returns the environment, the run records and their summary with the verdicts.
        """
        try:
            job = Job(
                prompt=_text(prompt),
                methods=tuple(name.strip() for name in methods.split(",") if name.strip()),
                sampling=Sampling(
                    float(temperature),
                    whole_number("top_k", top_k),
                    float(top_p),
                    float(repetition_penalty),
                ),
                seed=check_seed(seed),
                max_new_tokens=whole_number("max_new_tokens", max_new_tokens),
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise _error(f"{error}.") from None
        return _answer([message for batch in lab.run(job) for message in batch])

    return compare


def _answer(messages: list[Message]) -> dict[str, Any]:
    """The whole answer, from the messages of the job. Raises gr.Error with its one sentence."""
    environment: dict[str, Any] = {}
    for message in messages:
        match message:
            case Started():
                environment = dict(message.environment)
            case Refused():
                raise _error(message.sentence)
            case Failed():
                raise _error("The run failed on the server; please try again.")
            case Ended(reason="finished"):
                return {
                    "environment": environment,
                    "runs": [dict(record) for record in message.records],
                    "summary": dict(message.outcome.summary),
                }
            case Ended():
                raise _error("The time budget is used up: ask for fewer tokens or methods.")
    raise _error("The run failed on the server; please try again.")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"the prompt must be text, got {value!r:.60}")
    return value


def _error(sentence: str) -> gr.Error:
    return gr.Error(sentence[:1].upper() + sentence[1:], print_exception=False)
