// The verdict strip and the scoreboard, both from the run's summary.
// A row: the word's key, what is written of a method, and whether the most is set off.
const ROWS = [
  ["tokens_per_second", (m) => number(m.tokens_per_second, 1), true],
  ["plain_speedup", (m, more) => times(more.plain), false],
  ["speedup", (m, more) => speedup(m.speedup, more.repeats), false],
  ["end_to_end_speedup", (m) => times(m.end_to_end_speedup && m.end_to_end_speedup.median), false],
  ["time_to_first_token", (m) => seconds(m.time_to_first_token), false],
  ["total", (m, more) => seconds(more.total), false],
  ["target_passes", (m, more) => perRun(m.target_passes, more.count), false],
  ["draft_passes", (m, more) => perRun(m.draft_passes, more.count), false],
  ["tokens_per_step", (m) => number(m.tokens_per_step, 2), false],
  ["acceptance_rate", (m) => percent(m.acceptance_rate), false],
  ["bytes_per_token", (m, more) => bytesRead(m.bytes_per_token, more.baseBytes), false],
];
// The glossary's names of the rows, where they are others.
const TERMS = {
  plain_speedup: "speedup",
  end_to_end_speedup: "end_to_end", time_to_first_token: "first_token", total: "end_to_end",
  tokens_per_step: "tokens_per_pass", stages: "round",
};
const STAGES = ["prefill", "target", "draft", "ngram", "other"];

function total(method) {
  const parts = method.seconds;
  return parts ? STAGES.reduce((sum, stage) => sum + (parts[stage] || 0), 0) : null;
}

// With repeats, the least and the most of the paired ratios stand beside the median.
function speedup(ratio, repeats) {
  if (!ratio || repeats.length < 2) return times(ratio && ratio.median);
  const [low, high] = [Math.min(...repeats), Math.max(...repeats)];
  return times(ratio.median) + " [" + number(low, 2) + ", " + number(high, 2) + "]";
}

function perRun(amount, count) {
  if (amount === null || amount === undefined || !count) return "–";
  return Number.isInteger(amount / count) ? String(amount / count) : number(amount / count, 1);
}

function bytesRead(bytes, base) {
  const share = bytes && base ? " · " + number(bytes / base, 2) + "×" : "";
  return megabytes(bytes) + share;
}

// What the summary does not say of a lane: figures of its runs.
function moreOf(shown, method) {
  const runs = shown.runs.filter((run) => run.method === method && !run.error);
  const decode = (run) => STAGES.slice(1).reduce((sum, stage) => sum + run.seconds[stage], 0);
  const base = (run) => shown.runs.find((each) =>
    each.method === shown.summary.reference && each.repeat === run.repeat && !each.error);
  const pairs = runs.filter((run) => base(run) && run.token_ids.length);
  const whole = total(shown.summary.methods[method] || {});
  const plain = shown.summary.plain_loop;
  return {
    plain: plain ? plain.speedup[method] : null,
    count: runs.length,
    total: whole === null || !runs.length ? null : whole / runs.length,
    repeats: pairs.map((run) =>
      (decode(base(run)) * run.token_ids.length) / (decode(run) * base(run).token_ids.length)),
    baseBytes: (shown.summary.methods[shown.summary.reference] || {}).bytes_per_token,
  };
}

// Why the precision is what it is, where nobody asked for one.
function chosen({ precision, seconds, agreement }) {
  const list = Object.entries(seconds).map(([name, value]) => name + " " + number(value, 2) + " s");
  return say("chosen_note", { precision, list: list.join(", ") })
    + (agreement ? " " + say("agreement_note", { share: percent(agreement) }) : "");
}

function makeBoard() {
  const root = make("div", "ssd-board");
  const title = make("h3", "ssd-heading");
  const table = make("table");
  const scroll = make("div", "ssd-scroll");
  const note = make("p", "ssd-note");
  scroll.append(table);
  scroll.tabIndex = 0;
  root.append(title, scroll, note);

  function rowLabel(key) {
    const label = make("th");
    label.scope = "row";
    label.append(termLink(TERMS[key] || key, say("row_" + key)));
    return label;
  }

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
      if (share >= 0.005 || stage === "other") words.push(say("stage_" + stage) + " " + percent(share));
    }
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", words.join(", "));
    const legend = make("div", "ssd-share-words");
    legend.append(...words.map((word) => make("span", "", word)));
    cell.append(bar, legend);
    return cell;
  }

  function draw(lanes, shown) {
    title.textContent = say("scoreboard");
    root.hidden = !shown;
    if (!shown) return;
    const { summary } = shown;
    const more = lanes.map((lane) => moreOf(shown, lane.method));
    const found = lanes.map((lane) => summary.methods[lane.method] || null);
    const head = make("tr");
    head.append(make("td"), ...lanes.map((lane) => {
      const cell = make("th", "", laneName(lane.method));
      cell.scope = "col";
      return cell;
    }));
    const rows = ROWS.filter(([key]) =>
      key.includes("speedup") ? !isPartial(shown) && (key !== "plain_speedup" || summary.plain_loop)
        : true);
    const lines = rows.map(([key, write, best]) => {
      const row = make("tr");
      const label = rowLabel(key);
      const values = found.map((method) => (method ? method[key] : null));
      const top = Math.max(...values.filter((v) => typeof v === "number"));
      row.dataset.row = key;
      row.append(label, ...found.map((method, index) => {
        const isBest = best && values[index] === top;
        return make("td", isBest ? "ssd-best" : "", method ? write(method, more[index]) : "–");
      }));
      return row;
    });
    const stages = make("tr");
    stages.append(rowLabel("stages"), ...found.map((m) => (m ? shares(m) : make("td", "", "–"))));
    const most = Math.max(...more.map((each) => each.repeats.length));
    const notes = most > 1 ? [say("repeats_note", { n: most })] : [];
    if (summary.plain_loop) {
      notes.unshift(say("plain_note", { ratio: number(summary.plain_loop.ratio, 2) }));
    }
    if (summary.choice) notes.push(chosen(summary.choice));
    note.textContent = notes.join(" ");
    fill(table, fill(make("thead"), head), fill(make("tbody"), ...lines, stages));
  }

  root.hidden = true;
  return { root, draw };
}
