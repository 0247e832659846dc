"""What is asked of a decoder."""

from __future__ import annotations

from dataclasses import dataclass, field

from ssd.noise import SEED_LIMIT
from ssd.sampling import Sampling
from ssd.stop import Stop


@dataclass(frozen=True)
class Request:
    """All that the text depends on besides the target. Raises ValueError where it is malformed."""

    prompt: tuple[int, ...]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    stop: Stop = field(default_factory=Stop)

    def __post_init__(self) -> None:
        if not self.prompt:
            raise ValueError("the prompt must have at least one token, got none")
        if not 0 <= self.seed < SEED_LIMIT:
            raise ValueError(f"the seed must lie from 0 to 2^64 - 1, got {self.seed}")

    def check_room(self, context_length: int) -> None:
        """Raises ValueError where the prompt leaves no room in the target's context."""
        if len(self.prompt) >= context_length:
            raise ValueError(
                f"the prompt must be shorter than the model's context of {context_length} tokens, "
                f"got {len(self.prompt)} tokens: shorten it"
            )
