// The Step view: one round of one lane; its context, its tree, and how the N-gram helped the draft.
// `STEPPED`: the lanes that guess, the one to show first in front.
const TAIL = 40;
const bar = make("div", "ssd-step-bar");
const slider = make("input");
const where = make("output", "ssd-clock");
const laneSelect = make("select");
const told = make("p", "ssd-told");
const context = make("p", "ssd-context");
const inner = make("div", "ssd-inner");
const legend = make("div", "ssd-legend");
const panel = makeNodePanel();
const tree = makeTree((node) => { if (current) panel.draw(current.shown, step(), nodes(), node); });
const back = button("ssd-round-back", "◀", () => turn(round - 1));
const next = button("ssd-round-next", "▶", () => turn(round + 1));
let current = null, round = 0, drawn = null;

Object.assign(slider, { type: "range", min: "1", step: "1" });
told.setAttribute("aria-live", "polite");
context.dir = "auto";
const treeBox = make("div", "ssd-tree-box");
treeBox.append(make("h3", "ssd-heading"), tree.root, legend);
const innerBox = make("div", "ssd-inner-box");
innerBox.append(make("h3", "ssd-heading"), inner);
const left = make("div", "ssd-step-side");
left.append(treeBox, innerBox);
const columns = make("div", "ssd-step-columns");
columns.append(left, panel.root);
bar.append(laneSelect, back, slider, next, where);
frame.append(bar, told, context, columns);

function step() { return current.run.steps[round]; }
function nodes() { return drawn; }

// The runs that can be stepped through, the staged lane's first.
function choices(shown) {
  const runs = firstRuns(shown).filter((run) => STEPPED.includes(baseName(run.method)) && run.steps.length);
  const order = (run) => (run.steps.some((each) => each.details) ? 0 : 10) + STEPPED.indexOf(baseName(run.method));
  return runs.sort((a, b) => order(a) - order(b));
}

function show(shown) {
  const runs = choices(shown);
  current = runs.length ? { shown, runs, run: runs[0] } : null;
  round = 0;
  draw();
}

function turn(to) {
  if (!current) return;
  round = Math.max(0, Math.min(current.run.steps.length - 1, to));
  draw();
}

function draw() {
  columns.hidden = bar.hidden = context.hidden = !current;
  if (!current) {
    told.textContent = say("step_idle");
    return;
  }
  const { shown, run } = current;
  fill(laneSelect, ...current.runs.map((each) => {
    const option = make("option", "", laneName(each.method));
    option.value = each.method;
    return option;
  }));
  laneSelect.value = run.method;
  slider.max = String(run.steps.length);
  slider.value = String(round + 1);
  where.textContent = say("round_of", { n: round + 1, total: run.steps.length });
  slider.setAttribute("aria-valuetext", where.textContent);
  back.disabled = round === 0;
  next.disabled = round === run.steps.length - 1;
  told.textContent = sentence(shown, step());
  drawContext(shown, run);
  drawTree(shown);
  drawInner(shown, step());
}

// What happened in a round, in plain words.
function sentence(shown, each) {
  const guessed = each.tree.origins.slice(1);
  const count = (origin) => guessed.filter((one) => one === origin).length;
  const own = each.tokens.length > each.path.length
    ? labelOf(shown, each.tokens[each.tokens.length - 1]) : null;
  const passes = amount("passes", each.draft_passes);
  const parts = [guessed.length
    ? say("told_guessed", {
      tokens: amount("tokens", guessed.length), draft: count("draft"), ngram: count("ngram"), passes,
    })
    : say("told_nothing", { passes })];
  if (guessed.length) {
    parts.push(each.path.length
      ? say("told_agreed", { n: each.path.length, text: pathText(shown, each) })
      : say("told_disagreed"));
  }
  parts.push(own === null ? say("told_cut") : say("told_own", { token: own }));
  parts.push(say("told_sum", { tokens: amount("tokens", each.tokens.length), ms: milliseconds(each) }));
  return parts.join(language() === "en" ? " " : "");
}

// A number and its noun.
function amount(noun, n) {
  return say(n === 1 ? "one_" + noun : "many_" + noun, { n });
}

