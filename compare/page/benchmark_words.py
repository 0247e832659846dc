"""What the Benchmark tab says, in English and in Simplified Chinese."""

from __future__ import annotations

BENCH_LABELS: dict[str, tuple[str, str]] = {
    "bench_suite": ("Suite", "提示词集"),
    "suite_quick": ("Quick: 12 prompts of all kinds", "快速：12 个各类提示词"),
    "suite_humaneval": ("HumanEval: 164 Python tasks", "HumanEval：164 个 Python 题目"),
    "suite_file": ("My own file, below", "自己的文件（见下）"),
    "bench_file": (
        "A suite of your own: JSON Lines with id and text, at most 2 MB",
        "自己的提示词集：JSON Lines，含 id 和 text，最大 2 MB",
    ),
    "bench_methods": ("Methods", "方法"),
    "bench_limit": ("Prompts at most (0: all)", "最多几个提示词（0：全部）"),
    "bench_temperature": ("Temperature", "温度"),
    "bench_run": ("Run the benchmark", "运行基准测试"),
    "bench_stop": ("Stop", "停止"),
    "bench_load": ("Load earlier records (at most 64 MB)", "载入以前的记录（最大 64 MB）"),
    "bench_records": ("Records (JSON Lines)", "记录（JSON Lines）"),
    "bench_csv": ("Table (CSV)", "表格（CSV）"),
    "bench_report": ("Report (HTML)", "报告（HTML）"),
}
"""Labels of Gradio's own components."""

BENCHMARK: dict[str, tuple[str, str]] = {
    "bench_idle": (
        "Choose a suite and press Run. Every prompt is a job of its own: other visitors come "
        "between, and times are the engine's.",
        "选择提示词集并按“运行”。每个提示词是一个单独的任务：其他访客可以穿插，时间由引擎测量。",
    ),
    "bench_preparing": ("Preparing the suite", "正在准备提示词集"),
    "bench_running": (
        "{done} of {total} runs, now {prompt}",
        "{total} 次运行已完成 {done} 次，正在运行 {prompt}",
    ),
    "bench_ahead": (
        "{done} of {total} runs; {n} ahead in the queue",
        "{total} 次运行已完成 {done} 次；前面还有 {n} 个任务",
    ),
    "bench_machine": (
        "{done} of {total} runs; another program's timed run has the machine",
        "{total} 次运行已完成 {done} 次；另一个程序正在计时运行，等待中",
    ),
    "bench_loading": ("Loading the models", "正在加载模型"),
    "bench_left": ("about {time} left", "约剩 {time}"),
    "bench_finished": ("Finished.", "完成。"),
    "bench_stopped": (
        "Stopped: only whole prompts are in the table.",
        "已停止：表中只含已全部跑完的提示词。",
    ),
    "bench_budget": (
        "The time budget is used up: only whole prompts are in the table.",
        "时间预算已用完：表中只含已全部跑完的提示词。",
    ),
    "bench_failed": (
        "The run failed on the server; please try again.",
        "服务器上运行失败，请重试。",
    ),
    "bench_loaded": ("Loaded {name}.", "已载入 {name}。"),
    "minutes": ("{n} min", "{n} 分钟"),
    "seconds": ("{n} s", "{n} 秒"),
    "table_title": (
        "{suite}: {prompts} prompts, {runs} runs",
        "{suite}：{prompts} 个提示词，{runs} 次运行",
    ),
    "made_on": ("Made on {all}", "测量环境：{all}"),
    "made_numerics": ("{numerics} numerics", "数值方式 {numerics}"),
    "col_method": ("Method", "方法"),
    "col_speedup": ("Speed-up", "加速比"),
    "col_interval": ("95 % interval", "95 % 区间"),
    "col_end_to_end": ("End to end", "端到端"),
    "col_rate": ("Tokens/s", "词元/秒"),
    "col_tokens_per_step": ("Tokens/pass", "词元/前向"),
    "col_acceptance": ("Acceptance", "接受率"),
    "col_passes": ("Target passes", "目标前向"),
    "col_draft_passes": ("Draft passes", "草稿前向"),
    "col_verdicts": ("Verdicts", "判定"),
    "col_rows": ("Equal rows", "相同的行"),
    "col_errors": ("Failed", "失败"),
    "col_category": ("Category", "类别"),
    "col_prompts": ("Prompts", "提示词"),
    "identical": ("identical", "一致"),
    "near_ties": ("near ties", "近似平局"),
    "bugs": ("BUGS", "错误"),
    "agrees": ("same ids in {k} of {n}", "{n} 次中 {k} 次词元相同"),
    "by_category": ("Speed-up by category", "各类别的加速比"),
    "within_noise": ("no clear difference", "没有明显差别"),
    "noisy": (
        "The machine was busy with other things: repeats of one run lie more than {limit} apart. "
        "Take the times with care.",
        "机器同时在忙别的：同一运行的重复之间相差超过 {limit}。请谨慎看待这些时间。",
    ),
    "looping": (
        "The answer goes round in circles on {prompts}; guessing such a text is too easy.",
        "{prompts} 的回答在兜圈子；这样的文本太容易猜。",
    ),
    "no_reference": (
        "Without the autoregressive method there are no speed-ups and no verdicts.",
        "没有自回归方法，就没有加速比和判定。",
    ),
}
"""What its view says; `{n}` and the like are filled in by the script."""
