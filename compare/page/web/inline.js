// Words with marks in them: [[term]], [[term|words]], **strong**, *weak*, `code`. Text stays text.
const MARKS = /\[\[([a-z_]+)(?:\|([^\]]+))?\]\]|\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`/g;

// The text as nodes. `openTerm(key, button)` is called when a term is pressed.
function inline(text, openTerm) {
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(MARKS)) {
    const [whole, term, words, strong, weak, code] = found;
    nodes.push(document.createTextNode(text.slice(last, found.index)));
    last = found.index + whole.length;
    if (term) nodes.push(termButton(term, words, openTerm));
    else if (code) nodes.push(make("code", "", code));
    else nodes.push(fill(make(strong ? "strong" : "em"), ...inline(strong || weak, openTerm)));
  }
  nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

function termButton(term, words, openTerm) {
  const known = GLOSSARY[language()][term];
  const button = make("button", "ssd-term", words || known.name.toLowerCase());
  button.type = "button";
  button.dataset.term = term;
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => openTerm(term, button));
  return button;
}
