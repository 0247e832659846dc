// What the components of the page share in the browser: the run that is shown, whether its replay
// is playing, and whether endIdleLoop is at work.
const frame = element.querySelector(".ssd-view");
const lab = (window.ssdLab = window.ssdLab || {
  shown: null, followers: new Set(), isMoving: false, isLooking: false,
});

// Call `draw` with the shown run, now where there is one, and with every later one.
function follow(draw) {
  lab.followers.add(draw);
  if (lab.shown) draw(lab.shown);
}

// `shown` null: one is being made, and what was drawn of the last one stays until it is there.
function showRun(shown) {
  lab.shown = shown;
  for (const draw of lab.followers) draw(shown);
}

// The run of a `shown` message (compare.page.shown).
function readShown(message) {
  const objects = message.lines.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const of = (kind) => objects.filter((object) => object.kind === kind);
  return {
    ...message, environment: objects[0] || {}, runs: of("run"), verdicts: of("verdict"),
  };
}

function isPartial(shown) {
  return shown.runs.some((run) => run.finish_reason === "cancelled");
}

// The runs of the first repeat, in the record's order: what the lanes show.
function firstRuns(shown) {
  const first = Math.min(...shown.runs.map((run) => run.repeat));
  return shown.runs.filter((run) => run.repeat === first);
}

// Call `translate` whenever the page's language changes.
function onLanguage(translate) {
  new MutationObserver(translate).observe(
    document.documentElement, { attributes: true, attributeFilter: ["lang"] });
}

// The address's hash as names and values.
function hashValues() {
  return new URLSearchParams(location.hash.slice(1));
}

// Change some of the hash, null takes a name out; the page stays where it is in its history.
function setAddress(changes) {
  const address = hashValues();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) address.delete(name);
    else address.set(name, value);
  }
  const hash = address.toString();
  history.replaceState(history.state, "", hash ? "#" + hash : location.pathname + location.search);
  window.dispatchEvent(new Event("ssd-address"));
}

// To another address: what it does not name stays as it is.
function go(changes) {
  const address = hashValues();
  for (const [name, value] of Object.entries(changes)) address.set(name, value);
  location.hash = "#" + address.toString();
}

// A link to a term's entry in the glossary.
function glossaryLink(className, text, term) {
  const link = make("a", className, text);
  link.href = "#tab=learn&term=" + term;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    event.stopPropagation();
    go({ tab: "learn", term });
  });
  return link;
}

// Words that lead to their entry in the glossary, where the page has one.
function termLink(term, text) {
  const hasGlossary = document.getElementById("ssd-tab-learn-button");
  return hasGlossary ? glossaryLink("ssd-term-link", text, term) : make("span", "", text);
}
