"""What Gradio's components say and what things are called, in English and in Simplified Chinese."""

from __future__ import annotations

from typing import Literal

from compare.page.benchmark_words import BENCH_LABELS

Language = Literal["en", "zh-CN"]
LANGUAGES: tuple[Language, ...] = ("en", "zh-CN")

LABELS: dict[str, tuple[str, str]] = {
    "tab_race": ("Race", "比赛"),
    "tab_step": ("Step", "逐轮"),
    "tab_charts": ("Charts", "图表"),
    "tab_benchmark": ("Benchmark", "基准测试"),
    "tab_learn": ("Learn", "学习"),
    "pair": ("Models", "模型"),
    "repeats": ("Repeats", "重复次数"),
    "ngram": ("N-gram helps the staged lane", "分级投机使用 N-gram"),
    "prompt": ("Prompt", "提示词"),
    "prompt_hint": ("Ask the model something", "向模型提一个问题"),
    "chip_code": ("Code", "代码"),
    "chip_chat": ("Chat", "聊天"),
    "chip_translation": ("Translation", "翻译"),
    "chip_copy": ("Copy from the prompt", "抄写提示词"),
    "chip_loses": ("Where guessing loses", "猜测吃亏的例子"),
    "import": ("Import a record (.jsonl)", "导入记录（.jsonl）"),
    "import_prompt": ("Prompt of the record", "记录中的提示词"),
    "run": ("Run", "运行"),
    "stop": ("Stop", "停止"),
    "new_tokens": ("New tokens", "生成词元数"),
    "temperature": ("Temperature (0: greedy)", "温度（0：贪心）"),
    "top_k": ("Top-k (0: off)", "Top-k（0：关闭）"),
    "top_p": ("Top-p (1: off)", "Top-p（1：关闭）"),
    "seed": ("Seed", "随机种子"),
    "advanced": ("Advanced", "高级设置"),
    "lanes": ("Lanes to run", "要运行的解码器"),
    "precision": ("Precision", "数值精度"),
    "numerics": ("Numerics", "数值方式"),
    "nodes": ("Guessed tokens a round (0: priced by cost)", "每轮猜测词元数（0：按成本定价）"),
    "chain": ("Chain of speculative (0: priced by cost)", "投机解码链长（0：按成本定价）"),
    "penalty": ("Repetition penalty (1: off)", "重复惩罚（1：关闭）"),
    "exact": ("exact", "精确"),
    "fast": ("fast", "快速"),
}
"""Labels of Gradio's own components."""

METHODS: dict[str, tuple[str, str]] = {
    "autoregressive": ("Autoregressive", "自回归"),
    "speculative": ("Speculative", "投机解码"),
    "staged": ("Staged", "分级投机"),
    "tree": ("Tree, no N-gram", "树（无 N-gram）"),
    "lookup": ("N-gram alone", "仅 N-gram"),
    "replay": ("Replay: the ceiling", "重放：上限"),
    "speculative-rejection": ("Rejection sampling", "拒绝采样"),
    "native": ("Plain loop, fast", "普通循环（快速）"),
    "hf-generate": ("Hugging Face generate", "Hugging Face generate"),
    "hf-lookup": ("Hugging Face lookup", "Hugging Face 查找"),
    "hf-assisted": ("Hugging Face assisted", "Hugging Face 辅助"),
    "llama-cpp": ("llama.cpp", "llama.cpp"),
}

METHOD_WORDS = {f"method_{name}": pair for name, pair in METHODS.items()}
"""The methods' names, by the keys under which the browser looks for them."""

PLOT: dict[str, tuple[str, str]] = {
    "seconds": ("seconds since the prompt", "自提示词起的秒数"),
    "tokens": ("tokens", "词元数"),
    "depth": ("depth in the guess", "猜测深度"),
    "rate": ("accepted, given its parent was", "父节点被接受时的接受率"),
}

PROMPTS: dict[str, str] = {
    "chip_code": (
        "Write a Python function that returns the n-th Fibonacci number. "
        "Then write the same function again with a docstring."
    ),
    "chip_chat": "What should I think about before I adopt a dog?",
    "chip_translation": "Translate into French: The cat sleeps on the warm roof of the old house.",
    "chip_copy": (
        "Repeat this list word for word: red lantern, blue kettle, green ladder, yellow piano, "
        "silver button, wooden spoon, paper boat, copper bell, glass marble, velvet curtain."
    ),
    "chip_loses": "Invent thirty names of planets that do not exist, separated by commas.",
}
"""The example prompts by chip."""

CHIP_SETTINGS: dict[str, float] = {"temperature": 0, "chain": 0}
"""What a chip sets beside the prompt."""


def chip_settings(chip: str) -> dict[str, float]:
    """The settings under which the chip's prompt shows what it is there for."""
    return {"temperature": 1, "chain": 5} if chip == "chip_loses" else CHIP_SETTINGS


def dictionary(words: dict[str, tuple[str, str]], language: Language) -> dict[str, str]:
    """`words` in one language."""
    column = 0 if language == "en" else 1
    return {key: pair[column] for key, pair in words.items()}


def language(accept: str) -> Language:
    """The page's language for a browser that sends the header `Accept-Language: accept`."""
    first = accept.split(",")[0].strip().lower()
    return "zh-CN" if first in {"zh", "zh-cn", "zh-sg"} or first.startswith("zh-hans") else "en"


def labels(language: Language) -> dict[str, str]:
    """The labels of Gradio's own components, the methods' names among them."""
    return dictionary({**LABELS, **BENCH_LABELS, **METHOD_WORDS}, language)
