// Puts a link into the glossary beside every label that has a term. `CONTROL_TERMS`: by the id of a
// control; `ROW_TERMS`: by the key of a row of the scoreboard's words.
function beside(place, term) {
  const known = place.querySelector(":scope > .ssd-what");
  if (known) {
    known.setAttribute("aria-label", say("what", { term: NAMES[language()][term] }));
    return;
  }
  const link = make("a", "ssd-what", "?");
  link.href = "#tab=learn&term=" + term;
  link.setAttribute("aria-label", say("what", { term: NAMES[language()][term] }));
  link.addEventListener("click", (event) => {
    event.preventDefault();
    event.stopPropagation();
    go({ tab: "learn", term });
  });
  place.append(link);
}

function decorate() {
  for (const [id, term] of Object.entries(CONTROL_TERMS)) {
    const label = document.querySelector(`#${id} [data-testid="block-info"]`);
    if (label) beside(label, term);
  }
  const rows = new Map(Object.entries(ROW_TERMS).map(([key, term]) => [say(key), term]));
  for (const head of document.querySelectorAll(".ssd-board tbody th")) {
    const term = rows.get(head.firstChild ? head.firstChild.textContent : "");
    if (term) beside(head, term);
  }
}

let isDue = false;
function later() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => { isDue = false; decorate(); }, 400);
}

decorate();
new MutationObserver(later).observe(document.body, { childList: true, subtree: true });
onLanguage(later);
