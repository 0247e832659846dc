"""What the command lines share: options, their errors, progress."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ssd.noise import SEED_LIMIT

if TYPE_CHECKING:
    from ssd.lanes import Guessing
    from ssd.models.download import Progress
    from ssd.models.load import LoadedPair, Options
    from ssd.request import Request

EXIT_OK, EXIT_USAGE, EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED = 0, 2, 3, 4, 130


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line on stderr."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Exit with 2."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `ssd` and `compare` share, with their defaults."""
    model = parser.add_argument_group("model")
    model.add_argument("--pair", default="smollm2-135m", metavar="NAME")
    model.add_argument("--model-dir", type=Path, metavar="DIR", help="a folder with the models")
    model.add_argument("--draft", type=Path, metavar="DIR", help="a draft made by ssd.train")
    model.add_argument("--device", default="auto", help="auto, cpu or cuda[:N]")
    model.add_argument("--precision", default="auto", help="auto, bf16, fp32, fp16, int8 or int4")
    model.add_argument("--numerics", default="exact", help="exact or fast")
    model.add_argument("--threads", type=whole, metavar="N", help="default: torch's own")
    text = parser.add_argument_group("text")
    text.add_argument("--temperature", type=float, default=0.0)
    text.add_argument("--top-k", type=whole, default=0, help="0 is off")
    text.add_argument("--top-p", type=float, default=1.0, help="1 is off")
    text.add_argument("--repetition-penalty", type=float, default=1.0, help="1 is off")
    text.add_argument("--seed", type=whole, default=0)
    text.add_argument("--max-new-tokens", type=whole, default=128, metavar="N")
    text.add_argument("--stop", action="append", default=[], metavar="TEXT", help="repeatable")
    text.add_argument("--raw", action="store_true", help="no chat template")
    text.add_argument("--system", metavar="TEXT", help="instead of the template's own")
    guess = parser.add_argument_group("guessing")
    guess.add_argument("--nodes", type=_auto_or_whole, metavar="N|auto", help="nodes a round")
    guess.add_argument("--chain", type=_auto_or_whole, metavar="N|auto", help="chain length")


def whole(text: str) -> int:
    """The number in `text`, an option of a command line."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def _auto_or_whole(text: str) -> int | None:
    return None if text == "auto" else whole(text)


def check(args: argparse.Namespace) -> None:
    """Raises ValueError for what can be refused before anything is loaded, one sentence each."""
    if not (math.isfinite(args.temperature) and args.temperature >= 0):
        raise ValueError(f"--temperature must be a number of 0 or more, got {args.temperature}")
    if args.top_k < 0:
        raise ValueError(f"--top-k must be 0 (off) or more, got {args.top_k}")
    if not 0 < args.top_p <= 1:
        raise ValueError(f"--top-p must lie above 0 and at most at 1, got {args.top_p}")
    if not (math.isfinite(args.repetition_penalty) and args.repetition_penalty > 0):
        raise ValueError(
            f"--repetition-penalty must be a number above 0, got {args.repetition_penalty}"
        )
    if not 0 <= args.seed < SEED_LIMIT:
        raise ValueError(f"--seed must lie from 0 to 2^64 - 1, got {args.seed}")
    if args.max_new_tokens < 1:
        raise ValueError(f"--max-new-tokens must be 1 or more, got {args.max_new_tokens}")
    if "" in args.stop:
        raise ValueError("--stop must have at least one character, got an empty text")


def options_from(args: argparse.Namespace) -> Options:
    """The model options of a command line. Raises ValueError."""
    from ssd.models.load import Options

    return Options(
        pair=args.pair,
        device=args.device,
        precision=args.precision,
        numerics=args.numerics,
        threads=args.threads,
        model_dir=args.model_dir,
        draft=args.draft,
    )


def guessing_from(args: argparse.Namespace) -> Guessing:
    """How much to guess. Raises ValueError."""
    from ssd.lanes import Guessing

    return Guessing(nodes=args.nodes, chain=args.chain)


def request_from(args: argparse.Namespace, pair: LoadedPair, text: str) -> Request:
    """The request to answer `text` as the options say. Raises ValueError."""
    from ssd.request import Request
    from ssd.sampling import Sampling
    from ssd.stop import Stop

    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.repetition_penalty)
    stop = Stop(args.max_new_tokens, pair.codec.stop_ids, tuple(args.stop), pair.codec.stream)
    prompt = pair.codec.prompt_ids(text, raw=args.raw, system=args.system)
    return Request(prompt, sampling, args.seed, stop)


def progress_line() -> Callable[[Progress], None]:
    """A report of progress on stderr: one line that is rewritten on a terminal, else few lines."""
    last: tuple[str, float] = ("", 0.0)
    is_terminal = sys.stderr.isatty()

    def report(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if progress.stage == last[0] and now - last[1] < (0.1 if is_terminal else 5.0):
            return
        last = (progress.stage, now)
        share = f" {100 * progress.done // progress.total} %" if progress.total else ""
        start, end = ("\033[K", "\r") if is_terminal else ("", "\n")
        print(f"{start}{progress.stage}{share}", end=end, file=sys.stderr, flush=True)

    return report


def run_command(main: Callable[[], int]) -> int:
    """The exit code of `main`, with refusals as one line on stderr."""
    from ssd.models.download import ModelUnavailable

    try:
        return main()
    except (ValueError, ModelUnavailable) as refusal:
        return _refused(str(refusal))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_OK
    except OSError as error:
        return _refused(f"{error.filename or 'the system'} cannot be used: {error.strerror}")
    except MemoryError:
        return _refused("the memory of this machine is used up: ask for less")
    except FloatingPointError as error:  # of a model that computes no numbers any more
        _refused(str(error))
        return EXIT_FAILED


def _refused(sentence: str) -> int:
    print(f"error: {' '.join(sentence.split())}", file=sys.stderr)
    return EXIT_USAGE
