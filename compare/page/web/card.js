// The card beside a token: what it is and who proposed it.
function makeCard(frame) {
  const root = make("div", "ssd-card");
  root.setAttribute("role", "status");
  root.hidden = true;
  frame.append(root);

  function line(key, value) {
    const row = make("div", "ssd-card-row");
    row.append(make("span", "ssd-card-key", say(key)), make("span", "ssd-card-value", value));
    return row;
  }

  function show(span, lane) {
    const rows = [];
    for (const token of span.ssdTokens) {
      rows.push(
        line("card_token", JSON.stringify(token.own)),
        line("card_id", String(token.id)),
        line("card_stage", say("origin_" + token.origin)),
        line("card_round", String(token.round)),
        line("card_depth", String(token.depth)),
        line("card_nodes", String(token.nodes)),
        line("card_time", seconds(token.time)),
      );
    }
    fill(root, ...rows);
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
