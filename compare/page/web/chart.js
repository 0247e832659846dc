// The words above a chart, and the buttons that save it. The chart itself is the next component.
const title = make("h3", "ssd-chart-title");
const how = make("p", "ssd-chart-how");
const saving = make("div", "ssd-chart-save");
const kinds = ["svg", "png"];
const buttons = kinds.map((kind) => {
  const button = make("button", "ssd-small");
  button.type = "button";
  button.addEventListener("click", () => save(kind));
  return button;
});
let lane = null;

function plot() {
  const box = element.closest(".ssd-chart");
  return box && box.querySelector(".js-plotly-plot");
}

// The chart as a picture on white, in dark letters, whatever the page's theme is.
function save(kind) {
  const shown = plot();
  if (!shown || !window.Plotly) return;
  const layout = {
    ...shown.layout, paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff",
    font: { ...shown.layout.font, color: "#18181b" }, title: { text: say(CHART), x: 0.5 },
    margin: { ...shown.layout.margin, t: 64 },
  };
  window.Plotly.downloadImage({ data: shown.data, layout },
    { format: kind, filename: CHART, width: 900, height: 560, scale: kind === "png" ? 2 : 1 });
}

function tell() {
  const values = { lane: lane ? laneName(lane) : "" };
  title.textContent = say(CHART);
  how.textContent = say(CHART + "_how", values);
  kinds.forEach((kind, at) => {
    buttons[at].textContent = kind.toUpperCase();
    buttons[at].setAttribute("aria-label",
      say("save_chart", { title: say(CHART), kind: kind.toUpperCase() }));
  });
}

saving.append(...buttons);
frame.append(title, saving, how);
tell();
onLanguage(tell);
follow((shown) => {
  if (!shown) return;
  const methods = firstRuns(shown).map((run) => run.method);
  lane = STEPPED.flatMap((base) => methods.filter((each) => baseName(each) === base))[0] || null;
  tell();
});
