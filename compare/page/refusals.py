"""What the page refuses, in both languages: the library's English sentence and the Chinese for it.

A refusal is a ValueError's message, which belongs to the library and is English. The sentences that
the page's controls and files can bring about are known here; of any other, Chinese readers are told
that the run was refused, with the English sentence as it is.
"""

from __future__ import annotations

import re

from compare.job import sentence_of
from compare.page.words import Language

_NAMES = {
    "the temperature": "温度",
    "temperature": "温度",
    "top-k": "top-k",
    "top-p": "top-p",
    "the repetition penalty": "重复惩罚",
    "repetition penalty": "重复惩罚",
    "the seed": "随机种子",
    "new tokens": "生成词元数",
    "guessed tokens a round": "每轮猜测词元数",
    "nodes": "每轮猜测词元数",
    "the chain": "链长",
    "chain": "链长",
    "repeats": "重复次数",
    "depth": "深度",
    "the number of prompts": "提示词个数",
}
"""What a sentence calls a control, and its name in Chinese: the groups `name` below."""

_NAME = rf"(?P<name>{'|'.join(sorted(_NAMES, key=len, reverse=True))})"

_SENTENCES: tuple[tuple[str, str], ...] = (
    (rf"{_NAME} is empty: give a number", "{name}为空：请填一个数"),
    (
        rf"{_NAME} must be a whole number of 0 or more, got (?P<got>.+)",
        "{name}必须是不小于 0 的整数，收到的是 {got}",
    ),
    (
        r"the seed must (?:be a whole number|lie) from 0 to 2\^64 - 1, got (?P<got>.+)",
        "随机种子必须是 0 到 2^64 - 1 的整数，收到的是 {got}",
    ),
    (
        rf"{_NAME} must be a number of 0 or more, got (?P<got>.+)",
        "{name}必须是不小于 0 的数，收到的是 {got}",
    ),
    (
        rf"{_NAME} must lie above 0 and at most at 1, got (?P<got>.+)",
        "{name}必须大于 0 且不大于 1，收到的是 {got}",
    ),
    (
        rf"{_NAME} must be a number above 0, got (?P<got>.+)",
        "{name}必须是大于 0 的数，收到的是 {got}",
    ),
    (
        rf"{_NAME} must be auto or 0 to (?P<most>\d+), got (?P<got>.+)",
        "{name}必须是 0（自动）到 {most}，收到的是 {got}",
    ),
    (
        rf"{_NAME} must lie from 1 to (?P<most>\d+), got (?P<got>.+)",
        "{name}必须在 1 到 {most} 之间，收到的是 {got}",
    ),
    (
        r"the prompt is empty: write something for the model to answer",
        "提示词为空：请写下要模型回答的内容",
    ),
    (
        r"the prompt has (?P<n>\d+) characters: shorten it to (?P<most>\d+) or fewer",
        "提示词有 {n} 个字符：请缩短到 {most} 个以内",
    ),
    (
        r"the prompt has (?P<n>\d+) tokens: shorten it to (?P<most>\d+) or fewer",
        "提示词有 {n} 个词元：请缩短到 {most} 个以内",
    ),
    (
        r"the prompt's (?P<n>\d+) tokens and (?P<new>\d+) new ones are more than the model's "
        r"context of (?P<context>\d+): ask for (?P<room>\d+) new tokens or fewer",
        "提示词的 {n} 个词元加上要生成的 {new} 个超过模型的上下文长度 {context}："
        "请把生成词元数改为 {room} 或更少",
    ),
    (
        r"the prompt must be shorter than the model's context of (?P<context>\d+) tokens, "
        r"got (?P<n>\d+) tokens: shorten it",
        "提示词必须短于模型的上下文长度 {context} 个词元，现有 {n} 个：请缩短",
    ),
    (
        r"no lane is chosen: choose at least one of (?P<known>.+)",
        "没有选择解码器：请至少选择一个（{known}）",
    ),
    (
        r"(?P<n>\d+) lanes are chosen: choose (?P<most>\d+) or fewer",
        "选择了 {n} 个解码器：请最多选择 {most} 个",
    ),
    (
        r"the pair must be one of (?P<known>.+), got (?P<got>.+)",
        "模型必须是以下之一：{known}，收到的是 {got}",
    ),
    (
        r"there is no method (?P<got>\S+)(?: here)?: choose from (?P<known>.+)",
        "没有解码器 {got}：请从以下选择：{known}",
    ),
    (r"the method (?P<got>\S+) is named more than once: name it once", "解码器 {got} 重复了"),
    (
        r"the queue is full, (?P<n>\d+) are waiting: try again in a minute",
        "队列已满，有 {n} 个任务在等待：请过一分钟再试",
    ),
    (
        r"(?P<title>.*ZeroGPU.*): try again later, or look at the recorded runs meanwhile",
        "GPU 配额已用完（{title}）：请稍后再试，其间可以看已录制的运行",
    ),
    (
        r"int(?P<bits>\d) needs a CPU, a torch with oneDNN and a model without biases.*",
        "int{bits} 需要 CPU、带 oneDNN 的 torch 和各层没有偏置的模型：请改用 bf16 或 fp32",
    ),
    (
        r"there is no suite (?P<got>.+): choose quick, .+",
        "没有提示词集 {got}：请选择 quick、humaneval、humaneval-raw 或 JSON Lines 文件",
    ),
    (
        r"no file is given: choose one below, or another suite",
        "没有给出文件：请在下面选择一个，或选择另一个提示词集",
    ),
    (
        r"the suite (?P<file>.+) has (?P<size>[\d.]+) MB: a suite may have (?P<most>[\d.]+) MB.*",
        "提示词集 {file} 有 {size} MB，最大 {most} MB：请删去一些提示词",
    ),
    (
        r"the suite (?P<file>.+) is empty: it needs at least one line with id and text",
        "提示词集 {file} 为空：至少要有一行，含 id 和 text",
    ),
    (
        r"the suite (?P<file>.+), line (?P<line>\d+): (?P<reason>.+)",
        "提示词集 {file} 的第 {line} 行有误：{reason}",
    ),
    (
        r"the file (?P<file>.+) has (?P<size>\d+) MB: a record file may have (?P<most>[\d.]+) MB",
        "文件 {file} 有 {size} MB，记录文件最大 {most} MB",
    ),
    (
        r"the file has no run that succeeded: there is nothing to show",
        "文件中没有成功的运行，没有可显示的内容",
    ),
    (
        r"the file (?P<file>.+) is not a record file: .+",
        "文件 {file} 不是记录文件：第一行不是环境信息",
    ),
    (
        r"the file (?P<file>.+) has records of schema (?P<got>.+), this version reads schema "
        r"(?P<known>.+)",
        "文件 {file} 的记录格式是 {got}，本版本只读格式 {known}",
    ),
    (
        r"the file (?P<file>.+), line (?P<line>\d+): (?P<reason>.+)",
        "文件 {file} 的第 {line} 行有误：{reason}",
    ),
)
"""Patterns of the English sentences, without their full stop, and the Chinese for each."""


def in_languages(sentence: str) -> dict[Language, str]:
    """The refusal `sentence` in each language of the page, with a capital and a full stop."""
    english = sentence_of(sentence)
    return {"en": english, "zh-CN": _chinese(english.removesuffix(".")) + "。"}


def _chinese(bare: str) -> str:
    for pattern, chinese in _SENTENCES:
        if found := re.fullmatch(pattern, bare, re.IGNORECASE | re.DOTALL):
            values = found.groupdict()
            if "name" in values:
                values["name"] = _NAMES[values["name"].lower()]
            return chinese.format(**values)
    return f"请求被拒绝（英文说明）：{bare}"
