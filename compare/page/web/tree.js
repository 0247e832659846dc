// A token tree in a layout that never jumps: depth to the right, siblings downward in the order in
// which they were grown, the target's own token last below the node that it follows.
const TREE = { column: 118, row: 34, box: 92, height: 24, pad: 14, letters: 10 };

// The nodes of a step as they are drawn. `fate`: root, accepted, own (the target's), rejected (its
// parent was reached) or unreached. The target's own token has the number after the last node's.
function treeNodes(step) {
  const { tokens, parents, origins } = step.tree;
  const reached = new Set([0, ...step.path]);
  const nodes = tokens.map((token, number) => {
    const fate = !number ? "root" : reached.has(number) ? "accepted"
      : reached.has(parents[number]) ? "rejected" : "unreached";
    return { number, token, parent: parents[number], origin: origins[number], fate };
  });
  if (step.tokens.length > step.path.length) {
    const parent = step.path.length ? step.path[step.path.length - 1] : 0;
    const token = step.tokens[step.tokens.length - 1];
    nodes.push({ number: nodes.length, token, parent, origin: "target", fate: "own" });
  }
  return place(nodes);
}

function place(nodes) {
  const children = nodes.map(() => []);
  nodes.forEach((node) => { if (node.parent >= 0) children[node.parent].push(node); });
  let row = 0;
  function visit(node, depth) {
    Object.assign(node, { depth, children: children[node.number], row });
    if (!node.children.length) row += 1;
    node.children.forEach((child) => visit(child, depth + 1));
  }
  visit(nodes[0], 0);
  return nodes;
}

function outline(node) {
  const [w, h] = [TREE.box, TREE.height];
  if (node.origin === "ngram") {
    const cut = 9;
    const points = [[cut, 0], [w - cut, 0], [w, h / 2], [w - cut, h], [cut, h], [0, h / 2]];
    return svg("polygon", { points: points.map((p) => p.join(",")).join(" ") });
  }
  return svg("rect", { width: w, height: h, rx: node.fate === "root" ? 0 : 6 });
}

function makeTree(onSelect) {
  const root = make("div", "ssd-tree");
  let nodes = [], groups = [], selected = 0, label = () => "", describe = () => "";

  function at(node) {
    return [TREE.pad + node.depth * TREE.column, TREE.pad + node.row * TREE.row];
  }

  function edge(node) {
    const [x1, y1] = at(nodes[node.parent]);
    const [x2, y2] = at(node);
    const [from, to, middle] = [x1 + TREE.box, x2, x2 - (TREE.column - TREE.box) / 2];
    const [top, bottom] = [y1 + TREE.height / 2, y2 + TREE.height / 2];
    return svg("path", {
      d: `M${from},${top}H${middle}V${bottom}H${to}`, class: "ssd-edge ssd-fate-" + node.fate,
    });
  }

  function group(node) {
    const [x, y] = at(node);
    const shape = svg("g", {
      class: `ssd-node ssd-fate-${node.fate} ssd-by-${node.origin}`,
      transform: `translate(${x},${y})`, role: "treeitem", tabindex: "-1",
      "aria-level": node.depth + 1, "aria-selected": "false", "aria-label": describe(node),
    });
    if (node.fate === "own") {
      shape.append(svg("rect", {
        class: "ssd-ring", x: -4, y: -4, width: TREE.box + 8, height: TREE.height + 8, rx: 10,
      }));
    }
    const text = svg("text", { x: TREE.box / 2, y: TREE.height / 2, class: "ssd-node-text" });
    const letters = Array.from(label(node));
    text.textContent = letters.length > TREE.letters
      ? letters.slice(0, TREE.letters - 1).join("") + "…" : letters.join("");
    shape.append(outline(node), text);
    shape.addEventListener("click", () => choose(node.number, true));
    return shape;
  }

  function choose(number, hasFocus) {
    groups.forEach((each, index) => {
      each.setAttribute("tabindex", index === number ? "0" : "-1");
      each.setAttribute("aria-selected", String(index === number));
    });
    selected = number;
    if (hasFocus) groups[number].focus();
    onSelect(nodes[number]);
  }

  function neighbour(key) {
    const node = nodes[selected];
    if (key === "ArrowLeft") return nodes[node.parent];
    if (key === "ArrowRight") return node.children[0];
    if (key === "Home") return nodes[0];
    if (key === "End") return nodes[nodes.length - 1];
    const column = nodes.filter((each) => each.depth === node.depth).sort((a, b) => a.row - b.row);
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    return step ? column[column.indexOf(node) + step] : undefined;
  }

  root.addEventListener("keydown", (event) => {
    if (!/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    const next = neighbour(event.key);
    if (next) choose(next.number, true);
  });

  // `all`: of `treeNodes`; `words`: {label(node), describe(node), title}.
  function draw(all, words) {
    ({ label, describe } = words);
    nodes = all;
    const width = 2 * TREE.pad + TREE.box + TREE.column * Math.max(...nodes.map((n) => n.depth));
    const rows = 1 + Math.max(...nodes.map((node) => node.row));
    const picture = svg("svg", {
      width, height: 2 * TREE.pad + TREE.row * rows - TREE.row + TREE.height, role: "tree",
      "aria-label": words.title,
    });
    groups = nodes.map(group);
    picture.append(...nodes.filter((node) => node.parent >= 0).map(edge), ...groups);
    fill(root, picture);
    const last = nodes[nodes.length - 1];
    choose(last.fate === "own" ? last.number : 0, false);
  }

  return { root, draw };
}
