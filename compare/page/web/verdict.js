// The verdict strip.
function makeVerdict() {
  const root = make("div", "ssd-verdict");
  root.setAttribute("role", "status");
  root.dataset.verdict = "none";

  function set(kind, word, lines) {
    root.dataset.verdict = kind;
    const marks = { identical: "✓", bug: "✕", tie: "≈", partial: "■", none: "·" };
    const mark = make("span", "ssd-mark", marks[kind]);
    mark.setAttribute("aria-hidden", "true");
    const body = make("div");
    body.append(make("strong", "", word), ...lines.map((line) => make("span", "", line)));
    fill(root, mark, body);
  }

  function firstParting(reference, lane) {
    const length = Math.min(reference.tokens.length, lane.tokens.length);
    for (let at = 0; at < length; at += 1) {
      if (reference.tokens[at].id !== lane.tokens[at].id) {
        return say("parts_at", {
          lane: laneName(lane.method), n: at + 1,
          a: JSON.stringify(lane.tokens[at].own), b: JSON.stringify(reference.tokens[at].own),
        });
      }
    }
    return null;
  }

  function draw(lanes, summary, isPartial) {
    if (!summary) return set("none", "", [say("verdict_idle")]);
    const reference = lanes.find((lane) => lane.method === summary.reference);
    const others = lanes.filter((lane) => lane !== reference && lane.tokens.length);
    if (!reference) return set("none", say("no_verdict"), [say("no_reference")]);
    if (!others.length) return set("none", say("no_verdict"), [say("alone")]);
    const partings = others.map((lane) => firstParting(reference, lane)).filter(Boolean);
    if (isPartial) {
      return set("partial", say("partial"), partings.length ? partings : [say("agree_so_far")]);
    }
    const count = (name) => others.reduce((sum, lane) => {
      const method = summary.methods[lane.method];
      return sum + ((method && method.verdicts && method.verdicts[name]) || 0);
    }, 0);
    const judged = others.filter((lane) => (summary.methods[lane.method] || {}).verdicts);
    const lines = [...new Set(judged.map((lane) => facts(reference, lane, summary)))];
    if (count("BUG")) set("bug", say("bug"), [...partings, ...lines]);
    else if (count("NEAR-TIE")) set("tie", say("near_tie"), [...partings, ...lines]);
    else if (count("IDENTICAL")) set("identical", say("identical"), lines);
    else set("none", say("no_verdict"), [...partings, ...lines]);
  }

  function facts(reference, lane, summary) {
    const n = Math.max(reference.tokens.length, lane.tokens.length);
    const k = lane.tokens.filter((token, at) =>
      reference.tokens[at] && reference.tokens[at].id === token.id).length;
    const rows = (summary.methods[lane.method] || {}).logit_rows_equal;
    const words = [say("tokens_equal", { k, n })];
    if (rows) words.push(say("rows_equal", { k: rows[0], n: rows[1] }));
    return words.join(language() === "en" ? "; " : "；");
  }

  return { root, draw };
}
