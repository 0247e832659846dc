"""What a report says, in English and in Simplified Chinese."""

from __future__ import annotations

from typing import Literal

from compare.table import WORDS as TABLE_WORDS

Language = Literal["en", "zh-CN"]
LANGUAGES: tuple[Language, ...] = ("en", "zh-CN")

# For each column of the tables: its head and how its number is made.
COLUMNS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "method": (
        ("method", "方法"),
        ("The decoder, as the command line names it.", "解码方法，名称与命令行一致。"),
    ),
    "speed-up": (
        ("speed-up", "加速比"),
        (
            "Decode time of autoregressive over the method's, of the same prompt and repeat; the "
            "median over repeats, then over prompts. An answer of another length counts by its "
            "time a token.",
            "同一提示词、同一次重复中，自回归的解码时间除以该方法的解码时间；先对重复取中位数，再对提示词取"
            "中位数。长度不同的回答按每词元时间计。",
        ),
    ),
    "[95 % interval]": (
        ("[95 % interval]", "[95 % 区间]"),
        (
            "Of the median: 2,000 bootstrap samples of the prompts.",
            "中位数的区间：对提示词做 2000 次自助抽样。",
        ),
    ),
    "end-to-end": (
        ("end-to-end", "端到端"),
        ("The speed-up with the prefill counted in.", "把预填充也计入的加速比。"),
    ),
    "first token": (
        ("first token", "首词元"),
        (
            "Median of the seconds to the end of the first round, prefill included.",
            "到第一轮结束为止的秒数（含预填充），取中位数。",
        ),
    ),
    "tok/s": (
        ("tok/s", "词元/秒"),
        ("Tokens over decode seconds, all runs together.", "词元数除以解码秒数，全部运行合计。"),
    ),
    "tok/pass": (
        ("tok/pass", "词元/前向"),
        (
            "Tokens that one pass of the target settles, its own included.",
            "目标模型一次前向确定的词元数（含它自己的一个）。",
        ),
    ),
    "acceptance": (
        ("acceptance", "接受率"),
        (
            "Share of the guessed tokens that stood, among those whose parent in the tree stood.",
            "在父节点已被接受的猜测词元中，被接受的比例。",
        ),
    ),
    "passes": (
        ("passes", "目标前向"),
        ("Passes of the target while decoding.", "解码期间目标模型的前向次数。"),
    ),
    "draft passes": (
        ("draft passes", "草稿前向"),
        ("Passes of the draft while decoding.", "解码期间草稿模型的前向次数。"),
    ),
    "MB/token": (
        ("MB/token", "MB/词元"),
        (
            "Weights and cache that all models read, in millions of bytes a token.",
            "每个词元所读取的权重与缓存（所有模型合计，百万字节）。",
        ),
    ),
    "verdicts": (
        ("verdicts", "判定"),
        (
            "IDENTICAL: the same ids as autoregressive. NEAR-TIE: they part where both tokens lie "
            "within the measured error. BUG: anything else. Baselines are compared, not judged.",
            "IDENTICAL：词元与自回归完全相同。NEAR-TIE：在测得误差之内的近似平局处分叉。BUG：其余情况。"
            "外部基线只比较，不判定。",
        ),
    ),
    "rows equal": (
        ("rows equal", "相同行"),
        (
            "Rows of raw logits that are equal to autoregressive's in every bit, by their hashes.",
            "原始 logits 与自回归逐位相同的行数（比较哈希）。",
        ),
    ),
    "prompt": (("prompt", "提示词"), ("The prompt's name in its suite.", "在提示词集中的名称。")),
    "tokens": (("tokens", "词元"), ("Tokens of the answer.", "回答的词元数。")),
    "entropy": (
        ("entropy", "熵"),
        (
            "Of the target's law at each token of the answer, in bits, the mean.",
            "目标模型在回答每个词元处的分布熵（比特），取平均。",
        ),
    ),
    "distinct 4-grams": (
        ("distinct 4-grams", "不同 4 元组"),
        (
            "Share of distinct ones among the answer's runs of four ids; below a half it loops.",
            "回答中连续四个词元的不同组合所占比例；低于一半视为循环。",
        ),
    ),
    "category": (("category", "类别"), ("The prompt's, as its suite says.", "提示词集所给类别。")),
}

