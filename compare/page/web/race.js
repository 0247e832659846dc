// The race view: draws the append-only stream of a job, one JSON object a line, and at its end the
// record of the run, from which the verdict, the scoreboard and the replay come. `RECORDED` is the
// run to begin with, `SHELF` the names of the recorded ones, which the server sends when asked.
const card = makeCard();
const status = make("div", "ssd-status");
const statusText = make("span", "ssd-status-text");
const statusBar = make("div", "ssd-bar");
const shelf = make("div", "ssd-shelf");
const lanesRoot = make("div", "ssd-lanes");
const legend = make("div", "ssd-legend");
const verdict = makeVerdict();
const board = makeBoard();
let lanes = DEFAULT_METHODS.map((method) => makeLane(method, card));
const replay = makeReplay(() => lanes);
let stream = { id: null, read: 0 };
let state = { key: "idle", values: {}, share: null };
let outcome = null;
let hasBegun = false;
const touched = new Set(); // lanes with tokens of this update

status.setAttribute("role", "status");
statusBar.append(make("i"));
status.append(statusText, statusBar);
frame.prepend(shelf, status, verdict.root, lanesRoot, replay.root, legend, board.root);
lanesRoot.append(...lanes.map((lane) => lane.root));

function showStatus(key, values, share) {
  state = { key, values: values || {}, share: share === undefined ? null : share };
  const named = { ...state.values };
  if (named.method) named.lane = laneName(named.method);
  if (named.stage && "load_" + named.stage in WORDS.en) named.stage = say("load_" + named.stage);
  statusText.textContent = state.key === "sentence" ? named.sentence[language()]
    : say(state.key, named);
  status.dataset.kind = state.key;
  statusBar.classList.toggle("ssd-off", state.share === null);
  statusBar.firstChild.style.width = 100 * (state.share || 0) + "%";
}

function drawLegend() {
  const parts = ["ngram", "draft", "target"].map((origin) =>
    fill(make("span", "ssd-token ssd-" + origin), termLink(origin, say("origin_" + origin))));
  fill(legend, make("span", "", say("legend")), ...parts, make("p", "ssd-honest", say("honest")));
}

function drawShelf() {
  fill(shelf, make("span", "ssd-shelf-title", say("recorded_runs")));
  for (const name of SHELF) {
    const isShown = outcome && outcome.source === "recorded" && outcome.name === name;
    const choose = button("ssd-shelf-choice", say(name), () => trigger("recorded", { name }));
    choose.setAttribute("aria-pressed", String(Boolean(isShown)));
    shelf.append(choose);
  }
  shelf.hidden = !SHELF.length;
}

function drawOutcome() {
  verdict.draw(lanes, outcome);
  board.draw(lanes, outcome);
}

function translate() {
  const title = document.querySelector(".ssd-title h1");
  if (title) title.textContent = say("title");
  lanes.forEach((lane) => lane.translate());
  replay.translate();
  drawLegend();
  drawShelf();
  drawOutcome();
  showStatus(state.key, state.values, state.share);
}

function laneOf(method) {
  return lanes.find((lane) => lane.method === method);
}

function setLanes(methods, maximum) {
  replay.hide();
  card.hide();
  lanes = methods.map((method) => laneOf(method) || makeLane(method, card));
  lanes.forEach((lane) => lane.reset(maximum));
  fill(lanesRoot, ...lanes.map((lane) => lane.root));
  lanesRoot.dataset.count = String(lanes.length);
}

function settle() {
  lanes.forEach((lane) => lane.root.classList.remove("ssd-running"));
}

// Where a run that was not made just now comes from.
function originOf(shown) {
  const pair = shown.environment.pair || {};
  const versions = shown.environment.versions || pair.versions || {};
  return {
    machine: pair.hardware || "?", date: String(shown.environment.created || "?").slice(0, 10),
    versions: ["torch", "transformers"].filter((name) => versions[name])
      .map((name) => name + " " + versions[name]).join(", ") || "?",
    commit: String(shown.environment.commit || "?").slice(0, 9), prompt: shown.prompt,
    name: shown.name,
  };
}

const handlers = {
  job: () => {
    hasBegun = false;
    showStatus("loading", { stage: "…" });
  },
  waiting: (message) => showStatus("waiting", { n: message.ahead }),
  busy: () => showStatus("busy"),
  loading: (message) => showStatus("loading", { stage: message.stage },
    message.total ? message.done / message.total : null),
  started: (message) => {
    outcome = null;
    hasBegun = true;
    showRun(null);
    setLanes(message.shown, message.max_new_tokens);
    translate();
    showStatus("warming");
    endIdleLoop();
  },
  prefill: (message) => {
    const lane = laneOf(message.method);
    lane.prefill = message.seconds;
    lanes.forEach((each) => each.root.classList.toggle("ssd-running", each === lane));
    showStatus("reading", { method: message.method },
      message.total ? message.done / message.total : null);
  },
  step: (message) => {
    const lane = laneOf(message.method);
    const round = 1 + (lane.tokens.length ? lane.tokens[lane.tokens.length - 1].round : 0);
    message.tokens.forEach(([id, text, own, origin], at) => lane.add({
      id, text, own, origin, round, depth: at + 1, nodes: message.nodes,
      time: lane.prefill + message.time,
    }));
    touched.add(lane);
    showStatus("writing", { method: message.method }, lane.tokens.length / lane.maximum);
  },
  lane_end: (message) => {
    const lane = laneOf(message.method);
    lane.finish(message.tail);
    lane.root.classList.remove("ssd-running");
    if (message.error) lane.fail(message.error[language()]);
  },
  repeating: (message) => showStatus("repeating", message),
  judging: () => showStatus("measuring"),
  shown: (message) => {
    const shown = readShown(message);
    const runs = firstRuns(shown);
    outcome = shown;
    setLanes(runs.map((run) => run.method),
      Math.max(1, ...runs.map((run) => run.token_ids.length)));
    runs.forEach((run) => laneOf(run.method).load(run, runTokens(shown, run), laneOf(run.method).maximum));
    showRun(shown);
  },
  ended: (message) => {
    if (message.reason === "stopped" && !hasBegun) return showStatus("stopped_before");
    settle();
    translate();
    const isLive = !outcome || outcome.source === "live";
    if (isLive) showStatus(message.reason, { n: message.budget_s });
    else showStatus(outcome.seals === "broken" ? "edited" : outcome.source, originOf(outcome));
    if (outcome) replay.start();
  },
  refused: (message) => {
    showStatus("sentence", { sentence: message.sentence });
    if (!frame.offsetParent) go({ tab: "race" }); // an import from another tab
  },
  failed: () => {
    settle();
    showStatus("failed");
  },
};

function read() {
  const text = typeof props.value === "string" ? props.value : "";
  const head = text.slice(0, text.indexOf("\n") + 1);
  if (head !== stream.id) stream = { id: head, read: 0 };
  const end = text.lastIndexOf("\n") + 1;
  const fresh = text.slice(stream.read, end);
  stream.read = end;
  for (const line of fresh.split("\n")) {
    if (!line) continue;
    const message = JSON.parse(line);
    if (message.type in handlers) handlers[message.type](message);
  }
  touched.forEach((lane) => lane.settle());
  touched.clear();
}

translate();
const opening = lab.opening || RECORDED;
if (opening) {
  handlers.shown(opening);
  handlers.ended({ reason: "finished" });
}
watch("value", read);
onLanguage(translate);
