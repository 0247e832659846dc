// What is known of a node: why it was accepted or not, and what both models thought at its place.
function makeNodePanel() {
  const root = make("div", "ssd-node-panel");
  root.setAttribute("aria-live", "polite");

  // Why the node met its fate, in a sentence.
  function why(node, nodes, name) {
    if (node.fate === "root") return say("why_root");
    const parent = nodes[node.parent];
    const winner = parent.children.find((each) => each.fate === "accepted" || each.fate === "own");
    const values = { parent: name(parent), token: name(node), winner: winner ? name(winner) : "?" };
    const key = node.fate === "rejected" && !winner ? "cut" : node.fate;
    return say("why_" + key, values);
  }

  function table(title, row, chosen, name, empty) {
    const box = make("div", "ssd-candidates");
    box.append(make("h4", "", title));
    if (!row || !row.length) {
      box.append(make("p", "ssd-note", empty));
      return box;
    }
    const hasNoise = row[0].length > 2;
    const grid = make("table");
    const head = make("tr");
    const keys = ["token", "probability", ...(hasNoise ? ["noise", "sum"] : [])];
    head.append(...keys.map((key) => make("th", "", say("candidate_" + key))));
    grid.append(fill(make("thead"), head), fill(make("tbody"), ...row.map((each) =>
      candidate(each, hasNoise, each[0] === chosen, name))));
    box.append(grid);
    return box;
  }

  function candidate([id, chance, noise], hasNoise, isChosen, name) {
    const row = make("tr", isChosen ? "ssd-chosen" : "");
    const bar = make("i", "ssd-chance");
    bar.style.width = Math.max(1, 100 * chance) + "%";
    const cell = make("td", "ssd-chance-cell");
    cell.append(make("span", "", probability(chance)), bar);
    row.append(make("td", "ssd-mono", name({ token: id })), cell);
    if (hasNoise) {
      row.append(make("td", "", noise.toFixed(2)), make("td", "", (Math.log(chance) + noise).toFixed(2)));
    }
    return row;
  }

  // `shown`, the step, its nodes and the one to tell of.
  function draw(shown, step, nodes, node) {
    const name = (each) => labelOf(shown, each.token);
    const place = node.fate === "root" ? node : nodes[node.parent];
    const title = make("h3", "ssd-heading");
    title.append(make("span", "ssd-mono", name(node)), make("span", "ssd-node-by",
      node.fate === "root" ? say("by_context") : say("by_" + (node.fate === "own" ? "own" : node.origin))));
    const rows = [title, make("p", "ssd-node-line", why(node, nodes, name))];
    if (step.details) {
      const settled = place.children.find((each) => each.fate === "accepted" || each.fate === "own");
      const after = { place: name(place) };
      const { target, draft } = step.details;
      rows.push(
        table(say("target_after", after), target[place.number], settled && settled.token, name,
          say("no_row")),
        table(say("draft_after", after), draft[place.number], node.fate === "root" ? -1 : node.token,
          name, say("draft_unread")),
      );
      if ((target[place.number] || [[]])[0].length > 2) rows.push(make("p", "ssd-note", say("noise_note")));
    } else {
      rows.push(make("p", "ssd-note", say("no_details")));
    }
    fill(root, ...rows);
  }

  return { root, draw };
}