WORDS: dict[str, tuple[str, str]] = {
    "title": ("Decoders compared: {suite}", "解码方法比较：{suite}"),
    "made": (
        "{runs} runs of {methods} methods on {prompts} prompts; recorded {created}",
        "{prompts} 个提示词上 {methods} 种方法共 {runs} 次运行；记录于 {created}",
    ),
    "all_identical": (
        "Identical: all {runs} runs of our methods gave the ids of autoregressive; "
        "{equal} of {rows} logit rows are equal to the last bit.",
        "完全相同：我们的方法全部 {runs} 次运行都给出与自回归相同的词元；"
        "{rows} 行 logits 中有 {equal} 行逐位相同。",
    ),
    "near_ties": (
        "Near-ties: {count} of {runs} runs part from autoregressive where both tokens lie within "
        "the measured error; all others are identical.",
        "近似平局：{runs} 次运行中有 {count} 次在测得误差之内与自回归分叉；其余完全相同。",
    ),
    "bugs": (
        "Bug: {count} of {runs} runs differ from autoregressive without excuse; see below.",
        "错误：{runs} 次运行中有 {count} 次与自回归不同且无法解释；见下文。",
    ),
    "not_judged": (
        "Not judged: the record has no run of autoregressive to compare with.",
        "未判定：记录中没有可供比较的自回归运行。",
    ),
    "failures": ("Failed runs: {count}; see below.", "失败的运行：{count} 次；见下文。"),
    "results": ("Results", "结果"),
    "figures": ("Figures", "图表"),
    "categories": ("By category", "按类别"),
    "prompts": ("By prompt", "按提示词"),
    "verdict_list": ("Where answers differ", "回答不同之处"),
    "no_difference": ("No answer differs from autoregressive's.", "没有回答与自回归不同。"),
    "environment": ("Environment", "环境"),
    "how": ("How each number was made", "每个数字的由来"),
    "command": ("Command", "命令"),
    "commit": ("Commit", "提交"),
    "unknown": ("not known", "未知"),
    "repeat": ("repeat", "重复"),
    "verdict": ("verdict", "判定"),
    "first": ("first difference", "首处不同"),
    "theirs": ("autoregressive's id", "自回归的词元"),
    "its": ("its id", "该方法的词元"),
    "reason": ("reason", "原因"),
    "ended": ("ended", "已结束"),
    "differs": ("differs", "不同"),
    "failed_run": ("failed", "失败"),
    "slowest_first": ("{method}, the slowest prompt first", "{method}，从最慢的提示词开始"),
    "more": (
        "{count} more are in the CSV and the record.",
        "另有 {count} 处，见 CSV 与记录文件。",
    ),
    "engine_clock": (
        "Clocks are inside the engine. Methods take turns on each prompt, one at a time on the "
        "device, after a warm-up that is not recorded.",
        "计时在引擎内部完成。预热（不记录）之后，各方法在每个提示词上轮流运行，同一时刻只有一个占用设备。",
    ),
    "speedup_title": (
        "Speed-up: median and interval; a faint dot for each prompt",
        "加速比：中位数与区间；每个提示词一个浅色点",
    ),
    "ranked_title": ("Speed-up by prompt, sorted", "各提示词的加速比（排序）"),
    "entropy_title": (
        "Speed-up against the target's entropy on the prompt",
        "加速比与目标模型在该提示词上的熵",
    ),
    "acceptance_title": (
        "Acceptance by depth, given an accepted parent; 95 % Wilson intervals",
        "各深度的接受率（父节点已接受）；95 % Wilson 区间",
    ),
    "settled_title": ("Tokens settled by one pass of the target", "目标模型一次前向确定的词元数"),
    "stages_title": ("Where the time of a token goes", "每个词元的时间去向"),
    "origins_title": ("Who first proposed the tokens", "词元由谁最先提出"),
    "speedup": ("speed-up", "加速比"),
    "prompts_sorted": ("prompts, the slowest first", "提示词，从慢到快"),
    "entropy_axis": ("mean entropy, bits a token", "平均熵（比特/词元）"),
    "depth": ("depth", "深度"),
    "rate": ("acceptance rate", "接受率"),
    "tokens_axis": ("tokens", "词元数"),
    "share_of_passes": ("share of passes", "前向次数比例"),
    "milliseconds": ("milliseconds a token", "毫秒/词元"),
    "share_of_tokens": ("share of tokens", "词元比例"),
    "covers_one": ("not clearly other than 1×", "与 1× 无明显差别"),
    "ngram": ("N-gram", "N-gram"),
    "draft": ("draft", "草稿模型"),
    "target": ("target", "目标模型"),
    "other": ("the rest", "其余"),
    "looping": (
        TABLE_WORDS["looping"],
        "去掉循环的回答（不同 4 元组不到一半，共 {count} 个：{names}）：",
    ),
    "plain": (
        TABLE_WORDS["plain"],
        "在这台机器上，精确数值使自回归循环用时为普通循环的 {ratio} 倍{source}。"
        "以同一精度下最快的普通循环为基准：{speedups}。表中的加速比以精确循环为基准。",
    ),
    "plain_run": (TABLE_WORDS["plain_run"], "（方法 native）"),
    "plain_measured": (
        TABLE_WORDS["plain_measured"],
        "（加载模型时测得；加上方法 native 可实际运行它）",
    ),
    "chosen": (
        TABLE_WORDS["chosen"],
        "选用精度 {precision}：在这台机器上一个典型回答用时最短（{seconds}）{agreement}。",
    ),
    "agreement": (
        TABLE_WORDS["agreement"],
        "；与已发布权重的首选词元 {share} 一致",
    ),
    "noisy": (
        TABLE_WORDS["noisy"],
        "计时波动大：{method} 的各次重复相差 {spread}（标准差；超过 {limit} 即偏大），"
        "请在没有其他程序运行时重新测量",
    ),
    "agrees": (TABLE_WORDS["agrees"], "{runs} 次中 {count} 次词元相同"),
    "failed": (TABLE_WORDS["failed"], "{count} 次失败"),
    "of": (TABLE_WORDS["of"], "{count} / {total}"),
}


def dictionary(language: Language) -> dict[str, str]:
    """What a report says in `language`, by key. Raises ValueError for a language it has not."""
    if language not in LANGUAGES:
        raise ValueError(f"the language must be one of {', '.join(LANGUAGES)}, got {language!r}")
    at = LANGUAGES.index(language)
    return {key: pair[at] for key, pair in WORDS.items()}


def columns(language: Language) -> dict[str, tuple[str, str]]:
    """For each column its head and its meaning in `language`."""
    at = LANGUAGES.index(language)
    return {name: (head[at], meaning[at]) for name, (head, meaning) in COLUMNS.items()}
