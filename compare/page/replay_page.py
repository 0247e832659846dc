"""A page of one file that replays a run from disk: the page's own scripts, styles and a record."""

from __future__ import annotations

from compare.page.view import STYLES, race_script, step_script

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_STYLE = """
.gradio-container {
  --body-text-color: #18181b; --block-background-fill: #fff; --background-fill-primary: #fff;
  --border-color-primary: #d4d4d8; --font-mono: ui-monospace, monospace;
  --font: system-ui, sans-serif;
  color: var(--body-text-color); background: #fafafa; font-family: var(--font); margin: 0 auto;
  padding: 16px 24px 48px; box-sizing: border-box;
}
html { background: #fafafa; }
.gradio-container > div { margin-top: 24px; }
.gradio-container button, .gradio-container select { font: inherit; }
@media (prefers-color-scheme: dark) {
  .gradio-container {
    --body-text-color: #f4f4f5; --block-background-fill: #27272a;
    --background-fill-primary: #18181b; --border-color-primary: #52525b; background: #0b0b0c;
  }
  html { background: #0b0b0c; }
}
@media (max-width: 700px) { .gradio-container { padding: 12px 12px 32px; } }
"""
_SCRIPT = """
const message = JSON.parse(document.getElementById("data").textContent);
window.ssdLab = { shown: null, followers: new Set(), opening: message };
document.getElementById("prompt").textContent = message.prompt;
function mount(id, draw) {
  draw(document.getElementById(id), () => {}, { value: null }, () => {});
}
"""


def replay_page() -> str:
    """The page's HTML, in which `@LANGUAGE@` and `@DATA@` are still to be put.

    The latter is the message of a shown run as JSON, harmless inside a script element.
    """
    styles = "\n".join(path.read_text("utf-8") for path in STYLES) + _STYLE
    scripts = {"race": race_script(), "step": step_script()}
    mounts = "\n".join(_mount(name, script) for name, script in scripts.items())
    assert "</" not in mounts, "a script element ends there"
    return f"""<!doctype html>
<html lang="@LANGUAGE@">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>Staged speculative decoding lab</title>
<style>{styles}</style>
</head>
<body class="gradio-container">
<main>
<div class="ssd-title"><h1>Staged speculative decoding lab</h1><p id="prompt"></p></div>
{"".join(f'<div id="{name}"><div class="ssd-view ssd-{name}"></div></div>' for name in scripts)}
</main>
<script type="application/json" id="data">@DATA@</script>
<script>{_SCRIPT}{mounts}</script>
</body>
</html>
"""


def _mount(name: str, script: str) -> str:
    return f'mount("{name}", function (element, trigger, props, watch) {{\n{script}\n}});'
