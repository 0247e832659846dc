// Figures of the text: how a token is chosen whatever was guessed, and what rounding does.

// Noise of the kind named after Gumbel, a function of three numbers: a small cousin of the engine's.
function smallNoise(seed, place, token) {
  let mixed = (seed * 0x9e3779b1 + place * 0x85ebca6b + token * 0xc2b2ae35 + 0x27d4eb2f) | 0;
  for (const shift of [16, 13, 16]) {
    mixed = Math.imul(mixed ^ (mixed >>> shift), 0x7feb352d);
  }
  const share = ((mixed ^ (mixed >>> 15)) >>> 0) / 4294967296;
  return -Math.log(-Math.log(Math.min(Math.max(share, 1e-9), 1 - 1e-9)));
}

figures.choice = () => {
  const root = make("figure", "ssd-figure");
  const words = reading();
  const table = make("div", "ssd-scroll");
  const tokens = say("choice_tokens").split("|");
  const logits = [2.0, 1.7, 1.1, 0.4, -0.5];
  const guess = chooser("choice_guess", tokens, 1, draw);
  const heat = slider("temperature", [0, 2, 0.1], 1, (value) => value.toFixed(1), draw);
  const seed = slider("seed", [0, 40, 1], 7, String, draw);

  function row(token, values, isWinner) {
    const line = make("tr", isWinner ? "ssd-winner" : "");
    const bar = make("span", "ssd-sum-bar");
    bar.style.width = Math.max(2, 14 * (values.sum + 2.5)) + "px";
    const head = make("th", "", token + (isWinner ? " " + say("choice_wins") : ""));
    head.scope = "row";
    line.append(head, make("td", "", values.score.toFixed(2)),
      make("td", "", values.noise === null ? "–" : values.noise.toFixed(2)),
      fill(make("td"), make("span", "ssd-sum", values.sum.toFixed(2)), bar));
    return line;
  }

  function draw() {
    const t = heat.value();
    const all = logits.map((logit, token) => {
      const score = t > 0 ? logit / t : logit;
      const noise = t > 0 ? smallNoise(seed.value(), 1, token) : null;
      return { score, noise, sum: score + (noise || 0) };
    });
    const sums = all.map((each) => each.sum);
    const winner = sums.indexOf(Math.max(...sums));
    const heads = ["choice_token", "choice_score", "choice_noise", "choice_sum"].map((key) => {
      const head = make("th", "", say(key));
      head.scope = "col";
      return head;
    });
    fill(table, fill(make("table"), fill(make("thead"), fill(make("tr"), ...heads)),
      fill(make("tbody"), ...all.map((each, at) => row(tokens[at], each, at === winner)))));
    words.textContent = say(winner === guess.value() ? "choice_kept" : "choice_dropped", {
      prompt: say("choice_prompt"), guess: tokens[guess.value()], winner: tokens[winner],
    });
  }

  root.append(guess.root, heat.root, seed.root, table,
    make("figcaption", "", say("choice_caption")), words);
  draw();
  return root;
};

// The number rounded to `digits` binary digits, to even on a tie.
function rounded(value, digits) {
  if (value === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - digits + 1);
  const [low, rest] = [Math.floor(value / unit), value / unit - Math.floor(value / unit)];
  return unit * (rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low);
}

figures.rounding = () => {
  const root = make("figure", "ssd-figure");
  const words = reading();
  const rows = make("div", "ssd-sums");
  const digits = [8, 24];
  const kind = chooser("rounding_kind", ["bf16", "fp32"], 0, draw);

  function sum(terms) {
    const steps = [terms[0]];
    for (const term of terms.slice(1)) {
      steps.push(rounded(steps[steps.length - 1] + term, digits[kind.value()]));
    }
    return steps;
  }

  function line(terms) {
    const steps = sum(terms);
    return fill(make("p"), make("code", "", terms.join(" + ")), document.createTextNode(" → "),
      make("code", "", steps.slice(1).join(" → ")));
  }

  function draw() {
    const [large, small] = [[256, 1, 1, 1, 1], [1, 1, 1, 1, 256]];
    const [first, last] = [large, small].map((terms) => sum(terms).pop());
    fill(rows, line(large), line(small));
    words.textContent = say(first === last ? "rounding_same" : "rounding_parts",
      { a: first, b: last });
  }

  root.append(kind.root, rows, make("figcaption", "", say("rounding_caption")), words);
  draw();
  return root;
};