function pathText(shown, each) {
  return each.path.map((node) => labelOf(shown, each.tree.tokens[node])).join(" ");
}

function milliseconds(each) {
  const sum = Object.values(each.seconds).reduce((total, part) => total + part, 0);
  return (1000 * sum).toFixed(0);
}

function drawContext(shown, run) {
  const reader = makeReader(shown);
  const done = run.steps.slice(0, round).flatMap((each) =>
    each.tokens.map((id, at) => ({ id, origin: each.origins[at] })));
  const tail = [...run.prompt_ids.map((id) => ({ id, origin: null })), ...done].slice(-TAIL);
  const spans = tail.map(({ id, origin }) => {
    const text = shown.words[id] && shown.words[id].startsWith("=") ? ownText(shown, id) : reader.push(id);
    return make("span", origin ? "ssd-token ssd-" + origin : "ssd-prompt-token", text);
  });
  const last = spans[spans.length - 1];
  if (last) last.classList.add("ssd-root-token");
  fill(context, make("span", "ssd-context-title", say("context_tail") + " …"), ...spans);
  context.scrollTop = context.scrollHeight;
}

function drawTree(shown) {
  treeBox.firstChild.textContent = say("tree_title");
  drawn = treeNodes(step());
  const label = (node) => labelOf(shown, node.token);
  tree.draw(drawn, {
    label,
    title: say("tree_title"),
    describe: (node) => label(node) + ", " + say("fate_" + node.fate) +
      (node.fate === "root" || node.fate === "own" ? "" : ", " + say("origin_" + node.origin)),
  });
  fill(legend, ...["draft", "ngram"].map((origin) =>
    make("span", "ssd-key ssd-key-" + origin, say("origin_" + origin))),
  make("span", "ssd-key ssd-key-own", say("fate_own")),
  make("span", "ssd-key ssd-key-accepted", say("fate_accepted")),
  make("span", "ssd-key ssd-key-rejected", say("fate_rejected")));
}

// The draft's passes: what each was asked for, and what the N-gram let it read ahead.
function drawInner(shown, each) {
  innerBox.firstChild.textContent = say("inner_title");
  const passes = each.details ? each.details.inner : null;
  if (!passes) return fill(inner, make("p", "ssd-note", say("no_details")));
  if (!passes.length) return fill(inner, make("p", "ssd-note", say("inner_none")));
  const onTree = new Set(drawn.filter((node) => node.fate !== "own").map((node) => pathKey(node)));
  const list = make("ol", "ssd-passes");
  list.append(...passes.map((pass) => {
    const item = make("li");
    item.append(paths(shown, "inner_wanted", pass.wanted, onTree));
    if (pass.ahead.length) item.append(paths(shown, "inner_ahead", pass.ahead, onTree));
    return item;
  }));
  const ahead = passes.flatMap((pass) => pass.ahead);
  const used = ahead.filter((path) => onTree.has(path.join(","))).length;
  return fill(inner, list, make("p", "ssd-note",
    ahead.length ? say("inner_sum", { n: ahead.length, used }) : say("inner_alone")));
}

function pathKey(node) {
  const ids = [];
  for (let each = node; each.parent >= 0; each = drawn[each.parent]) ids.unshift(each.token);
  return ids.join(",");
}

function paths(shown, key, all, onTree) {
  const box = make("div", "ssd-paths");
  box.append(make("span", "ssd-paths-title", say(key)));
  for (const path of all) {
    const text = path.length ? path.map((id) => labelOf(shown, id)).join(" ") : say("the_root");
    const isUsed = !path.length || onTree.has(path.join(","));
    box.append(make("span", "ssd-path" + (isUsed ? "" : " ssd-path-off"), text));
  }
  return box;
}

function translate() {
  slider.setAttribute("aria-label", say("round"));
  laneSelect.setAttribute("aria-label", say("lane"));
  back.setAttribute("aria-label", say("round_before"));
  next.setAttribute("aria-label", say("round_after"));
  draw();
}

slider.addEventListener("input", () => turn(Number(slider.value) - 1));
laneSelect.addEventListener("change", () => {
  current.run = current.runs.find((run) => run.method === laneSelect.value);
  turn(0);
});
translate();
follow((shown) => shown && show(shown));
onLanguage(translate);
