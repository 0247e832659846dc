// Puts a link into the glossary beside the label of every control that has a term. `CONTROL_TERMS`:
// by the id of what holds a control, then by the control's own. A tab and a fold make their controls
// when they are first opened, so each is watched until it has them all.
const LABELS = ["[data-testid=block-info]", ".label-text"]; // the latter of a checkbox

// Whether the control is there.
function decorate(id, term) {
  const control = document.getElementById(id);
  const place = control && LABELS.map((each) => control.querySelector(each)).find(Boolean);
  if (!place) return false;
  let link = place.querySelector(":scope > .ssd-what");
  if (!link) {
    link = glossaryLink("ssd-what", "?", term);
    place.append(link);
  }
  link.setAttribute("aria-label", say("what", { term: NAMES[language()][term] }));
  return true;
}

const watcher = new MutationObserver(later);
let isDue = false;

function decorateAll() {
  watcher.disconnect();
  for (const [holder, terms] of Object.entries(CONTROL_TERMS)) {
    const found = Object.entries(terms).map(([id, term]) => decorate(id, term));
    if (found.every(Boolean)) continue;
    const place = document.getElementById(holder) || document.body;
    watcher.observe(place, { childList: true, subtree: true });
  }
}

function later() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => { isDue = false; decorateAll(); }, 400);
}

decorateAll();
onLanguage(later);
