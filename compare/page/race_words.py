"""What the race view says, in English and in Simplified Chinese."""

from __future__ import annotations

from compare.page import words

_STAGES = {
    "connecting": ("connecting", "连接中"),
    "downloading": ("downloading the model, once", "下载模型（仅一次）"),
    "checking": ("checking the files", "校验文件"),
    "unpacking": ("unpacking", "解包中"),
    "converting": ("converting the weights, once", "转换权重（仅一次）"),
    "waiting for another process": ("waiting for another process", "等待另一个进程"),
    "loading the model": ("reading the model", "读取模型"),
    "choosing the precision": (
        "choosing the fastest precision here, once a machine",
        "选择本机最快的精度（每台机器一次）",
    ),
    "probing the kernels": (
        "checking at which pass widths equal rows give equal bits here, once a machine",
        "检查在哪些前向宽度下相同的行得到相同的比特（每台机器一次）",
    ),
    "choosing the draft's form": (
        "choosing the draft's fastest form here, once a machine",
        "为草稿模型选择本机最快的形式（每台机器一次）",
    ),
    "measuring pass times": (
        "timing passes, by which the size of trees is decided",
        "测量前向用时，据此决定树的大小",
    ),
}
"""What loading is at, as `ssd.models` names it, and what that is for."""

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
    "what_native": (
        "The target alone as others compute it: nothing padded. It has no verdict: it rounds "
        "otherwise.",
        "只有目标模型，按通常方式计算，不补齐。舍入方式不同，因此没有判定。",
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
    "sized_nodes": ("{n} nodes", "{n} 个节点"),
    "sized_chain": ("chain of {n}", "链长 {n}"),
    "sized_none": ("no N-gram", "无 N-gram"),
    "origin_ngram": ("N-gram", "N-gram"),
    "origin_draft": ("Draft", "草稿模型"),
    "origin_target": ("Target", "目标模型"),
    "legend": ("First proposed by", "最先由谁提出"),
    "honest": (
        "The lanes run one after another on the same device; the clocks are the engine's own, and "
        "the replay sets them side by side on one. While they run they are drawn only every second "
        "or two, for drawing would slow them.",
        "各解码器在同一设备上依次运行；时间由引擎自己测量，回放时按同一时钟并列。"
        "运行时每一两秒才绘制一次，以免绘制拖慢它们。",
    ),
    "idle": ("Ready.", "就绪。"),
    "waiting": ("Waiting: {n} ahead of you.", "排队中：前面还有 {n} 个任务。"),
    "recorded": (
        "Recorded run: {machine}, {date}, {versions}, commit {commit}. "
        "Press Run for one of your own.",
        "录制的运行：{machine}，{date}，{versions}，提交 {commit}。按“运行”可亲自运行。",
    ),
    "imported": (
        "Imported record, prompt {name}: {machine}, {date}, {versions}, commit {commit}.",
        "导入的记录，提示词 {name}：{machine}，{date}，{versions}，提交 {commit}。",
    ),
    "edited": (
        "A record that was edited since it was written, so nothing it says is sure; prompt {name}: "
        "{machine}, {date}, {versions}, commit {commit}.",
        "这份记录在写成之后被改动过，其内容不可信；提示词 {name}："
        "{machine}，{date}，{versions}，提交 {commit}。",
    ),
    "file": (
        "Replay of a run: {machine}, {date}, {versions}, commit {commit}.",
        "一次运行的回放：{machine}，{date}，{versions}，提交 {commit}。",
    ),
    "recorded_runs": ("Recorded runs", "录制的运行"),
    **{chip: words.LABELS[chip] for chip in words.PROMPTS},
    "busy": (
        "Another timed run is under way on this machine: waiting for it to end.",
        "这台机器上正在进行另一次计时运行，等待其结束。",
    ),
    "repeating": (
        "Run {number} of {total}, for the times",
        "第 {number} 次（共 {total} 次），用于计时",
    ),
    "loading": ("Loading the models: {stage}", "正在加载模型：{stage}"),
    **{f"load_{stage}": words for stage, words in _STAGES.items()},
    "warming": ("Warming up", "预热中"),
    "reading": ("{lane} is reading the prompt", "{lane}正在读提示词"),
    "writing": ("{lane} is writing", "{lane}正在生成"),
    "measuring": ("Comparing the texts and the logits", "正在比较文本与 logits"),
    "finished": ("Finished. Below is the race on one shared clock.", "完成。以下按同一时钟回放。"),
    "stopped": ("Stopped: the results are partial.", "已停止：结果不完整。"),
    "stopped_before": ("Stopped before it began.", "尚未开始便已停止。"),
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
    "the_end": ("the end", "结尾"),
    "gap_and_noise": (
        "{lane}: the gap there is {gap}, the measured numerical noise {error}",
        "{lane}：此处差距为 {gap}，实测数值噪声为 {error}",
    ),
    "replay": ("Race replay", "比赛回放"),
    "play": ("Play", "播放"),
    "pause": ("Pause", "暂停"),
    "position": ("Position in the race", "比赛进度"),
    "speed": ("Speed", "速度"),
    "scoreboard": ("Scoreboard", "记分板"),
    "row_tokens_per_second": ("Tokens per second", "词元/秒"),
    "row_speedup": ("Speed-up", "加速比"),
    "row_plain_speedup": ("Speed-up over the plain loop", "相对普通循环的加速比"),
    "plain_note": (
        "Here exact numerics makes the autoregressive loop take {ratio} times as long as the plain "
        "one, so the first speed-ups, over the plain loop, are the ones to quote.",
        "在这台机器上，精确数值使自回归循环用时为普通循环的 {ratio} 倍，因此应引用第一行"
        "（相对普通循环）的加速比。",
    ),
    "chosen_note": (
        "Precision {precision}: the fastest here for a typical answer ({list}).",
        "精度 {precision}：在这台机器上一个典型回答用时最短（{list}）。",
    ),
    "agreement_note": (
        "It makes {share} of the first choices of the published weights.",
        "它与已发布权重的首选词元 {share} 一致。",
    ),
    "row_end_to_end_speedup": ("Speed-up, end to end", "端到端加速比"),
    "row_time_to_first_token": ("Time to first token", "首词元时间"),
    "row_total": ("End to end", "端到端时间"),
    "row_target_passes": ("Target passes", "目标模型前向次数"),
    "row_draft_passes": ("Draft passes", "草稿模型前向次数"),
    "row_tokens_per_step": ("Tokens per target pass", "每次目标前向的词元数"),
    "row_acceptance_rate": ("Acceptance rate", "接受率"),
    "row_bytes_per_token": ("Weights and cache read per token", "每个词元读取的权重与缓存"),
    "repeats_note": (
        "In brackets: the least and the most of {n} repeats, each paired with its own baseline.",
        "方括号内：{n} 次重复中的最小值与最大值，各与同次基线配对。",
    ),
    "row_stages": ("Where the time went", "时间分布"),
    "stage_prefill": ("prefill", "预填充"),
    "stage_ngram": ("N-gram", "N-gram"),
    "stage_draft": ("draft", "草稿模型"),
    "stage_target": ("target", "目标模型"),
    "stage_other": ("rest", "其余"),
    "tally": ("{n} tokens · {rate} tok/s · {time}", "{n} 个词元 · {rate} 词元/秒 · {time}"),
    "card_token": ("Token", "词元"),
    "card_id": ("Id", "编号"),
    "card_bytes": ("Bytes", "字节"),
    "card_probability": ("Target's probability", "目标模型的概率"),
    "card_rank": ("Target's rank", "目标模型的排名"),
    "card_entropy": ("Target's entropy", "目标模型的熵"),
    "bits": ("{n} bits", "{n} 比特"),
    "card_round": ("Round", "轮次"),
    "card_depth": ("Depth", "深度"),
    "card_stage": ("Proposed by", "提出者"),
    "card_nodes": ("Guessed this round", "本轮猜测数"),
    "card_time": ("Settled at", "确定时刻"),
    "text_of": ("Text of {lane}; arrow keys walk the tokens", "{lane}的文本；方向键逐个查看词元"),
}
"""What the race view says; `{n}` and the like are filled in by it."""
