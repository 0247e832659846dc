// The verdict strip.
function makeVerdict() {
  const root = make("div", "ssd-verdict");
  root.setAttribute("role", "status");
  root.dataset.verdict = "none";

  const marks = { identical: "✓", bug: "✕", tie: "≈", partial: "■", none: "·" };

  // `lines`: facts beside the word; `rows`: what is said below, a line each.
  function set(kind, word, lines, rows) {
    root.dataset.verdict = kind;
    const mark = make("span", "ssd-mark", marks[kind]);
    mark.setAttribute("aria-hidden", "true");
    const body = make("div");
    const head = make("div", "ssd-verdict-head");
    const term = { identical: "identical", tie: "near_tie", bug: "bug" }[kind];
    const name = make("strong", "", term ? undefined : word);
    if (term) name.append(termLink(term, word));
    head.append(name, ...lines.map((line) => make("span", "", line)));
    body.append(head, ...(rows || []).map((row) => make("p", "ssd-verdict-row", row)));
    fill(root, mark, body);
  }

  // Where a lane's ids leave the reference's, as words; null where they never do.
  function parting(reference, lane) {
    const length = Math.max(reference.tokens.length, lane.tokens.length);
    const own = (token) => (token ? JSON.stringify(token.own) : say("the_end"));
    for (let at = 0; at < length; at += 1) {
      const [theirs, ours] = [reference.tokens[at], lane.tokens[at]];
      if (!theirs || !ours || theirs.id !== ours.id) {
        return say("parts_at", {
          lane: laneName(lane.method), n: at + 1, a: own(ours), b: own(theirs),
        });
      }
    }
    return null;
  }

  // What the judge measured where the ids part.
  function measured(shown, lane) {
    const found = shown.verdicts.filter((each) => each.method === lane.method);
    return found.filter((each) => each.gap !== null && each.error !== null).map((each) =>
      say("gap_and_noise", {
        lane: laneName(lane.method), gap: each.gap.toPrecision(3), error: each.error.toPrecision(3),
      }));
  }

  function draw(lanes, shown) {
    if (!shown) return set("none", "", [say("verdict_idle")]);
    const { summary } = shown;
    const reference = lanes.find((lane) => lane.method === summary.reference);
    const others = lanes.filter((lane) => lane !== reference && lane.tokens.length);
    if (!reference || !reference.tokens.length) {
      return set("none", say("no_verdict"), [say("no_reference")]);
    }
    if (!others.length) return set("none", say("no_verdict"), [say("alone")]);
    const of = (lane) => summary.methods[lane.method] || {};
    const judged = others.filter((lane) => of(lane).verdicts);
    if (isPartial(shown)) {
      const short = judged.map((lane) => partingSoFar(reference, lane)).filter(Boolean);
      return set("partial", say("partial"), short.length ? short : [say("agree_so_far")]);
    }
    const count = (name) => judged.reduce((sum, lane) => sum + (of(lane).verdicts[name] || 0), 0);
    const lines = [...new Set(judged.map((lane) => facts(reference, lane, summary)))];
    const rows = others.flatMap((lane) =>
      [parting(reference, lane), ...measured(shown, lane)].filter(Boolean));
    const kind = count("BUG") ? "bug" : count("NEAR-TIE") ? "tie"
      : count("IDENTICAL") ? "identical" : "none";
    const word = { bug: "bug", tie: "near_tie", identical: "identical", none: "no_verdict" }[kind];
    if (kind === "bug") {
      const bad = shown.verdicts.filter((each) => each.verdict === "BUG");
      rows.push(...bad.map((each) => laneName(each.method) + ": " + each.reason));
    }
    set(kind, say(word), lines, rows);
  }

  function partingSoFar(reference, lane) {
    const length = Math.min(reference.tokens.length, lane.tokens.length);
    const cut = (each) => ({ ...each, tokens: each.tokens.slice(0, length) });
    return parting(cut(reference), cut(lane));
  }

  function facts(reference, lane, summary) {
    const n = Math.max(reference.tokens.length, lane.tokens.length);
    const k = lane.tokens.filter((token, at) =>
      reference.tokens[at] && reference.tokens[at].id === token.id).length;
    const rows = summary.methods[lane.method].logit_rows_equal;
    const words = [say("tokens_equal", { k, n })];
    if (rows) words.push(say("rows_equal", { k: rows[0], n: rows[1] }));
    return words.join(language() === "en" ? "; " : "；");
  }

  return { root, draw };
}
