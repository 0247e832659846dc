// The only way elements are made here: text goes in as text.
function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
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

// A method's name before its sizes: `speculative` of `speculative:5`.
function baseName(method) {
  return method.split(":")[0];
}

function laneName(method) {
  const [base, ...sizes] = method.split(":");
  const key = "method_" + base;
  const name = key in WORDS.en ? say(key) : base;
  const said = sizes.filter((size) => size !== "auto").map((size) => {
    if (!/^\d+$/.test(size)) return size === "none" && "sized_none" in WORDS.en ? say("sized_none") : size;
    const kind = base.startsWith("speculative") ? "sized_chain" : "sized_nodes";
    return kind in WORDS.en ? say(kind, { n: size }) : size;
  });
  return [name, ...said].join(" · ");
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

function times(value) {
  return value === null || value === undefined ? "–" : number(value, 2) + "×";
}

function probability(value) {
  if (value >= 0.0995) return (value * 100).toFixed(0) + "%";
  return value >= 0.001 ? (value * 100).toFixed(1) + "%" : value.toExponential(0);
}

// Megabytes, as a person reads them.
function megabytes(value) {
  return value === null || value === undefined ? "–" : (value / 1e6).toFixed(value < 1e7 ? 1 : 0) + " MB";
}

function button(className, text, onClick) {
  const node = make("button", "ssd-button " + className, text);
  node.type = "button";
  node.addEventListener("click", onClick);
  return node;
}
