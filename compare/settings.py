"""What a run is asked to do, apart from which model does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from compare.suites import Prompt

if TYPE_CHECKING:
    from ssd.request import Request
    from ssd.text import TextCodec


@dataclass(frozen=True)
class Settings:
    """The settings of a run's requests and guesses; None is auto, or the template's own."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 0
    max_new_tokens: int = 128
    stop: tuple[str, ...] = ()
    nodes: int | None = None
    chain: int | None = None
    raw: bool = False
    system: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` gave. Raises ValueError."""
        try:
            return cls(**{**data, "stop": tuple(data["stop"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"the settings of the record are not known here ({error})") from error

    def request(self, prompt_ids: tuple[int, ...], codec: TextCodec) -> Request:
        """The request for `prompt_ids`. Raises ValueError for a value out of its range."""
        from ssd.request import Request
        from ssd.sampling import Sampling
        from ssd.stop import Stop

        return Request(
            prompt=prompt_ids,
            sampling=Sampling(self.temperature, self.top_k, self.top_p, self.repetition_penalty),
            seed=self.seed,
            stop=Stop(self.max_new_tokens, codec.stop_ids, self.stop, codec.stream),
        )

    def prompt_ids(self, prompt: Prompt, codec: TextCodec) -> tuple[int, ...]:
        """The ids of a suite's prompt. Raises ValueError."""
        return codec.prompt_ids(prompt.text, raw=self.raw or prompt.is_raw, system=self.system)
