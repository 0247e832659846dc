"""Prompts: reproducible, varied, from sources that are read and never run; files are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssd.train.prompts import Generator, Prompt, read_prompts


def test_prompts_are_functions_of_seed_and_number() -> None:
    """The same again, others for another seed, hardly any twice, nothing left unfilled."""
    one, again, other = Generator(1), Generator(1), Generator(2)
    texts = [one.prompt(n) for n in range(400)]
    assert texts == [again.prompt(n) for n in range(400)]
    assert sum(one.prompt(n) == other.prompt(n) for n in range(400)) < 10
    assert len({prompt.text for prompt in texts}) > 380
    general = [p.text for p in texts if "def " not in p.text and ":\n\n" not in p.text]
    assert general and not any("{" in text for text in general)
    raw = [prompt for prompt in texts if prompt.is_raw]
    assert 30 < len(raw) < 100 and all(prompt.text.startswith("def ") for prompt in raw)


def test_sources_are_read_not_run(tmp_path: Path) -> None:
    """A file that would do harm, and one that is no Python, do nothing."""
    (tmp_path / "bad.py").write_text(
        "import sys; sys.exit(7)\ndef f(x):\n    '''Twice x, whatever x may be.'''\n"
    )
    (tmp_path / "worse.py").write_text("def (:")
    prompts = [Generator(0, tmp_path).prompt(n) for n in range(60)]
    assert (
        Prompt('def f(x):\n    """Twice x, whatever x may be.\n    """\n', is_raw=True) in prompts
    )


def test_without_sources_it_says_so(tmp_path: Path) -> None:
    """A Python without its library's sources."""
    with pytest.raises(ValueError, match="--prompts"):
        [Generator(0, tmp_path).prompt(n) for n in range(30)]


def test_a_file_of_prompts(tmp_path: Path) -> None:
    """JSON lines with text, some raw."""
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"text": "Hi"}\n{"text": "def f", "raw": true, "id": 3}\n')
    assert read_prompts(path) == [Prompt("Hi"), Prompt("def f", is_raw=True)]
    for bad, words in (
        ("hello", "line 1 of .* must be JSON"),
        ('{"text": "a"}\n[1]', "line 2 of .* must be JSON"),
        ('{"txt": "a"}', "line 1"),
        ('{"text": " "}', "some text, got ' '"),
        ("", "expected prompts"),
    ):
        path.write_text(bad)
        with pytest.raises(ValueError, match=words):
            read_prompts(path)
    with pytest.raises(ValueError, match="no such file"):
        read_prompts(tmp_path / "nowhere")
