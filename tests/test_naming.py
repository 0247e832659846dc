"""Names of methods, and the sizes that may follow them."""

from __future__ import annotations

import pytest

from compare.naming import METHODS, OURS, Method, check_methods, has_verdict
from ssd.lanes import METHODS as LANES
from ssd.lanes import Guessing


def test_our_names_are_the_lanes() -> None:
    assert set(OURS) == set(LANES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("speculative", Guessing(9, 5)),
        ("speculative:3", Guessing(9, 3)),
        ("speculative:auto", Guessing(9, None)),
        ("speculative-rejection:0", Guessing(9, 0)),
        ("staged:24", Guessing(24, 5)),
        ("staged:auto:6", Guessing(None, 5, 6)),
        ("staged:24:auto:katz", Guessing(24, 5, None, "katz")),
        ("lookup:3:2:match", Guessing(3, 5, 2, "match")),
        ("tree:7:4", Guessing(7, 5, 4)),
        ("replay:15", Guessing(15, 5)),
        ("autoregressive", Guessing(9, 5)),
    ],
)
def test_a_size_in_the_name_goes_before_the_setting(text: str, expected: Guessing) -> None:
    method = Method.parse(text)
    assert method.guessing(Guessing(9, 5)) == expected
    assert str(method) == text and method.name == text.split(":")[0]
    assert check_methods([text]) == (text,)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("magic", "no method 'magic'"),
        ("magic:3", "no method 'magic'"),
        ("", "no method ''"),
        ("autoregressive:3", "autoregressive takes no size"),
        ("hf-generate:3", "hf-generate takes no size"),
        ("speculative:3:4", "may be followed by chain"),
        ("staged:3:4:both:1", "may be followed by nodes:depth:sources"),
        ("speculative:", "must be auto or a whole number"),
        ("speculative:-1", "must be auto or a whole number"),
        ("speculative:1.5", "must be auto or a whole number"),
        ("speculative:03", "must be auto or a whole number"),
        ("speculative:²", "must be auto or a whole number"),
        ("staged:4:4:gossip", "must be both, katz, match or none"),
        ("staged:128", "nodes must be auto or 0 to 127"),
        ("tree:1:1000", "depth must be auto or 0 to 127"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word) as refusal:
        check_methods([text])
    assert "\n" not in str(refusal.value)


def test_a_method_may_stand_there_in_many_sizes_but_in_each_once() -> None:
    names = [f"speculative:{length}" for length in range(9)]
    assert check_methods(["speculative", *names]) == ("speculative", *names)
    with pytest.raises(ValueError, match="speculative:3 is named more than once"):
        check_methods(["speculative:3", "speculative:3"])


def test_llama_cpp_is_refused_where_its_package_is_missing_and_not_offered() -> None:
    with pytest.raises(ValueError, match="pip install llama-cpp-python"):
        check_methods(["llama-cpp"], lambda package: False)
    assert check_methods(["llama-cpp"], lambda package: True) == ("llama-cpp",)
    with pytest.raises(ValueError, match="choose from") as refusal:
        check_methods(["magic"])
    assert "llama-cpp" in METHODS and "llama-cpp" not in str(refusal.value)


def test_verdicts_go_by_the_base_name() -> None:
    for temperature in (0.0, 1.0):
        assert has_verdict("speculative:3", temperature) and has_verdict("staged:24", temperature)
        assert not has_verdict("llama-cpp", temperature)
        assert not has_verdict("hf-assisted", temperature)
        assert has_verdict("speculative-rejection:4", temperature) == (temperature == 0.0)
