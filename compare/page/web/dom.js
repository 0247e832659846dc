// The only way elements are made here: text goes in as text.
function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function fill(parent, ...children) {
  parent.replaceChildren(...children);
  return parent;
}

function language() {
  const tag = (document.documentElement.lang || navigator.language || "en").toLowerCase();
  return tag.startsWith("zh") && !/tw|hk|mo|hant/.test(tag) ? "zh-CN" : "en";
}

function say(key, values) {
  const words = WORDS[language()];
  const text = key in words ? words[key] : key;
  return text.replace(/\{(\w+)\}/g, (whole, name) =>
    values && name in values ? String(values[name]) : whole);
}

function laneName(method) {
  return say("method_" + method);
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  return value < 1 ? (value * 1000).toFixed(0) + " ms" : value.toFixed(2) + " s";
}

function number(value, digits) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

function percent(value) {
  return value === null || value === undefined ? "–" : (value * 100).toFixed(0) + "%";
}
