// Figures of time: what a pass costs, what a second stage saves, when guessing pays.

// Measured pass times by width, and what a token of such a pass costs.
figures.width = () => {
  const root = make("figure", "ssd-figure");
  const curve = CURVES.target;
  if (!curve) return root;
  const words = reading();
  const plot = make("div");
  const at = slider("width_slider", [0, curve.length - 1, 1], Math.min(3, curve.length - 1),
    (number) => String(curve[number][0]), draw);

  function draw() {
    const chosen = at.value();
    const most = Math.max(...curve.map(([, time]) => time));
    const image = drawing(520, 170, "ssd-bars");
    const step = 500 / curve.length;
    curve.forEach(([width, time], number) => {
      const height = 110 * time / most;
      const x = 10 + step * number;
      image.append(
        svg("rect", {
          x: x + 4, y: 138 - height, width: step - 8, height, rx: 2,
          class: number === chosen ? "ssd-fill-draft" : "ssd-fill-quiet",
        }),
        label(x + step / 2, 132 - height, (1000 * time).toFixed(1)),
        label(x + step / 2, 156, String(width)));
    });
    const [width, time] = curve[chosen];
    words.textContent = say("width_reading", {
      n: width, ms: milliseconds(time), ratio: (time / curve[0][1]).toFixed(2),
      each: milliseconds(time / width),
    });
    image.setAttribute("aria-label", words.textContent);
    fill(plot, image);
  }

  root.append(at.root, plot, make("figcaption", "", say("width_caption")), words);
  draw();
  return root;
};

// One round, to the scale of the measured pass times, without and with an N-gram for the draft.
figures.stages = () => {
  const root = make("figure", "ssd-figure");
  if (!CURVES.target || !CURVES.draft) return root;
  const length = 6;
  const words = reading();
  const plot = make("div");
  const hits = slider("stages_slider", [0, 5, 1], 2, String, draw);

  function round(foreseen) {
    const passes = Math.ceil(length / (foreseen + 1));
    const cost = passSeconds(CURVES.draft, foreseen + 1);
    return { passes, cost, total: passes * cost + passSeconds(CURVES.target, length + 1) };
  }

  function lane(image, y, name, each) {
    const scale = 500 / round(0).total;
    image.append(label(10, y - 8, name, { "text-anchor": "start" }));
    for (let pass = 0; pass < each.passes; pass += 1) {
      image.append(svg("rect", {
        x: 10 + pass * each.cost * scale, y, height: 26, rx: 2, class: "ssd-fill-draft",
        width: Math.max(2, each.cost * scale - 2),
      }));
    }
    const start = each.passes * each.cost;
    image.append(svg("rect", {
      x: 10 + start * scale, y, height: 26, rx: 2, class: "ssd-fill-target",
      width: (each.total - start) * scale,
    }));
    image.append(label(10 + (start + (each.total - start) / 2) * scale, y + 18,
      say("stages_target"), { class: "ssd-on-fill" }));
  }

  function draw() {
    const [alone, helped] = [round(0), round(hits.value())];
    const image = drawing(520, 130);
    lane(image, 26, say("stages_alone", { n: alone.passes }), alone);
    lane(image, 90, say("stages_helped", { n: helped.passes }), helped);
    words.textContent = say("stages_reading", {
      n: helped.passes, before: milliseconds(alone.total), after: milliseconds(helped.total),
    });
    image.setAttribute("aria-label", words.textContent);
    fill(plot, image);
  }

  root.append(hits.root, plot, make("figcaption", "", say("stages_caption")), words);
  draw();
  return root;
};

// The speed-up of a chain by its length, for an acceptance rate and a price of the draft.
figures.payoff = () => {
  const root = make("figure", "ssd-figure");
  const words = reading();
  const plot = make("div");
  const rate = slider("payoff_rate", [0, 95, 5], 70, (value) => value + " %", draw);
  const price = slider("payoff_price", [0, 100, 1], 10, (value) => value + " %", draw);
  const chain = slider("payoff_length", [1, 10, 1], 4, String, draw);

  function payoff(length) {
    const chance = rate.value() / 100;
    let tokens = 1;
    for (let depth = 1; depth <= length; depth += 1) tokens += chance ** depth;
    const curve = CURVES.target;
    const wider = curve ? passSeconds(curve, length + 1) / passSeconds(curve, 1) - 1 : 0;
    const cost = 1 + length * price.value() / 100 + Math.max(0, wider);
    return { tokens, cost, ratio: tokens / cost };
  }

  // Above its bar; inside it where the line of 1 would cross it.
  function ratioLabel(x, top, line, ratio) {
    const isCrossed = top - 5 > line - 4 && top - 18 < line + 4;
    return label(x, isCrossed ? top + 15 : top - 5, ratio.toFixed(2));
  }

  function draw() {
    const chosen = chain.value();
    const all = Array.from({ length: 10 }, (_, at) => payoff(at + 1));
    const most = Math.max(1.6, ...all.map((each) => each.ratio));
    const y = (ratio) => 150 - 120 * ratio / most;
    const image = drawing(520, 180, "ssd-bars");
    all.forEach(({ ratio }, at) => {
      const kind = at + 1 !== chosen ? "quiet" : ratio > 1 ? "ngram" : "target";
      image.append(
        svg("rect", {
          x: 42 + 47 * at, y: y(ratio), width: 36, height: 150 - y(ratio), rx: 2,
          class: "ssd-fill-" + kind,
        }),
        ratioLabel(60 + 47 * at, y(ratio), y(1), ratio),
        label(60 + 47 * at, 168, String(at + 1)));
    });
    image.append(svg("line", { x1: 32, x2: 516, y1: y(1), y2: y(1), class: "ssd-line-strong" }));
    image.append(label(14, y(1) + 4, "1×"));
    const { tokens, cost, ratio } = payoff(chosen);
    words.textContent = say(ratio > 1 ? "payoff_gain" : "payoff_loss", {
      tokens: tokens.toFixed(2), cost: cost.toFixed(2), ratio: ratio.toFixed(2),
    });
    image.setAttribute("aria-label", words.textContent);
    fill(plot, image);
  }

  root.append(rate.root, price.root, chain.root, plot,
    make("figcaption", "", say("payoff_caption")), words);
  draw();
  return root;
};
