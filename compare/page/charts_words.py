"""What the charts say: axes and series, and above each chart its title and how to read it."""

from __future__ import annotations

from compare.page import words
from compare.page.race_words import RACE

_SERIES: dict[str, tuple[str, str]] = {
    "rounds": ("round", "轮次"),
    "milliseconds": ("milliseconds", "毫秒"),
    "tokens_a_pass": ("tokens settled by one pass", "一次前向确定的词元数"),
    "share_of_passes": ("share of the passes", "占前向次数的比例"),
    "mean": ("mean", "均值"),
    "guesses": ("guessed", "猜测"),
    "stands": ("written", "写下"),
    "width": ("tokens in one pass", "一次前向的词元数"),
    "target": ("target", "目标模型"),
    "draft": ("draft", "草稿模型"),
    "chosen": ("widths chosen", "选用的宽度"),
    "intensity": ("operations for each byte read", "每读一个字节的运算数"),
    "operations": ("billion operations a second", "每秒十亿次运算"),
    "memory_ceiling": ("memory, as measured", "内存带宽上限（实测）"),
    "arithmetic_ceiling": ("arithmetic, as measured", "算力上限（实测）"),
    "prompts_sorted": ("prompts, the slowest first", "提示词，从慢到快"),
    "speedup": ("speed-up", "加速比"),
    "entropy": ("the target's entropy a token, in bits", "目标模型每词元的熵（比特）"),
}

AXES: dict[str, tuple[str, str]] = {
    **words.PLOT,
    **_SERIES,
    **{key: pair for key, pair in RACE.items() if key.startswith(("stage_", "origin_"))},
}
"""The words in the figures."""

CHARTS: dict[str, tuple[str, str]] = {
    "latency": ("Tokens against time", "词元数与时间"),
    "latency_how": (
        "Each step is one round; the higher it is, the more tokens that pass settled. All clocks "
        "start when the prompt arrives.",
        "每个台阶是一轮；台阶越高，那次前向确定的词元越多。计时都从提示词到达开始。",
    ),
    "rounds": ("Where each round's time went", "每一轮的时间花在哪里"),
    "rounds_how": (
        "One bar a round of {lane}. The stages add up to the whole round; “rest” is all that has "
        "no name of its own.",
        "{lane}的每一轮一根条形。各阶段加起来就是整轮；“其余”是没有名字的部分。",
    ),
    "acceptance": ("Acceptance by depth", "各深度的接受率"),
    "acceptance_how": (
        "How often a guess was accepted, given that the one above it was; bars are 95 % "
        "intervals, n is how many were tried, hollow points have fewer than five.",
        "上一个猜测被接受时，这个猜测被接受的频率；竖线为 95 % 区间，n 为次数，空心点不足五次。",
    ),
    "origins": ("Who proposed what", "谁提出了什么"),
    "origins_how": (
        "“Guessed”: all that a stage put into the tree. “Written”: who first proposed the tokens "
        "that stand. The difference was rejected.",
        "“猜测”：各阶段放进树里的全部。“写下”：保留的词元最先由谁提出。差额就是被拒绝的。",
    ),
    "settled": ("Tokens settled by one pass", "一次前向确定的词元数"),
    "settled_how": (
        "Autoregressive always settles one. The dashed lines are the means; time for guessing is "
        "not in them.",
        "自回归总是一个。虚线是均值；猜测的时间不在其中。",
    ),
    "passes": ("What a pass costs", "一次前向的成本"),
    "passes_how": (
        "Measured on this machine when the models were loaded. Rings are the widths that were "
        "chosen in this run, the larger the more often.",
        "模型加载时在这台机器上实测。圆圈是本次运行选用的宽度，越大表示越常用。",
    ),
    "roofline": ("Memory or arithmetic?", "内存还是算力？"),
    "roofline_how": (
        "Numbers are tokens in a pass. On the slope the pass waits for memory and more tokens are "
        "nearly free; on the flat part they cost. The ceilings are the best these passes reached.",
        "数字是一次前向的词元数。斜线上前向在等内存，多几个词元几乎免费；平线上则要花时间。上限是这些前向达到的最好值。",
    ),
    "entropy": ("Speed-up against entropy", "加速比与熵"),
    "entropy_how": (
        "One point a prompt: the less decided the target, the less there is to gain. It needs "
        "several prompts: run a benchmark, or load records, in the Benchmark tab.",
        "每个提示词一个点：目标模型越犹豫，收益越小。需要多个提示词：请在“基准测试”标签页运行或载入记录。",
    ),
    "sorted": ("Speed-up, prompt by prompt", "各提示词的加速比"),
    "sorted_how": (
        "Sorted by speed-up, a line a method, on a logarithmic axis. Below 1 guessing lost.",
        "按加速比排序，每种方法一条线，纵轴为对数。低于 1 表示猜测亏了。",
    ),
    "save_chart": ("Save “{title}” as {kind}", "把“{title}”保存为 {kind}"),
}
"""`{lane}` and the like are filled in by the script."""
