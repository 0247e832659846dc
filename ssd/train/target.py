"""The target that a command line names, and its parts."""

from __future__ import annotations

from pathlib import Path

import torch

from ssd.models.checkpoint import read_checkpoint
from ssd.models.device import choose_device, choose_dtype
from ssd.models.download import Report
from ssd.models.families import transformer
from ssd.models.fetch import SMOLLM2, default_cache, embedded_target, given_folder
from ssd.models.hub import hub_folder
from ssd.models.transformer import Transformer


def target_folder(name: str | None, report: Report) -> Path:
    """The folder of the target `name`: a folder, a name on the Hub, or None for the embedded one.

    Raises ValueError and ModelUnavailable.
    """
    if name is None:
        given = given_folder(SMOLLM2.name, None)
        return given or embedded_target(default_cache(), report)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return hub_folder(name, report)
    raise ValueError(
        f"--target must be a model folder or a name on the Hub (OWNER/NAME), got {name!r}: "
        "check the path"
    )


def target_model(folder: Path) -> Transformer:
    """The target on the best device, in the dtype that suits it."""
    device = choose_device("auto")
    checkpoint = read_checkpoint(folder)
    dtype: torch.dtype = choose_dtype("auto", device)
    return transformer(checkpoint.config, checkpoint.tensors, dtype, device)
