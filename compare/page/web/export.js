// Exports of the run that is shown, made in the browser: the record file, tables, and a page that
// replays the run from disk without a network.
const exportRow = make("div", "ssd-export");
frame.append(exportRow);

const SCORES = [
  "runs", "tokens", "tokens_per_second", "time_to_first_token", "target_passes", "draft_passes",
  "tokens_per_step", "nodes_per_step", "acceptance_rate", "bytes_per_token",
];

function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  // A spreadsheet runs what begins like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

function csv(rows) {
  return rows.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

// The scoreboard, a line a method.
function scoresCsv(shown) {
  const stages = ["prefill", "ngram", "draft", "target", "other"];
  const head = ["method", ...SCORES, "speedup", "end_to_end_speedup",
    ...stages.map((stage) => stage + "_s"), "identical", "near_tie", "bug", "rows_equal", "rows"];
  const rows = Object.entries(shown.summary.methods).map(([method, m]) => [
    method, ...SCORES.map((key) => m[key]), m.speedup && m.speedup.median,
    m.end_to_end_speedup && m.end_to_end_speedup.median,
    ...stages.map((stage) => m.seconds && m.seconds[stage]),
    ...["IDENTICAL", "NEAR-TIE", "BUG"].map((name) => m.verdicts && m.verdicts[name]),
    ...(m.logit_rows_equal || [null, null]),
  ]);
  return csv([head, ...rows]);
}

// The rounds, a line each.
function roundsCsv(shown) {
  const stages = ["ngram", "draft", "target", "other"];
  const head = ["method", "repeat", "round", "time_s", ...stages.map((stage) => stage + "_s"),
    "tokens", "draft_n", "draft_n_accepted", "draft_passes", "text"];
  const rows = shown.runs.flatMap((run) => run.steps.map((step, at) => [
    run.method, run.repeat, at + 1, step.time, ...stages.map((stage) => step.seconds[stage]),
    step.tokens.length, step.draft_n, step.draft_n_accepted, step.draft_passes,
    step.tokens.map((id) => ownText(shown, id)).join(""),
  ]));
  return csv([head, ...rows]);
}

function replayHtml(shown) {
  const { type, seals, lines, summary, words, prompt, name } = shown;
  const data = JSON.stringify({ type, source: "file", seals, name, prompt, lines, summary, words });
  const parts = { LANGUAGE: language(), DATA: data.replace(/</g, "\\u003c") };
  return REPLAY_PAGE.replace(/@(LANGUAGE|DATA)@/g, (whole, key) => parts[key]);
}

function fileName(shown, ending) {
  const date = String(shown.environment.created || "").slice(0, 19).replace(/[^0-9T]/g, "");
  return ["ssd", (shown.name || "run").replace(/[^\w-]/g, "_"), date].filter(Boolean).join("-") + ending;
}

function save(text, type, name) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const EXPORTS = [
  ["record", (shown) => [shown.lines, "application/jsonl", fileName(shown, ".jsonl")]],
  ["scores", (shown) => [scoresCsv(shown), "text/csv", fileName(shown, "-scores.csv")]],
  ["rounds", (shown) => [roundsCsv(shown), "text/csv", fileName(shown, "-rounds.csv")]],
  ["replay", (shown) => [replayHtml(shown), "text/html", fileName(shown, ".html")]],
];

function drawExports() {
  fill(exportRow, make("span", "ssd-shelf-title", say("export")), ...EXPORTS.map(([key, write]) => {
    const each = button("ssd-export-" + key, say("export_" + key),
      () => save(...write(lab.shown)));
    each.disabled = !lab.shown;
    return each;
  }));
}

drawExports();
follow(drawExports);
onLanguage(drawExports);
