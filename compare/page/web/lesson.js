// One lesson, drawn block by block; it stops at a question until that is answered.
// `answers` keeps what was answered, by question, beyond a change of lesson or language.
const answers = new Map();

function drawLesson(lesson, root, openTerm) {
  const blocks = lesson.blocks.slice();
  let asked = 0;

  function goOn() {
    while (blocks.length) {
      const block = blocks.shift();
      if (block.kind === "reveal" && !answers.has(lesson.name + asked)) return;
      if (block.kind === "question") {
        asked += 1;
        root.append(question(block, lesson.name + asked));
      } else if (block.kind !== "reveal") {
        root.append(drawBlock(block));
      }
    }
  }

  function drawBlock(block) {
    switch (block.kind) {
      case "figure": return figures[block.text]();
      case "heading": return make("h3", "", block.text);
      case "formula": return make("p", "ssd-formula", block.text);
      case "items":
        return fill(make("ul"), ...block.items.map((item) => fill(make("li"), ...inline(item, openTerm))));
      case "short": return fill(make("p", "ssd-short"),
        make("strong", "", say("short")), ...inline(block.text, openTerm));
      case "try": return tryButton(block);
      case "look": return fill(make("p", "ssd-look"),
        make("strong", "", say("look")), ...inline(" " + block.text, openTerm));
      default: return fill(make("p"), ...inline(block.text, openTerm));
    }
  }

  function question(block, key) {
    const box = make("fieldset", "ssd-question");
    const reply = make("p", "ssd-reply");
    reply.setAttribute("role", "status");
    const buttons = block.choices.map((choice, at) => {
      const button = make("button", "ssd-choice");
      button.type = "button";
      button.append(make("span", "ssd-mark"), fill(make("span"), ...inline(choice.text)));
      button.addEventListener("click", () => { mark(at); settle(choice.is_right ? at : null); });
      return button;
    });
    const show = make("button", "ssd-show", say("show"));
    show.type = "button";

    function mark(chosen, isTold) {
      const choice = block.choices[chosen];
      buttons.forEach((button, at) => {
        const sign = at !== chosen ? "" : choice.is_right ? "✓" : "✗";
        button.setAttribute("aria-pressed", String(at === chosen));
        button.firstChild.textContent = sign;
      });
      const said = choice.reply.replace(/^(Right: |Right\. |对：|对。)/, "");
      fill(reply, make("strong", "", say(isTold ? "told" : choice.is_right ? "right" : "wrong") + " "),
        ...inline(said[0].toUpperCase() + said.slice(1)));
    }

    function settle(chosen) {
      if (chosen === null || answers.has(key)) return;
      answers.set(key, chosen);
      show.hidden = true;
      goOn();
    }

    const right = block.choices.findIndex((choice) => choice.is_right);
    show.addEventListener("click", () => {
      mark(right, true);
      settle(right);
      buttons[right].focus();
    });
    if (answers.has(key)) {
      mark(answers.get(key));
      show.hidden = true;
    }
    box.append(make("legend", "", say("question")), fill(make("p"), ...inline(block.text, openTerm)),
      ...buttons, show, reply);
    return box;
  }

  goOn();
}

// A button that sets the page's controls by the address, and goes to the tab it names.
function tryButton(block) {
  const button = make("button", "ssd-try");
  button.type = "button";
  button.append(make("span", "", block.text), make("span", "ssd-arrow", "→"));
  button.addEventListener("click", () => go(settingsOf(block)));
  return button;
}

function settingsOf(block) {
  const values = { ...TRY_DEFAULTS, ...block.settings };
  if (values.prompt in PROMPTS) values.prompt = PROMPTS[values.prompt];
  return values;
}
