// The verdict strip and the scoreboard, both from the run's summary.
const ROWS = [
  ["tokens_per_second", (m) => number(m.tokens_per_second, 1), "max"],
  ["speedup", (m) => (m.speedup ? number(m.speedup.median, 2) + "×" : "–"), ""],
  ["end_to_end_speedup",
    (m) => (m.end_to_end_speedup ? number(m.end_to_end_speedup.median, 2) + "×" : "–"), ""],
  ["time_to_first_token", (m) => seconds(m.time_to_first_token), ""],
  ["total", (m) => seconds(total(m)), ""],
  ["target_passes", (m) => number(m.target_passes, 0), ""],
  ["draft_passes", (m) => number(m.draft_passes, 0), ""],
  ["tokens_per_step", (m) => number(m.tokens_per_step, 2), ""],
  ["acceptance_rate", (m) => percent(m.acceptance_rate), ""],
];
const STAGES = ["prefill", "target", "draft", "ngram", "other"];

function total(method) {
  const parts = method.seconds;
  return parts ? STAGES.reduce((sum, stage) => sum + (parts[stage] || 0), 0) : null;
}

function makeBoard() {
  const root = make("div", "ssd-board");
  const title = make("h3", "ssd-heading");
  const table = make("table");
  const scroll = make("div", "ssd-scroll");
  scroll.append(table);
  root.append(title, scroll);

  function shares(method) {
    const cell = make("td");
    const whole = total(method);
    if (!whole) return cell;
    const bar = make("div", "ssd-shares");
    const words = [];
    for (const stage of STAGES) {
      const share = (method.seconds[stage] || 0) / whole;
      const part = make("i", "ssd-share ssd-share-" + stage);
      part.style.width = 100 * share + "%";
      bar.append(part);
      if (share >= 0.005) words.push(say("stage_" + stage) + " " + percent(share));
    }
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", words.join(", "));
    const legend = make("div", "ssd-share-words");
    legend.append(...words.map((word) => make("span", "", word)));
    cell.append(bar, legend);
    return cell;
  }

  function draw(lanes, summary, isPartial) {
    title.textContent = say("scoreboard");
    root.hidden = !summary;
    if (!summary) return;
    const found = lanes.map((lane) => summary.methods[lane.method] || null);
    const head = make("tr");
    head.append(make("td"), ...lanes.map((lane) => {
      const cell = make("th", "", laneName(lane.method));
      cell.scope = "col";
      return cell;
    }));
    const rows = ROWS.filter(([key]) => !isPartial || !key.includes("speedup"));
    const lines = rows.map(([key, write, best]) => {
      const row = make("tr");
      const label = make("th", "", say("row_" + key));
      label.scope = "row";
      const values = found.map((method) => (method ? method[key] : null));
      const top = best ? Math.max(...values.filter((v) => typeof v === "number")) : null;
      row.append(label, ...found.map((method, index) => {
        const isBest = best && values[index] === top;
        return make("td", isBest ? "ssd-best" : "", method ? write(method) : "–");
      }));
      return row;
    });
    const stages = make("tr");
    const label = make("th", "", say("row_stages"));
    label.scope = "row";
    stages.append(label, ...found.map((m) => (m ? shares(m) : make("td", "", "–"))));
    fill(table, fill(make("thead"), head), fill(make("tbody"), ...lines, stages));
  }

  root.hidden = true;
  return { root, draw };
}
