// The Learn tab: a list of lessons, the chosen one, and the glossary.
const list = make("nav", "ssd-lessons");
const article = make("article", "ssd-lesson");
let chosen = { lesson: 0, term: null };

function lessonsHere() {
  return LESSONS[language()];
}

function choose(lesson, term) {
  chosen = { lesson, term: term || null };
  setAddress({ lesson: lesson === "glossary" ? null : lessonsHere()[lesson].name, term: chosen.term });
  draw();
}

function entry(number, title, isChosen) {
  const button = make("button", "ssd-entry");
  button.type = "button";
  if (isChosen) button.setAttribute("aria-current", "true");
  button.append(make("span", "ssd-number", number), make("span", "", title));
  return button;
}

function drawList() {
  const items = lessonsHere().map((lesson, at) => {
    const button = entry(String(at + 1), lesson.title, chosen.lesson === at);
    button.addEventListener("click", () => { choose(at); focusTitle(); });
    return fill(make("li"), button);
  });
  const glossary = entry("?", say("glossary"), chosen.lesson === "glossary");
  glossary.addEventListener("click", () => { choose("glossary"); focusTitle(); });
  list.setAttribute("aria-label", say("lessons"));
  fill(list, make("p", "ssd-intro", say("intro")),
    fill(make("ol"), ...items, fill(make("li"), glossary)));
}

function focusTitle() {
  article.querySelector("h2").focus({ preventScroll: true });
  article.scrollIntoView({ block: "nearest" });
}

function heading(text) {
  const node = make("h2", "", text);
  node.tabIndex = -1;
  return node;
}

function draw() {
  drawList();
  if (chosen.lesson === "glossary") return drawGlossary();
  const lesson = lessonsHere()[chosen.lesson];
  const body = make("div", "ssd-lesson-body");
  fill(article, heading(lesson.title), body);
  drawLesson(lesson, body, explain);
  const next = lessonsHere()[chosen.lesson + 1];
  if (next) {
    const button = make("button", "ssd-next", say("next", { title: next.title }) + " →");
    button.type = "button";
    button.addEventListener("click", () => { choose(chosen.lesson + 1); focusTitle(); });
    article.append(button);
  }
}

// What a term means, opened below the block that it stands in; pressed again, it closes.
function explain(term, button) {
  const block = button.closest(".ssd-lesson-body > *");
  const open = block.nextElementSibling;
  const isOpen = open && open.classList.contains("ssd-meaning");
  const wasThis = isOpen && open.dataset.term === term;
  if (isOpen) open.remove();
  block.querySelectorAll(".ssd-term").forEach((each) => each.setAttribute("aria-expanded", "false"));
  if (wasThis) return;
  button.setAttribute("aria-expanded", "true");
  const known = GLOSSARY[language()][term];
  const all = glossaryLink("", say("in_glossary"), term);
  const meaning = make("aside", "ssd-meaning");
  meaning.dataset.term = term;
  meaning.append(make("strong", "", known.name), document.createTextNode(" " + known.text + " "), all);
  block.after(meaning);
}

function drawGlossary() {
  const terms = make("dl", "ssd-glossary");
  for (const [key, { name, text }] of Object.entries(GLOSSARY[language()])) {
    const word = make("dt", chosen.term === key ? "ssd-sought" : "", name);
    word.id = "ssd-term-" + key;
    word.tabIndex = -1;
    terms.append(word, make("dd", "", text));
  }
  fill(article, heading(say("glossary")), make("p", "", say("glossary_intro")), terms);
}

// The address may name a lesson (1 to 6, or its name) or a term of the glossary.
function readAddress() {
  const asked = hashValues();
  const term = asked.get("term");
  const lesson = asked.get("lesson");
  const at = lessonsHere().findIndex((each, index) =>
    each.name === lesson || String(index + 1) === lesson);
  if (term && Object.hasOwn(GLOSSARY[language()], term)) {
    choose("glossary", term);
    setTimeout(() => {
      const word = document.getElementById("ssd-term-" + term);
      word.focus({ preventScroll: true });
      word.scrollIntoView({ block: "center" });
    }, 200); // the tab has to be shown first
  } else if (at >= 0) {
    choose(at);
  }
}

frame.append(list, article);
draw();
readAddress();
window.addEventListener("hashchange", readAddress);
onLanguage(draw);
