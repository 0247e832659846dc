"""What the page says, in English and in Simplified Chinese."""

from __future__ import annotations

from typing import Literal

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
    "chip_loses": ("Where guessing loses", "猜不中的例子"),
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
    "penalty": ("Repetition penalty (1: off)", "重复惩罚（1：关闭）"),
    "auto": ("auto", "自动"),
    "exact": ("exact", "精确"),
    "fast": ("fast", "快速"),
    "latency": ("Tokens against time", "词元数与时间"),
    "acceptance": ("Acceptance by depth", "各深度的接受率"),
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
    "hf-generate": ("Hugging Face generate", "Hugging Face generate"),
    "hf-lookup": ("Hugging Face lookup", "Hugging Face 查找"),
    "hf-assisted": ("Hugging Face assisted", "Hugging Face 辅助"),
    "llama-cpp": ("llama.cpp", "llama.cpp"),
}

PLOT: dict[str, tuple[str, str]] = {
    "seconds": ("seconds since the prompt", "自提示词起的秒数"),
    "tokens": ("tokens", "词元数"),
    "depth": ("depth in the guess", "猜测深度"),
    "rate": ("accepted, given its parent was", "父节点被接受时的接受率"),
}

RACE: dict[str, tuple[str, str]] = {
    "title": ("Staged speculative decoding lab", "分级投机解码实验室"),
    "what_autoregressive": (
        "The target alone: one token a pass. The baseline.",
        "只有目标模型：每次前向一个词元。基线。",
    ),
    "what_speculative": (
        "A small draft guesses a chain; the target checks it in one pass.",
        "小的草稿模型猜一串，目标模型一次前向检查。",
    ),
    "what_staged": (
        "A tree of guesses, and an N-gram that guesses for the draft.",
        "一棵猜测树，N-gram 再为草稿模型猜测。",
    ),
    "what_tree": ("A tree of guesses from the draft.", "草稿模型给出的一棵猜测树。"),
    "what_lookup": ("Guesses from the N-gram only.", "只由 N-gram 猜测。"),
    "what_replay": ("Every guess is right.", "每次猜测都对。"),
    "what_speculative-rejection": (
        "A chain under the classic acceptance rule: equal in law, not in text.",
        "经典接受规则下的一串猜测：分布相同，文本不必相同。",
    ),
    "what_hf-generate": (
        "transformers' own loop on the same weights. It has no verdict: it rounds otherwise.",
        "transformers 自己的生成循环，权重相同。舍入方式不同，因此没有判定。",
    ),
    "what_hf-lookup": (
        "transformers with prompt lookup on the same weights.",
        "transformers 的提示词查找，权重相同。",
    ),
    "what_hf-assisted": (
        "transformers with our draft as its assistant.",
        "transformers 以我们的草稿模型为辅助。",
    ),
    "what_llama-cpp": ("llama.cpp on the same model file.", "llama.cpp，同一模型文件。"),
    "origin_ngram": ("N-gram", "N-gram"),
    "origin_draft": ("Draft", "草稿"),
    "origin_target": ("Target", "目标"),
    "legend": ("First proposed by", "最先由谁提出"),
    "honest": (
        "The lanes run one after another on the same device; the clocks are the engine's own.",
        "各解码器在同一设备上依次运行；时间由引擎自己测量。",
    ),
    "idle": ("Ready.", "就绪。"),
    "waiting": ("Waiting: {n} ahead of you.", "排队中：前面还有 {n} 个任务。"),
    "busy": (
        "Another timed run is under way on this machine: waiting for it to end.",
        "本机正在进行另一个计时运行：等待其结束。",
    ),
    "repeating": (
        "Run {number} of {total}, for the times",
        "第 {number} 次（共 {total} 次），用于计时",
    ),
    "loading": ("Loading the models: {stage}", "正在加载模型：{stage}"),
    "warming": ("Warming up", "预热中"),
    "reading": ("{lane} is reading the prompt", "{lane}正在读提示词"),
    "writing": ("{lane} is writing", "{lane}正在生成"),
    "measuring": ("Comparing the texts and the logits", "正在比较文本与 logits"),
    "finished": ("Finished. Below is the race on one shared clock.", "完成。以下按同一时钟重放。"),
    "stopped": ("Stopped: the results are partial.", "已停止：结果不完整。"),
    "budget": (
        "The time budget of {n} seconds is used up: the results are partial.",
        "{n} 秒的时间预算已用完：结果不完整。",
    ),
    "failed": (
        "The run failed on the server; please try again.",
        "服务器上运行失败，请重试。",
    ),
    "verdict_idle": ("The verdict comes after a run.", "运行后给出判定。"),
    "identical": ("Identical", "完全一致"),
    "near_tie": ("Near tie", "近似平局"),
    "bug": ("Bug", "错误"),
    "no_verdict": ("No verdict", "无判定"),
    "tokens_equal": ("{k} of {n} tokens", "{n} 个词元中 {k} 个一致"),
    "rows_equal": (
        "{k} of {n} logit rows equal to the last bit",
        "{n} 行 logits 中 {k} 行逐位相同",
    ),
    "partial": ("Stopped early", "提前停止"),
    "agree_so_far": (
        "all lanes agree as far as they came",
        "各解码器已生成的部分一致",
    ),
    "no_reference": (
        "without the autoregressive lane there is nothing to compare with",
        "没有自回归结果可供比较",
    ),
    "alone": ("one lane has nothing to compare with", "只有一个解码器，没有可比较的结果"),
    "parts_at": (
        "{lane} parts at token {n}: {a} against {b}",
        "{lane}在第 {n} 个词元处分叉：{a} 与 {b}",
    ),
    "replay": ("Race replay", "比赛重放"),
    "play": ("Play", "播放"),
    "pause": ("Pause", "暂停"),
    "position": ("Position in the race", "比赛进度"),
    "speed": ("Speed", "速度"),
    "scoreboard": ("Scoreboard", "记分板"),
    "row_tokens_per_second": ("Tokens per second", "词元/秒"),
    "row_speedup": ("Speed-up", "加速比"),
    "row_end_to_end_speedup": ("Speed-up, end to end", "端到端加速比"),
    "row_time_to_first_token": ("Time to first token", "首词元时间"),
    "row_total": ("End to end", "端到端时间"),
    "row_target_passes": ("Target passes", "目标模型前向次数"),
    "row_draft_passes": ("Draft passes", "草稿模型前向次数"),
    "row_tokens_per_step": ("Tokens per target pass", "每次目标前向的词元数"),
    "row_acceptance_rate": ("Acceptance rate", "接受率"),
    "row_stages": ("Where the time went", "时间分布"),
    "stage_prefill": ("prefill", "预填充"),
    "stage_ngram": ("N-gram", "N-gram"),
    "stage_draft": ("draft", "草稿"),
    "stage_target": ("target", "目标"),
    "stage_other": ("rest", "其余"),
    "tally": ("{n} tokens", "{n} 个词元"),
    "card_token": ("Token", "词元"),
    "card_id": ("Id", "编号"),
    "card_round": ("Round", "轮次"),
    "card_depth": ("Depth", "深度"),
    "card_stage": ("Proposed by", "提出者"),
    "card_nodes": ("Guessed this round", "本轮猜测数"),
    "card_time": ("Settled at", "确定时刻"),
    "text_of": ("Text of {lane}; arrow keys walk the tokens", "{lane}的文本；方向键逐个查看词元"),
    "not_run": ("not run", "未运行"),
}
"""What the race view says; `{n}` and the like are filled in by it."""

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
    "chip_loses": "List forty random words that have nothing to do with each other.",
}
"""The example prompts by chip."""


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
    names = {f"method_{name}": pair for name, pair in METHODS.items()}
    return dictionary({**LABELS, **names}, language)
