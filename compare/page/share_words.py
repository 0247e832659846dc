"""What the link, the exports and the import say, in English and in Simplified Chinese."""

from __future__ import annotations

SHARE: dict[str, tuple[str, str]] = {
    "link": ("Link to this page with these settings", "带有当前设置的链接"),
    "copy": ("Copy", "复制"),
    "copied": ("Copied.", "已复制。"),
    "copy_by_hand": ("Selected: copy it by hand.", "已选中：请手动复制。"),
    "link_wrong": (
        "The link asks for what cannot be, and that was left out: {names}.",
        "链接中有无法满足的设置，已忽略：{names}。",
    ),
    "export": ("Export the run that is shown", "导出所显示的运行"),
    "export_record": ("Run (JSON Lines)", "运行记录（JSON Lines）"),
    "export_scores": ("Scoreboard (CSV)", "记分板（CSV）"),
    "export_rounds": ("Rounds (CSV)", "各轮（CSV）"),
    "export_replay": ("Replay (one HTML file)", "回放（单个 HTML 文件）"),
}
