"""Models from the Hugging Face Hub, where it can be reached."""

from __future__ import annotations

from pathlib import Path

from ssd.models.download import ModelUnavailable, Progress, Report

_FILES = ["*.json", "*.safetensors", "*.jinja", "tokenizer.model"]


def hub_folder(hub_id: str, report: Report) -> Path:
    """The local folder of `hub_id`, downloaded if need be. Raises ModelUnavailable."""
    from huggingface_hub import snapshot_download

    report(Progress(f"fetching {hub_id}", 0))
    try:
        return Path(snapshot_download(hub_id, allow_patterns=_FILES))
    except Exception as error:  # the hub's client raises many kinds; each means it cannot be had
        raise ModelUnavailable(
            f"{hub_id} could not be fetched from the Hub ({type(error).__name__}): connect to it "
            "once, or give a folder that holds the models (--model-dir or SSD_MODELS)"
        ) from error
