"""The lab as a page: `python app.py`, or a Space."""

from __future__ import annotations

import os
import sys

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from compare.engine import PAIR_NAMES, codec_of, open_engine
from compare.job import Limits
from compare.lab import Lab
from compare.lock import machine_lock
from compare.naming import NATIVE, OURS
from compare.page.build import build, launch_settings
from compare.zero_gpu import borrower

METHODS = (*OURS, NATIVE, "hf-generate")


def main() -> int:
    """The exit status: 2, with one line on stderr, for settings that cannot be."""
    try:
        limits = Limits.from_environment(os.environ, PAIR_NAMES)
        port = int(os.environ.get("GRADIO_SERVER_PORT", "7860"))
        page = build(Lab(open_engine, METHODS, limits, machine_lock, borrower()), codec_of)
        is_space = "SPACE_ID" in os.environ
        host = os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0" if is_space else "127.0.0.1")
        _, url, _ = page.launch(
            server_name=host, server_port=port, prevent_thread_lock=True, **launch_settings()
        )
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"The lab is open at {url}", flush=True)
    page.block_thread()
    return 0


if __name__ == "__main__":
    sys.exit(main())
