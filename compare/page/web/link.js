// The link: what the controls say, the tab, the lesson and what is hidden, all in the address's
// hash. Nothing of it reaches the server. `CONTROLS`: the controls in the order of the page.
const linkTitle = make("label", "ssd-link-title");
const linkText = make("input", "ssd-link-text");
const copied = make("span", "ssd-note");
const note = make("p", "ssd-note");
const copy = button("ssd-copy", "", copyLink);
const row = make("div", "ssd-link-row");
let wrong = [], hidden = "";

linkText.type = "text";
linkText.readOnly = true;
linkText.id = "ssd-link-text";
linkTitle.htmlFor = linkText.id;
copied.setAttribute("role", "status");
row.append(linkTitle, linkText, copy, copied);
frame.append(row, note);

// The value that a text of the hash stands for; undefined where it stands for none.
function parse(control, text) {
  switch (control.kind) {
    case "number": {
      const value = Number(text);
      const isGood = text.trim() !== "" && Number.isFinite(value) &&
        value >= control.minimum && value <= control.maximum;
      return isGood ? value : undefined;
    }
    case "choice": return control.choices.includes(text) ? text : undefined;
    case "list": {
      const values = text.split(",").filter(Boolean);
      return values.length && values.every((each) => control.choices.includes(each))
        ? values : undefined;
    }
    case "flag": return { 0: false, 1: true }[text];
    default: return text;
  }
}

function write(control, value) {
  if (control.kind === "list") return value.join(",");
  if (control.kind === "flag") return value ? "1" : "0";
  return String(value);
}

function isDefault(control, value) {
  return JSON.stringify(value) === JSON.stringify(control.value) || value === null;
}

// The controls' values under the address; `now` are their present ones.
function wanted(now) {
  const asked = hashValues();
  wrong = [];
  const values = CONTROLS.map((control, at) => {
    if (!asked.has(control.name)) return now[at];
    const value = parse(control, asked.get(control.name));
    if (value === undefined) wrong.push(control.name);
    return value === undefined ? now[at] : value;
  });
  const runs = asked.get("run") === "1" && !wrong.length;
  setAddress({ run: null });
  if (runs) setTimeout(() => document.querySelector("#ssd-run").click(), 400);
  show();
  return values;
}

function changed(now) {
  const changes = {};
  CONTROLS.forEach((control, at) => {
    changes[control.name] = isDefault(control, now[at]) ? null : write(control, now[at]);
  });
  setAddress(changes);
}

// Open a tab. While the page is being built its button may not be there or not listen yet.
function turnTo(name, tries) {
  const tab = document.getElementById("ssd-tab-" + name + "-button");
  if (tab && tab.getAttribute("aria-selected") === "true") return;
  if (tab) tab.click();
  if (tries > 0) setTimeout(() => turnTo(name, tries - 1), 100);
}

// Take up what the address asks for.
function takeUp() {
  const asked = hashValues();
  hidden = asked.has("hide") ? asked.get("hide") : hidden; // a lesson's own link must not undo it
  document.documentElement.dataset.hide = hidden.split(",").join(" ");
  if (hidden && !asked.has("hide")) setAddress({ hide: hidden });
  if (asked.has("tab")) turnTo(asked.get("tab"), 50);
  if (CONTROLS.some((control) => asked.has(control.name)) || asked.has("run")) {
    trigger("apply", {});
  }
  show();
}

async function copyLink() {
  linkText.select();
  try {
    await navigator.clipboard.writeText(linkText.value);
    copied.textContent = say("copied");
  } catch {
    copied.textContent = say("copy_by_hand"); // no clipboard outside https and localhost
  }
}

function show() {
  linkTitle.textContent = say("link");
  copy.textContent = say("copy");
  linkText.value = location.href;
  note.textContent = wrong.length ? say("link_wrong", { names: wrong.join(", ") }) : "";
}

function turned(tab) {
  setAddress({ tab: tab === "race" ? null : tab });
}

lab.link = { wanted, changed, turned };
window.addEventListener("ssd-address", show);
window.addEventListener("hashchange", takeUp);
onLanguage(() => {
  copied.textContent = "";
  show();
});
takeUp();
