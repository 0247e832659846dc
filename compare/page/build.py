"""The page: its tabs, and which callback each control calls.

How a run travels. A finished run is one value, `compare.page.shown.Shown`: the lines of its record
file, the summary, and what the ids say. It goes two ways, and nothing of a visitor stays on the
server:

* On the server, every tab that wants Gradio components drawn gives a `Follower`: its outputs, and a
  function from a `Shown` to their values. They are outputs of each event that shows a run: the end
  of Run, a recorded run, an import.
* In the browser, the race view reads it from its stream and passes it on: a script that
  `compare.page.view.component` makes calls `follow(draw)`, and `draw(shown)` is called at once for
  the run that is shown and again for every later one. `shown` has `environment`, `runs`,
  `verdicts`, `summary`, `words`, `prompt`, `source`, `name`, and `lines`, the record file's text.

A script drives the controls by the address: `location.hash = "#prompt=...&temperature=1&tab=race"`
(see `web/link.js`); `run=1` in it presses Run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.events import api

from compare.lab import Lab
from compare.page.api import compare_endpoint
from compare.page.benchmark_tab import benchmark_tab
from compare.page.callbacks import Callbacks
from compare.page.charts_tab import charts_tab
from compare.page.job_events import Places, on_run
from compare.page.labels import i18n
from compare.page.learn_tab import learn_tab
from compare.page.race_tab import Race, race_tab
from compare.page.share_bar import ShareBar, share_bar
from compare.page.step_tab import step_tab
from compare.page.terms import terms
from compare.page.theme import theme
from compare.page.view import STYLES
from compare.record_words import Bytewise

_TABS = ("race", "step", "charts", "benchmark", "learn")
_REFUSED_AT_ONCE = 8
_TITLE = '<div class="ssd-title"><h1>Staged speculative decoding lab</h1></div>'


def build(lab: Lab, codec_of: Callable[[str], Bytewise | None] = lambda pair: None) -> gr.Blocks:
    """The page on `lab`, its queue set up. `codec_of`: the tokenizer of a pair, if at hand."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # Some more than may wait, so that it is the lab that says that its queue is full.
    num_threads = lab.limits.max_queue + _REFUSED_AT_ONCE
    page: gr.Blocks = gr.Blocks(
        title="Staged speculative decoding lab",
        analytics_enabled=False,
        delete_cache=(3600, 3600),
    )
    with page:
        gr.HTML(html_template=_TITLE, js_on_load=None, apply_default_css=False)
        with gr.Tabs(elem_id="ssd-tabs", overflow_behavior="wrap"):
            tabs = {name: _tab(name) for name in _TABS}
        with tabs["race"]:
            race = race_tab(lab)
        with tabs["step"]:
            step_tab()
        with tabs["charts"]:
            charts = charts_tab()
        with tabs["benchmark"]:
            benchmark_tab(lab, charts.entropy, num_threads)
        with tabs["learn"]:
            learn_tab()
        bar = share_bar(race.controls, tabs)
        terms()
        callbacks = Callbacks(lab, (charts.follower,), codec_of)
        _connect(page, race, bar, callbacks, num_threads)
        api(
            compare_endpoint(lab),
            api_name="compare",
            concurrency_id="engine",
            concurrency_limit=num_threads,
        )
    page.queue(max_size=4 * num_threads, api_open=True)
    # Looking for work a thousand times a second, Gradio takes a tenth of a core from the engine;
    # of progress it is never told.
    page._queue.sleep_when_free = 0.1
    page._queue.progress_update_sleep_when_free = 1.0
    return page


def _tab(name: str) -> gr.Tab:
    tab: gr.Tab = gr.Tab(i18n(f"tab_{name}"), id=name, elem_id=f"ssd-tab-{name}")
    return tab


def _connect(
    page: gr.Blocks, race: Race, bar: ShareBar, callbacks: Callbacks, num_threads: int
) -> None:
    """What happens when a visitor runs, stops, chooses a recorded run or imports one."""
    drawn = callbacks.outputs
    private: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    on_run(
        [race.run.click, race.controls["prompt"].submit],  # type: ignore[attr-defined]
        [*race.controls.values()],
        callbacks,
        Places(race.view, (race.run, race.stop), drawn),
        num_threads,
    )
    race.stop.click(callbacks.stop, queue=False, **private)
    gr.on(
        [race.controls["prompt"].focus, *(chip.click for chip in race.chips)],  # type: ignore[attr-defined]
        callbacks.prepare,
        [race.controls[name] for name in ("pair", "precision", "numerics")],
        queue=False,
        **private,
    )
    page.load(callbacks.first, None, drawn, queue=False, **private)
    race.view.recorded(callbacks.recorded, None, [race.view, *drawn], queue=False, **private)
    imported = [race.view, bar.prompts, *drawn]
    bar.upload.upload(callbacks.imported, [bar.upload, bar.prompts], imported, **private)
    bar.prompts.input(callbacks.imported, [bar.upload, bar.prompts], imported, **private)


def launch_settings() -> Mapping[str, Any]:
    """What `launch` is given besides its address: looks, words, and what is switched off."""
    return {
        "theme": theme(),
        "css_paths": list(STYLES),
        "i18n": i18n,
        "show_error": False,
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "max_file_size": "64mb",
        "footer_links": ["api", "settings"],
        "quiet": True,
    }
