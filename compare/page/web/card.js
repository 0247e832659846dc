// The card beside a token: what it is and who proposed it.
function makeCard() {
  const root = make("div", "ssd-card");
  root.setAttribute("role", "status");
  root.hidden = true;
  frame.append(root);

  function line(key, value) {
    const row = make("div", "ssd-card-row");
    row.append(make("span", "ssd-card-key", say(key)), make("span", "ssd-card-value", value));
    return row;
  }

  function rank(chance) {
    return chance.rank === null ? "> " + chance.shown : String(chance.rank);
  }

  function lines(token) {
    const rows = [
      line("card_token", JSON.stringify(token.own)),
      line("card_id", String(token.id)),
      line("card_stage", say("origin_" + token.origin)),
      line("card_round", String(token.round)),
      line("card_depth", String(token.depth)),
      line("card_nodes", String(token.nodes)),
      line("card_time", seconds(token.time)),
    ];
    if (token.bytes) rows.splice(2, 0, line("card_bytes", token.bytes));
    if (token.chance) {
      rows.push(
        line("card_probability", probability(token.chance.probability)),
        line("card_rank", rank(token.chance)),
      );
    }
    if (typeof token.entropy === "number") {
      rows.push(line("card_entropy", say("bits", { n: (token.entropy / Math.LN2).toFixed(2) })));
    }
    return rows;
  }

  function show(span) {
    fill(root, ...span.ssdTokens.flatMap(lines));
    root.hidden = false;
    place(span);
  }

  function place(span) {
    const box = frame.getBoundingClientRect();
    const rects = span.getClientRects();
    const at = rects[rects.length - 1] || span.getBoundingClientRect();
    const left = Math.min(at.left - box.left, box.width - root.offsetWidth - 4);
    const below = at.bottom - box.top + 6;
    const above = at.top - box.top - root.offsetHeight - 6;
    const fits = at.bottom + root.offsetHeight + 12 < window.innerHeight;
    root.style.left = Math.max(4, left) + "px";
    root.style.top = (fits || above < 0 ? below : above) + "px";
  }

  return { show, hide: () => { root.hidden = true; } };
}
