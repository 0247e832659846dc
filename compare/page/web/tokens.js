// What the ids of a shown run say. A word is the token's bytes in hex, or `=` and a name.
function bytesOf(shown, id) {
  const word = shown.words[id];
  if (word === undefined || word.startsWith("=")) return new Uint8Array();
  return Uint8Array.from(word.match(/../g) || [], (pair) => parseInt(pair, 16));
}

// The token by itself: bytes that are not whole characters as \xNN, a control token's name.
function ownText(shown, id) {
  const word = shown.words[id];
  if (word === undefined) return "⟨" + id + "⟩";
  if (word.startsWith("=")) return word.slice(1);
  const bytes = bytesOf(shown, id);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) =>
      byte < 128 ? String.fromCharCode(byte) : "\\x" + byte.toString(16).padStart(2, "0")).join("");
  }
}

// The token as a short label, its spaces and breaks made visible.
function labelOf(shown, id) {
  return ownText(shown, id).replace(/ /g, "·").replace(/\n/g, "↵").replace(/\t/g, "⇥") || "∅";
}

function hexOf(shown, id) {
  const bytes = bytesOf(shown, id);
  return bytes.length ? Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(" ") : "–";
}

// Ids in, the text they complete out; half a character is held back until it is whole.
function makeReader(shown) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    push: (id) => (shown.words[id] === undefined
      ? ownText(shown, id)
      : decoder.decode(bytesOf(shown, id), { stream: true })),
    flush: () => decoder.decode(),
  };
}

// Where a step's token number `at` was chosen: the node after which the target settled on it.
function nodeBefore(step, at) {
  return at ? step.path[at - 1] : 0;
}

// {probability, rank, noise} of an id among candidates; null where it is not among them.
function candidateOf(row, id) {
  const at = (row || []).findIndex((candidate) => candidate[0] === id);
  if (at < 0) return null;
  const [, probability, noise] = row[at];
  const isLast = at === row.length - 1 && at > 0 && probability > row[at - 1][1];
  return { probability, noise, rank: isLast ? null : at + 1, shown: row.length };
}

// What the target thought at each place of a run's answer, null where the record does not say.
function targetRows(run) {
  return run.steps.flatMap((step) => step.tokens.map((_, at) =>
    (step.details ? step.details.target[nodeBefore(step, at)] : null)));
}

// The same where another run of the shown ones says it: its ids are the run's own so far.
function borrowedRows(shown, run) {
  const teller = shown.runs.find((each) => each.steps.some((step) => step.details));
  if (!teller) return [];
  const parts = run.token_ids.findIndex((id, at) => teller.token_ids[at] !== id);
  return targetRows(teller).slice(0, parts < 0 ? undefined : parts + 1);
}

// The tokens of a run as the lanes show them.
function runTokens(shown, run) {
  const reader = makeReader(shown);
  const tokens = [];
  const prefill = run.seconds ? run.seconds.prefill : 0;
  const own = targetRows(run);
  const borrowed = borrowedRows(shown, run);
  run.steps.forEach((step, number) => step.tokens.forEach((id, at) => {
    const row = own[tokens.length] || borrowed[tokens.length];
    tokens.push({
      id, text: reader.push(id), own: ownText(shown, id), bytes: hexOf(shown, id),
      origin: step.origins[at], depth: at + 1, round: number + 1, nodes: step.draft_n,
      time: prefill + step.time, chance: candidateOf(row, id),
      entropy: step.entropy ? step.entropy[at] : null,
    });
  }));
  return { tokens, tail: reader.flush() };
}
