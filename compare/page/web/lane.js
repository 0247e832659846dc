// One decoder's column: its text, token by token, and how far it is.
// A token: {id, text, own, origin, depth, round, nodes, time}; `text` is what it completed.
function makeLane(method, card) {
  const root = make("section", "ssd-lane");
  const name = make("h3", "ssd-lane-name");
  const what = make("p", "ssd-lane-what");
  const tally = make("span", "ssd-tally");
  const bar = make("div", "ssd-bar");
  const text = make("div", "ssd-text");
  root.dataset.method = baseName(method);
  text.dir = "auto";
  text.tabIndex = 0;
  text.setAttribute("role", "textbox");
  text.setAttribute("aria-readonly", "true");
  text.setAttribute("aria-multiline", "true");
  bar.append(make("i"));
  const head = make("div", "ssd-lane-head");
  head.append(name, tally);
  root.append(head, what, bar, text);

  const lane = {
    method, root, text, tokens: [], spans: [], prefill: 0, current: -1, error: null,
    first: [], maximum: 1,
  };
  let pending = [];
  let isAtEnd = true;
  let seen = 0; // of the spans, in a replay

  lane.translate = () => {
    name.textContent = laneName(method);
    what.textContent = say("what_" + baseName(method));
    text.setAttribute("aria-label", say("text_of", { lane: laneName(method) }));
    lane.tell();
  };

  lane.reset = (maximum) => {
    Object.assign(lane, { tokens: [], spans: [], prefill: 0, current: -1, error: null });
    lane.first = [];
    lane.maximum = maximum;
    pending = [];
    isAtEnd = true;
    seen = 0;
    text.replaceChildren();
    root.classList.remove("ssd-running", "ssd-leading");
    lane.tell();
  };

  lane.add = (token) => {
    lane.tokens.push(token);
    pending.push(token);
    lane.first.push(lane.spans.length);
    if (token.text) close(token.text);
  };

  // The lane as a record has it.
  lane.load = (run, read, maximum) => {
    lane.reset(maximum);
    lane.prefill = run.seconds ? run.seconds.prefill : 0;
    for (const token of read.tokens) lane.add(token);
    lane.finish(read.tail);
    if (run.error) lane.fail(run.error);
    lane.settle();
  };

  lane.fail = (sentence) => {
    lane.error = sentence;
    text.append(make("p", "ssd-error", sentence));
  };

  lane.finish = (tail) => {
    if (tail) close(tail);
    pending = [];
  };

  // A character of several tokens is shown by the token that completes it.
  function close(shown) {
    const last = pending[pending.length - 1] || lane.tokens[lane.tokens.length - 1];
    if (!last) return;
    const span = make("span", "ssd-token ssd-" + last.origin, shown);
    if (/^\s*\n/.test(shown)) span.classList.add("ssd-newline");
    span.dataset.index = String(lane.spans.length);
    span.ssdTokens = pending.length ? pending : [last];
    lane.spans.push(span);
    pending = [];
    text.append(span);
  }

  // Scroll so far that `span` is the last that shows, to the beginning where there is none.
  function keepInSight(span) {
    text.scrollTop = span ? span.offsetTop + span.offsetHeight - text.clientHeight : 0;
  }

  // What came is told and in sight: once an update, for each look at the layout makes it anew.
  lane.settle = () => {
    lane.tell();
    if (isAtEnd) text.scrollTop = text.scrollHeight;
  };

  // How many tokens are done `clock` seconds after the prompt, which is told; for a live lane, all.
  lane.tell = (clock) => {
    const all = clock === undefined;
    const done = all ? lane.tokens.length : lane.tokens.filter((t) => t.time <= clock).length;
    const end = done ? lane.tokens[done - 1].time : 0;
    const rate = end > lane.prefill ? done / (end - lane.prefill) : 0;
    tally.textContent = done
      ? say("tally", { n: done, rate: rate.toFixed(rate < 10 ? 1 : 0), time: seconds(end) }) : "";
    bar.firstChild.style.width = Math.min(100, (100 * done) / lane.maximum) + "%";
    return done;
  };

  lane.showUntil = (clock) => {
    const done = lane.tell(clock);
    const isWhole = done === lane.tokens.length;
    const spans = isWhole ? lane.spans.length : done ? lane.first[done - 1] + 1 : 0;
    lane.spans.forEach((span, index) => span.classList.toggle("ssd-unseen", index >= spans));
    if (spans !== seen) keepInSight(lane.spans[spans - 1]);
    seen = spans;
    root.classList.toggle("ssd-done", isWhole && lane.tokens.length > 0);
    return isWhole;
  };

  lane.point = (index) => {
    if (lane.current >= 0 && lane.spans[lane.current]) {
      lane.spans[lane.current].classList.remove("ssd-current");
    }
    lane.current = index;
    const span = lane.spans[index];
    if (!span) return card.hide();
    span.classList.add("ssd-current");
    card.show(span);
  };

  text.addEventListener("scroll", () => {
    isAtEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
  }, { passive: true });
  text.addEventListener("mouseover", (event) => {
    const span = event.target.closest(".ssd-token");
    if (span) lane.point(Number(span.dataset.index));
  });
  text.addEventListener("mouseleave", () => lane.point(-1));
  text.addEventListener("blur", () => lane.point(-1));
  text.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const last = lane.spans.length - 1;
    let next = null;
    if (event.key in steps) next = lane.current + steps[event.key];
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = last;
    if (event.key === "Escape") return lane.point(-1);
    if (next === null || last < 0) return;
    event.preventDefault();
    lane.point(Math.max(0, Math.min(last, next)));
    lane.spans[lane.current].scrollIntoView({ block: "nearest" });
  });
  lane.translate();
  return lane;
}
