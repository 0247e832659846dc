"use strict";
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const figures = read("figures");
const config = {
  responsive: true, displaylogo: false, plotlyServerURL: "", locale: "en",
  modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d", "autoScale2d"],
};
for (const [id, figure] of Object.entries(figures)) {
  Plotly.newPlot(id, figure.data, figure.layout, config);
}
// Paper has no scrolling and no clicking: everything is opened and fits the sheet.
const SHEET = { one: 470, full: 980 };
let opened = [];
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open])")) {
    each.open = true;
    opened.push(each);
  }
  for (const id of Object.keys(figures)) {
    const plot = document.getElementById(id);
    const isFull = plot.closest("figure").classList.contains("full");
    Plotly.relayout(plot, { width: isFull ? SHEET.full : SHEET.one });
  }
});
addEventListener("afterprint", () => {
  for (const each of opened) each.open = false;
  opened = [];
  for (const id of Object.keys(figures)) Plotly.relayout(id, { width: null, autosize: true });
});
