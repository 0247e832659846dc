// Figures of guesses: a chain that is checked, and the best tree of six.

// Four guesses, each of which can be made wrong; what one pass of the target settles of them.
figures.chain = () => {
  const root = make("figure", "ssd-figure");
  const words = reading();
  const rows = make("div", "ssd-chain");
  const right = say("chain_target").split("|");
  const wrong = say("chain_wrong").split("|");
  const isWrong = wrong.map((_, at) => at === 1);

  function cell(text, kind) {
    return make("span", "ssd-cell ssd-cell-" + kind, text);
  }

  function guess(at, first) {
    const text = isWrong[at] ? wrong[at] : right[at];
    const kind = at < first ? "kept" : "dropped";
    const button = make("button", "ssd-cell ssd-cell-" + kind, text);
    button.type = "button";
    button.setAttribute("aria-pressed", String(isWrong[at]));
    button.setAttribute("aria-label", say("chain_press", { word: text }));
    button.addEventListener("click", () => {
      isWrong[at] = !isWrong[at];
      draw();
      rows.querySelectorAll("button")[at].focus();
    });
    return button;
  }

  function draw() {
    const wrongAt = isWrong.indexOf(true);
    const first = wrongAt < 0 ? wrong.length : wrongAt;
    const said = right.map((text, at) =>
      at < first ? cell(text, "kept") : at === first ? cell(text, "own") : cell("–", "unknown"));
    fill(rows,
      make("span", "ssd-chain-name", say("chain_guesses")), ...wrong.map((_, at) => guess(at, first)),
      make("span", "ssd-cell ssd-cell-none"),
      make("span", "ssd-chain-name", say("chain_says")), ...said);
    words.textContent = say("chain_reading", {
      text: say("chain_prompt") + say("chain_space") + right.slice(0, first + 1).join(say("chain_space")),
      n: first + 1, k: first,
    });
  }

  root.append(make("figcaption", "", say("chain_caption")), rows, words);
  draw();
  return root;
};

// The best tree of six nodes where the best guess has a given chance everywhere.
figures.tree = () => {
  const root = make("figure", "ssd-figure");
  const words = reading();
  const plot = make("div");
  const size = 6;
  const sure = slider("tree_slider", [35, 95, 5], 50, (value) => value + " %", draw);

  function chances() {
    const best = sure.value() / 100;
    return [best, 0.6 * (1 - best), 0.25 * (1 - best)];
  }

  // Best first: always the likeliest path that is not in the tree yet.
  function grow() {
    const nodes = [{ chance: 1, parent: null, depth: 0, children: [] }];
    const open = chances().map((share, rank) => ({ parent: nodes[0], chance: share, rank }));
    while (nodes.length <= size) {
      open.sort((a, b) => b.chance - a.chance || a.rank - b.rank);
      const { parent, chance } = open.shift();
      const node = { chance, parent, depth: parent.depth + 1, children: [] };
      parent.children.push(node);
      nodes.push(node);
      chances().forEach((share, rank) => open.push({ parent: node, chance: chance * share, rank }));
    }
    return nodes;
  }

  // Depth to the right; a leaf takes a row, a parent stands beside its first child.
  function place(node, row) {
    node.row = row;
    if (!node.children.length) return row + 1;
    return node.children.reduce((next, child) => place(child, next), row);
  }

  function draw() {
    const nodes = grow();
    const rows = place(nodes[0], 0);
    const [x, y] = [(node) => 34 + 78 * node.depth, (node) => 24 + 38 * node.row];
    const image = drawing(540, 10 + 38 * rows);
    for (const node of nodes.slice(1)) {
      image.append(svg("path", {
        d: `M${x(node.parent)} ${y(node.parent)} L${x(node)} ${y(node)}`, class: "ssd-example-branch",
      }));
    }
    nodes.forEach((node) => image.append(
      svg("circle", {
        cx: x(node), cy: y(node), r: 17, class: node.depth ? "ssd-example-node" : "ssd-example-root",
      }),
      label(x(node), y(node) + 4, node.depth ? Math.round(100 * node.chance) + "%" : "•")));
    const total = (list) => list.reduce((sum, chance) => sum + chance, 1);
    const chain = Array.from({ length: size }, (_, at) => chances()[0] ** (at + 1));
    const share = sure.value();
    words.textContent = say("tree_reading", {
      p: share, chain: total(chain).toFixed(2),
      tree: total(nodes.slice(1).map((node) => node.chance)).toFixed(2),
      depth: Math.max(...nodes.map((node) => node.depth)),
    });
    image.setAttribute("aria-label", words.textContent);
    fill(plot, image);
  }

  root.append(sure.root, plot, make("figcaption", "", say("tree_caption")), words);
  draw();
  return root;
};
