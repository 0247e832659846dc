// The race view: reads the append-only stream of messages, one JSON object a line, and draws it.
const card = makeCard(frame);
const status = make("div", "ssd-status");
const statusText = make("span", "ssd-status-text");
const statusBar = make("div", "ssd-bar");
const lanesRoot = make("div", "ssd-lanes");
const legend = make("div", "ssd-legend");
const verdict = makeVerdict();
const board = makeBoard();
let lanes = DEFAULT_METHODS.map((method) => makeLane(method, card));
const replay = makeReplay(() => lanes);
let stream = { id: null, read: 0 };
let state = { key: "idle", values: {}, share: null };
let outcome = { summary: null, isPartial: false };

status.setAttribute("role", "status");
statusBar.append(make("i"));
status.append(statusText, statusBar);
frame.prepend(status, verdict.root, lanesRoot, replay.root, legend, board.root);
lanesRoot.append(...lanes.map((lane) => lane.root));

function showStatus(key, values, share) {
  state = { key, values: values || {}, share: share === undefined ? null : share };
  const named = { ...state.values };
  if (named.method) named.lane = laneName(named.method);
  statusText.textContent = state.key === "sentence" ? named.sentence : say(state.key, named);
  status.dataset.kind = state.key;
  statusBar.classList.toggle("ssd-off", state.share === null);
  statusBar.firstChild.style.width = 100 * (state.share || 0) + "%";
}

function drawLegend() {
  const parts = ["ngram", "draft", "target"].map((origin) =>
    make("span", "ssd-token ssd-" + origin, say("origin_" + origin)));
  fill(legend, make("span", "", say("legend")), ...parts, make("p", "ssd-honest", say("honest")));
}

function translate() {
  const title = document.querySelector(".ssd-title h1");
  if (title) title.textContent = say("title");
  lanes.forEach((lane) => lane.translate());
  replay.translate();
  drawLegend();
  verdict.draw(lanes, outcome.summary, outcome.isPartial);
  board.draw(lanes, outcome.summary, outcome.isPartial);
  showStatus(state.key, state.values, state.share);
}

function laneOf(method) {
  return lanes.find((lane) => lane.method === method);
}

const handlers = {
  job: () => showStatus("loading", { stage: "…" }),
  waiting: (message) => showStatus("waiting", { n: message.ahead }),
  loading: (message) => showStatus("loading", { stage: message.stage },
    message.total ? message.done / message.total : null),
  started: (message) => {
    outcome = { summary: null, isPartial: false };
    replay.hide();
    lanes = message.shown.map((method) => laneOf(method) || makeLane(method, card));
    lanes.forEach((lane) => lane.reset(message.max_new_tokens));
    fill(lanesRoot, ...lanes.map((lane) => lane.root));
    lanesRoot.dataset.count = String(lanes.length);
    translate();
    showStatus("warming");
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
    lane.tell();
    showStatus("writing", { method: message.method }, lane.tokens.length / lane.maximum);
  },
  lane_end: (message) => {
    const lane = laneOf(message.method);
    lane.finish(message.tail);
    lane.root.classList.remove("ssd-running");
    if (message.error) lane.text.append(make("p", "ssd-error", message.error));
  },
  judging: () => showStatus("measuring"),
  shown: (message) => {
    const shown = readShown(message);
    outcome = { summary: shown.summary, isPartial: isPartial(shown) };
    lanes.forEach((lane) => lane.root.classList.remove("ssd-running"));
    showRun(shown);
  },
  ended: (message) => {
    lanes.forEach((lane) => lane.root.classList.remove("ssd-running"));
    verdict.draw(lanes, outcome.summary, outcome.isPartial);
    board.draw(lanes, outcome.summary, outcome.isPartial);
    showStatus(message.reason, { n: message.budget_s });
    if (outcome.summary) replay.start();
  },
  busy: () => showStatus("busy"),
  repeating: (message) => showStatus("repeating", message),
  refused: (message) => showStatus("sentence", { sentence: message.sentence }),
  failed: () => {
    lanes.forEach((lane) => lane.root.classList.remove("ssd-running"));
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
}

translate();
watch("value", read);
onLanguage(translate);
