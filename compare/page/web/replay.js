// The race on one clock, replayed from the recorded stamps. Driven by time, not by frames.
function makeReplay(getLanes) {
  const root = make("div", "ssd-replay");
  const button = make("button", "ssd-button");
  const slider = make("input");
  const clock = make("output", "ssd-clock");
  const speed = make("select");
  button.type = "button";
  Object.assign(slider, { type: "range", min: "0", max: "1000", step: "1", value: "1000" });
  for (const factor of [0.25, 0.5, 1, 2, 4]) {
    const option = make("option", "", factor + "×");
    option.value = String(factor);
    speed.append(option);
  }
  speed.value = "1";
  root.append(button, slider, clock, speed);
  root.hidden = true;
  let end = 0, now = 0, last = null, isPlaying = false;

  function translate() {
    button.textContent = isPlaying ? "❚❚" : "▶";
    button.setAttribute("aria-label", say(isPlaying ? "pause" : "play"));
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", say("replay"));
    slider.setAttribute("aria-label", say("position"));
    speed.setAttribute("aria-label", say("speed"));
  }

  function show() {
    for (const lane of getLanes()) lane.showUntil(now);
    slider.value = String(end ? Math.round((1000 * now) / end) : 0);
    clock.textContent = now.toFixed(2) + " / " + end.toFixed(2) + " s";
    slider.setAttribute("aria-valuetext", clock.textContent);
  }

  function seek(time) {
    now = Math.max(0, Math.min(end, time));
    show();
  }

  function set(playing) {
    isPlaying = lab.isMoving = playing;
    last = null;
    if (playing && now >= end) now = 0;
    translate();
    if (playing) requestAnimationFrame(frame);
    else endIdleLoop();
  }

  function frame(stamp) {
    if (!isPlaying || !root.isConnected) return;
    if (last !== null) now += ((stamp - last) / 1000) * Number(speed.value);
    last = stamp;
    if (now >= end) {
      now = end;
      set(false);
    }
    show();
    if (isPlaying) requestAnimationFrame(frame);
  }

  function stamps() {
    const all = getLanes().flatMap((lane) => lane.tokens.map((token) => token.time));
    return [...new Set([0, ...all])].sort((a, b) => a - b);
  }

  button.addEventListener("click", () => set(!isPlaying));
  slider.addEventListener("input", () => {
    set(false);
    seek((end * Number(slider.value)) / 1000);
  });
  slider.addEventListener("keydown", (event) => {
    const times = stamps();
    const next = {
      ArrowRight: times.find((t) => t > now + 1e-9),
      ArrowUp: times.find((t) => t > now + 1e-9),
      ArrowLeft: times.filter((t) => t < now - 1e-9).pop(),
      ArrowDown: times.filter((t) => t < now - 1e-9).pop(),
      Home: 0,
      End: end,
    };
    if (!(event.key in next)) return;
    event.preventDefault();
    set(false);
    if (next[event.key] !== undefined) seek(next[event.key]);
  });

  return {
    root, translate,
    hide: () => { isPlaying = lab.isMoving = false; root.hidden = true; },
    start: () => {
      end = Math.max(0, ...getLanes().flatMap((lane) => lane.tokens.map((t) => t.time)));
      if (!end) return;
      root.hidden = false;
      now = end;
      show();
      const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      set(!isStill);
    },
  };
}
