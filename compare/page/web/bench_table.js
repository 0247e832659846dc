// Tables of a benchmark's summary. Names from a file go in as text.
function cells(tag, texts) {
  return fill(make("tr"), ...texts.map((text, at) => {
    const isHead = tag === "th" || at === 0;
    const cell = make(isHead ? "th" : "td", "", text);
    if (isHead) cell.scope = tag === "th" ? "col" : "row";
    return cell;
  }));
}

// `rows`: lists of texts, the first of each its name.
function table(caption, heads, rows) {
  const box = make("div", "ssd-scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  fill(box, fill(make("table"), fill(make("thead"), cells("th", heads)),
    fill(make("tbody"), ...rows.map((row) => cells("td", row)))));
  return fill(make("section"), make("h3", "", caption), box);
}

function interval(ratio, isReference) {
  if (!ratio || isReference) return "–";
  const words = `${ratio.low.toFixed(2)} – ${ratio.high.toFixed(2)}`;
  return ratio.low <= 1 && ratio.high >= 1 ? words + " · " + say("within_noise") : words;
}

function verdictWords(found) {
  if (!found.verdicts) {
    return found.agrees === null ? "–" : say("agrees", { k: found.agrees, n: found.runs });
  }
  return [["IDENTICAL", "identical"], ["NEAR-TIE", "near_ties"], ["BUG", "bugs"]]
    .filter(([name]) => found.verdicts[name])
    .map(([name, key]) => found.verdicts[name] + " " + say(key)).join(", ") || "–";
}

function methodTable(summary) {
  const heads = ["method", "speedup", "interval", "end_to_end", "rate", "tokens_per_step",
    "acceptance", "passes", "draft_passes", "verdicts", "rows", "errors"];
  const rows = Object.entries(summary.methods).map(([method, found]) => [
    laneName(method),
    times(found.speedup && found.speedup.median),
    interval(found.speedup, method === summary.reference),
    times(found.end_to_end_speedup && found.end_to_end_speedup.median),
    number(found.tokens_per_second, 1),
    number(found.tokens_per_step, 2),
    percent(found.acceptance_rate),
    String(found.target_passes),
    String(found.draft_passes),
    verdictWords(found),
    found.logit_rows_equal ? found.logit_rows_equal.join(" / ") : "–",
    String(found.error),
  ]);
  const any = Object.values(summary.methods);
  const caption = say("table_title", {
    suite: summary.environment.suite ? summary.environment.suite.name : "",
    prompts: Math.max(0, ...any.map((found) => found.prompts)),
    runs: any.reduce((sum, found) => sum + found.runs, 0),
  });
  return table(caption, heads.map((key) => say("col_" + key)), rows);
}

function categoryTable(summary) {
  const methods = Object.keys(summary.methods).filter((name) => name !== summary.reference);
  const rows = Object.entries(summary.by_category || {}).map(([category, found]) => [
    category,
    String(Math.max(0, ...Object.values(found).map((each) => each.prompts))),
    ...methods.map((method) => times(found[method] && found[method].speedup
      && found[method].speedup.median)),
  ]);
  const heads = [say("col_category"), say("col_prompts"), ...methods.map(laneName)];
  return table(say("by_category"), heads, rows);
}

// What the numbers need said with them.
function notes(summary) {
  const words = [];
  const { pair, created } = summary.environment;
  if (pair) {
    const made = [pair.hardware, pair.precision, pair.numerics && say("made_numerics", pair), created];
    words.push(say("made_on", { all: made.filter(Boolean).join(", ") }));
  }
  if (!summary.reference) words.push(say("no_reference"));
  if (summary.noise && summary.noise.is_noisy) {
    words.push(say("noisy", { limit: percent(summary.noise.limit) }));
  }
  if (summary.looping && summary.looping.length) {
    words.push(say("looping", { prompts: summary.looping.join(", ") }));
  }
  return words.map((text) => make("p", "ssd-note", text));
}
