// The Benchmark tab's view: how far a suite is, and the tables of its summary.
const status = make("div", "ssd-status");
const statusText = make("span", "ssd-status-text");
const bar = make("div", "ssd-bar");
const tables = make("div", "ssd-tables");
let told = { state: "idle" };
let summary = null;

status.setAttribute("role", "status");
bar.append(make("i"));
status.append(statusText, bar);
frame.append(status, tables);

function duration(left) {
  return left >= 90 ? say("minutes", { n: Math.round(left / 60) })
    : say("seconds", { n: Math.ceil(left / 5) * 5 });
}

function words() {
  if (told.state === "sentence") return told.sentence[language()];
  if (told.state !== "running") return say("bench_" + told.state, told);
  const key = { "": "running", ahead: "ahead", machine: "machine", loading: "loading" };
  const text = say("bench_" + key[told.waits_for], {
    done: told.done, total: told.total, prompt: told.prompt_id, n: told.ahead,
  });
  return told.left_s === null ? text
    : text + " · " + say("bench_left", { time: duration(told.left_s) });
}

function draw() {
  statusText.textContent = words();
  status.dataset.kind = told.state;
  bar.classList.toggle("ssd-off", told.state !== "running");
  bar.firstChild.style.width = told.total ? 100 * told.done / told.total + "%" : "0";
}

function drawTables() {
  if (summary) fill(tables, methodTable(summary), categoryTable(summary), ...notes(summary));
}

function read() {
  if (typeof props.value !== "string" || !props.value) return;
  const before = told.state;
  told = JSON.parse(props.value);
  if (told.state === "running" && before !== "running") endIdleLoop();
  if (told.summary) summary = told.summary;
  draw();
  if (told.summary) drawTables();
}

draw();
read();
watch("value", read);
onLanguage(() => { draw(); drawTables(); });
