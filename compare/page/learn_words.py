"""What the Learn tab says around its lessons: buttons, figures, the glossary."""

from __future__ import annotations

LEARN: dict[str, tuple[str, str]] = {
    "lessons": ("Lessons", "课程"),
    "intro": (
        "Six short lessons, from nothing to the whole idea. Each asks you something before it "
        "tells you. Nothing has to be loaded: numbers and pictures come from recorded runs.",
        "六节短课，从零讲到全部思路。每节都先问你，再告诉你。不需要加载任何模型：数字和图都来自录制的运行。",
    ),
    "glossary": ("Glossary", "术语表"),
    "glossary_intro": (
        "The words of this page. In the other tabs they lead here.",
        "本页用到的词。其他标签页里的术语也会指到这里。",
    ),
    "in_glossary": ("In the glossary", "在术语表中查看"),
    "next": ("Next: {title}", "下一课：{title}"),
    "question": ("Question: the lesson goes on once it is answered", "问题：回答之后课程继续"),
    "right": ("Right.", "对。"),
    "told": ("The answer:", "答案："),
    "wrong": ("Not quite.", "不太对。"),
    "show": ("Show the answer", "显示答案"),
    "try": ("Try it on the real thing", "在真实模型上试试"),
    "look": ("Press Run there. What to look for:", "在那里按“运行”，注意看："),
    "short": ("In short", "一句话"),
    "temperature": ("Temperature", "温度"),
    "seed": ("Seed", "随机种子"),
    "width_slider": ("Tokens in one pass", "一次前向的词元数"),
    "width_caption": (
        "Measured time of one pass of the target in milliseconds, by the number of tokens in it.",
        "目标模型一次前向的实测时间（毫秒），按其中的词元数。",
    ),
    "width_reading": (
        "{n} in one pass: {ms}, {ratio} times a pass over one token; that is {each} a token.",
        "一次前向 {n} 个：{ms}，是一个词元时的 {ratio} 倍；平均每个词元 {each}。",
    ),
    "chain_caption": (
        "The text so far: “The capital of France”. The draft guesses four more words; press one "
        "to make it wrong or right.",
        "前文：“法国的首都”。草稿模型再猜四个词元；点一个，让它变错或变对。",
    ),
    "chain_prompt": ("“The capital of France”", "“法国的首都”"),
    "chain_target": ("is|Paris|and|it|lies", "是|巴黎|，|它|位于"),
    "chain_wrong": ("has|Lyon|or|that", "有|里昂|。|这"),
    "chain_space": (" ", ""),
    "chain_guesses": ("The draft guesses", "草稿模型猜"),
    "chain_says": ("The target says", "目标模型说"),
    "chain_press": ("{word}: press to change the guess", "{word}：点一下改变这个猜测"),
    "chain_reading": (
        "This pass settles {n}: {k} accepted, and the target's own word. The text goes on: {text}",
        "这次前向确定 {n} 个：接受 {k} 个，加上目标模型自己的词元。文本接着写成：{text}",
    ),
    "tree_slider": ("How likely the draft's best guess is", "草稿模型最佳猜测的可能性"),
    "tree_caption": (
        "The best tree of six guesses, if every place is as doubtful as this: the second guess "
        "gets 60 % of what the best one leaves, the third 25 %. In each node: the chance that it "
        "and all above it are right. (An example, computed here.)",
        "六个猜测的最佳树，假设每个位置都同样难猜：最佳猜测之外余下的可能性，"
        "第二个占 60 %，第三个占 25 %。节点里是它和它上面全部猜对的概率。（示例，在此计算。）",
    ),
    "tree_reading": (
        "At {p} % the best tree of six is {depth} deep and settles {tree} tokens a pass on "
        "average; a chain of six settles {chain}.",
        "在 {p} % 时，六个节点的最佳树深 {depth} 层，平均每次前向确定 {tree} 个词元；"
        "六个一串的链确定 {chain} 个。",
    ),
    "stages_slider": (
        "Guesses of the N-gram in a row that the draft agrees with",
        "N-gram 连续猜中草稿模型所选词元的个数",
    ),
    "stages_caption": (
        "One round with a chain of six guesses. Each pass of the draft yields the guesses that it "
        "agrees with and one token of its own. The bars are to scale: pass times measured on the "
        "recorded machine.",
        "一轮，猜测是六个一串。草稿模型每次前向得到它同意的那些猜测，再加上自己的一个词元。"
        "条形按录制所用机器实测的前向时间成比例。",
    ),
    "stages_alone": ("The draft alone: {n} passes", "只有草稿模型：{n} 次前向"),
    "stages_helped": ("With the N-gram's help: {n} of them", "有 N-gram 帮忙：{n} 次"),
    "stages_target": ("target", "目标模型"),
    "stages_reading": (
        "With that help {n} passes of the draft do, and the round takes {after} instead of "
        "{before}.",
        "有了帮助，草稿模型只需 {n} 次前向，一轮用 {after} 而不是 {before}。",
    ),
    "choice_guess": ("The draft guesses", "草稿模型猜"),
    "choice_prompt": ("My favourite colour is", "我最喜欢的颜色是"),
    "choice_tokens": ("red|blue|green|the|never", "红|蓝|绿|那|从不"),
    "choice_token": ("Token", "词元"),
    "choice_score": ("Score", "分数"),
    "choice_noise": ("Noise", "噪声"),
    "choice_sum": ("Sum", "总和"),
    "choice_wins": ("(wins)", "（获胜）"),
    "choice_caption": (
        "The place after “My favourite colour is”. Scores are made up, the rule is the real one.",
        "“我最喜欢的颜色是”之后的位置。分数是虚构的，规则是真的。",
    ),
    "choice_kept": (
        "The guess “{guess}” is the winner, so it stands. In the text: “{prompt} {winner}”.",
        "猜测“{guess}”就是获胜者，所以保留。文本中是：“{prompt}{winner}”。",
    ),
    "choice_dropped": (
        "The guess “{guess}” is dropped, for “{winner}” wins. In the text: “{prompt} {winner}”.",
        "猜测“{guess}”被丢弃，因为“{winner}”获胜。文本中是：“{prompt}{winner}”。",
    ),
    "rounding_kind": ("Precision", "数值精度"),
    "rounding_caption": (
        "The same five numbers, added from the left in two orders; every partial sum is rounded.",
        "同样的五个数，按两种顺序从左加到右；每个部分和都舍入。",
    ),
    "rounding_parts": (
        "{a} and {b}: the order of adding decides.",
        "{a} 和 {b}：相加的顺序决定结果。",
    ),
    "rounding_same": (
        "{a} both times: there are digits enough here. With longer sums it happens here too.",
        "两次都是 {a}：这里位数够用。相加的数更多时，这里也会出现差别。",
    ),
    "payoff_rate": ("A guess is right", "一个猜测猜对的概率"),
    "payoff_price": ("A draft pass takes, of a target pass", "草稿前向耗时（占目标前向）"),
    "payoff_length": ("Guesses in the chain", "链中的猜测数"),
    "payoff_caption": (
        "Speed-up by the length of the chain, computed from the formula; how much longer a wider "
        "pass takes is the recorded machine's measured curve.",
        "按公式计算的加速比，横轴是链的长度；更宽的前向慢多少，取录制所用机器的实测曲线。",
    ),
    "payoff_gain": (
        "{tokens} tokens for the time of {cost} passes: {ratio} times the speed. It pays.",
        "{tokens} 个词元，花 {cost} 次前向的时间：速度是原来的 {ratio} 倍。划算。",
    ),
    "payoff_loss": (
        "{tokens} tokens for the time of {cost} passes: {ratio} times the speed. It loses.",
        "{tokens} 个词元，花 {cost} 次前向的时间：速度是原来的 {ratio} 倍。不划算。",
    ),
}
"""`{n}` and the like are filled in by the scripts; `|` separates the words of an example."""
