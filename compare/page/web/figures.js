// What the figures are made of. Each figure is a function that returns an element.
const figures = {};

// A drawing that says the same in words to those who do not see it.
function drawing(width, height, className) {
  return svg("svg", {
    viewBox: `0 0 ${width} ${height}`, class: "ssd-drawing " + (className || ""), role: "img",
  });
}

function label(x, y, text, attributes) {
  return svg("text", { x, y, "text-anchor": "middle", ...attributes }, text);
}

// A slider with its label and value: { root, value() }. `format` makes the value's words.
function slider(key, range, start, format, onInput) {
  const [least, most, step] = range;
  const root = make("label", "ssd-slider");
  const input = make("input");
  const shown = make("output", "", format(start));
  Object.assign(input, { type: "range", min: least, max: most, step });
  input.value = start;
  const tell = () => {
    shown.textContent = format(Number(input.value));
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  input.addEventListener("input", () => { tell(); onInput(); });
  tell();
  root.append(make("span", "", say(key)), input, shown);
  return { root, value: () => Number(input.value) };
}

// A select with its label: { root, value() }. `options`: words in the order of their numbers.
function chooser(key, options, start, onInput) {
  const root = make("label", "ssd-slider");
  const input = make("select");
  options.forEach((words, at) => {
    const option = make("option", "", words);
    option.value = at;
    input.append(option);
  });
  input.value = start;
  input.addEventListener("input", onInput);
  root.append(make("span", "", say(key)), input);
  return { root, value: () => Number(input.value) };
}

// A line of words under a figure that changes with it.
function reading() {
  const node = make("p", "ssd-reading");
  node.setAttribute("role", "status");
  return node;
}

// Seconds of a pass of `width` tokens: between two measured widths on the line.
function passSeconds(curve, width) {
  const above = curve.findIndex(([known]) => known >= width);
  if (above === 0) return curve[0][1];
  if (above < 0) return curve[curve.length - 1][1] * width / curve[curve.length - 1][0];
  const [[low, before], [high, after]] = [curve[above - 1], curve[above]];
  return before + (after - before) * (width - low) / (high - low);
}

function milliseconds(value) {
  return (1000 * value).toFixed(1) + " ms";
}
