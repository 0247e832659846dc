"""What the step view says, in English and in Simplified Chinese."""

from __future__ import annotations

STEP: dict[str, tuple[str, str]] = {
    "step_idle": (
        "There is no round to show: run a lane that guesses, for example the staged one.",
        "没有可显示的轮次：请运行一个会猜测的解码器，例如分级投机。",
    ),
    "round": ("Round", "轮次"),
    "round_of": ("Round {n} of {total}", "第 {n} 轮，共 {total} 轮"),
    "round_before": ("The round before", "上一轮"),
    "round_after": ("The round after", "下一轮"),
    "lane": ("Lane", "解码器"),
    "context_tail": ("The context ends", "前文结尾"),
    "tree_title": ("The tree that the target checked in one pass", "目标模型一次前向检查的树"),
    "inner_title": ("How the N-gram helped the draft", "N-gram 如何帮助草稿模型"),
    "told_guessed": (
        "Guessed: {tokens} ({draft} by the draft, in {passes}; {ngram} by the N-gram).",
        "猜了{tokens}（草稿模型 {draft} 个，用了{passes}；N-gram {ngram} 个）。",
    ),
    "told_nothing": (
        "Nothing was worth guessing (the draft: {passes}).",
        "这一轮不值得猜测（草稿模型用了{passes}）。",
    ),
    "one_tokens": ("{n} token", " {n} 个词元"),
    "many_tokens": ("{n} tokens", " {n} 个词元"),
    "one_passes": ("{n} pass", " {n} 次前向"),
    "many_passes": ("{n} passes", " {n} 次前向"),
    "told_agreed": ("The target agreed with {n}: “{text}”.", "目标模型同意其中 {n} 个：“{text}”。"),
    "told_disagreed": ("The target agreed with none of them.", "目标模型一个也不同意。"),
    "told_own": ("Its own next token is “{token}”.", "它自己的下一个词元是“{token}”。"),
    "told_cut": ("There the answer ended.", "回答到此结束。"),
    "told_sum": (
        "So one pass of the target gave {tokens}; the round took {ms} ms.",
        "于是目标模型一次前向得到{tokens}，本轮用时 {ms} 毫秒。",
    ),
    "fate_root": ("last token of the context", "前文最后一个词元"),
    "fate_accepted": ("accepted", "被接受"),
    "fate_own": ("the target's own token", "目标模型自己的词元"),
    "fate_rejected": ("rejected", "被拒绝"),
    "fate_unreached": ("not reached", "未到达"),
    "by_context": ("the last token of the context, the root of the tree", "前文最后一个词元，树根"),
    "by_draft": ("guessed by the draft", "由草稿模型猜测"),
    "by_ngram": ("guessed by the N-gram", "由 N-gram 猜测"),
    "by_target": ("from the target", "来自目标模型"),
    "by_own": ("the target's own token, guessed by nobody", "目标模型自己的词元，无人猜到"),
    "why_root": (
        "Everything in the tree is a guess at what follows this token.",
        "树中的一切都是对此词元之后内容的猜测。",
    ),
    "why_accepted": (
        "Accepted: after “{parent}” the target's own choice is “{token}”, and that was guessed.",
        "被接受：在“{parent}”之后，目标模型自己的选择就是“{token}”，它在猜测之中。",
    ),
    "why_own": (
        "After “{parent}” the target chooses “{token}”. No guess says so there, so the round ends "
        "here; the token costs nothing extra.",
        "在“{parent}”之后目标模型选择“{token}”。那里没有这样的猜测，本轮到此结束；"
        "这个词元不另花时间。",
    ),
    "why_rejected": (
        "Rejected: after “{parent}” the target's own choice is “{winner}”, not “{token}”.",
        "被拒绝：在“{parent}”之后，目标模型自己的选择是“{winner}”，不是“{token}”。",
    ),
    "why_cut": (
        "Not used: the answer ended before it.",
        "未使用：回答在它之前已结束。",
    ),
    "why_unreached": (
        "Not reached: “{parent}” before it is not what the target says, so nobody asks what "
        "follows.",
        "未到达：它前面的“{parent}”不是目标模型要说的，所以无需看其后内容。",
    ),
    "target_after": ("The target after “{place}”", "目标模型在“{place}”之后"),
    "draft_after": ("The draft after “{place}”", "草稿模型在“{place}”之后"),
    "candidate_token": ("token", "词元"),
    "candidate_probability": ("probability", "概率"),
    "candidate_noise": ("noise", "噪声"),
    "candidate_sum": ("ln p + noise", "ln p + 噪声"),
    "noise_note": (
        "The highest sum of ln p and noise wins. The noise depends on seed, position and token "
        "alone, so every lane gets the same.",
        "ln p 与噪声之和最大者胜出。噪声只取决于种子、位置和词元，所以各解码器得到的都相同。",
    ),
    "no_row": ("No candidates were recorded here.", "此处没有记录候选。"),
    "draft_unread": (
        "The draft did not read this place: nothing there was worth a pass.",
        "草稿模型没有读这个位置：不值得一次前向。",
    ),
    "no_details": (
        "This record has no candidates (a run with --details has).",
        "此记录没有候选（用 --details 运行则有）。",
    ),
    "inner_none": ("The draft was not asked in this round.", "本轮没有使用草稿模型。"),
    "inner_wanted": ("needed", "需要"),
    "inner_ahead": ("read ahead, foreseen by the N-gram", "N-gram 预见而提前读取"),
    "inner_alone": (
        "In these passes the N-gram foresaw nothing more to read.",
        "在这些前向中，N-gram 没有预见更多要读的内容。",
    ),
    "inner_sum": (
        "Read ahead: {n}, of which {used} lie on the tree. Each of these would have cost the draft "
        "a pass of its own.",
        "提前读取 {n} 处，其中 {used} 处在树上；后者本来各要草稿模型单独做一次前向。",
    ),
    "the_root": ("the root", "树根"),
}
"""What the step view says."""
