import { create } from "../dom.ts";
import { AnswerError, type Asked, type Model } from "./api.ts";
import { Asking, area, type Outcome } from "./asking.ts";
import { Settings } from "./settings.ts";
import { type Hints, TokenText } from "./tokens.ts";
import { alternatives, follow } from "./writing.ts";

// Models that write: on from a text, in answer to a source, or in a conversation.

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: string;
}

const streaming = { stream: true, stream_options: { include_usage: true } };

export function writer(model: Model, hints: Hints): Asking {
  const task = model.task === "translate" ? "translate" : "lm";
  const settings = new Settings(task);
  const output = create("div", { class: "answer" });
  keepEnd(output);
  const prompt = area(
    task === "lm"
      ? { name: "prompt", label: "Text to go on with", placeholder: "Empty: a text from its beginning", rows: 4 }
      : { name: "prompt", label: "Source", placeholder: "What is to be translated", rows: 3 },
  );
  const asked = (): Asked => {
    const body = { model: model.id, prompt: prompt.box.value, ...settings.values };
    return { path: "/v1/completions", body: { ...body, ...(!settings.followsBeams && { logprobs: alternatives }), ...streaming } };
  };
  const ask = async (question: Asked, signal: AbortSignal): Promise<Outcome> => {
    const text = new TokenText(hints, "What was written, token by token");
    const given = task === "lm" ? [create("span", { class: "given" }, prompt.box.value)] : [];
    output.replaceChildren(legend(), create("div", { class: "written" }, ...given, text.element));
    output.classList.remove("broken");
    return follow(question, text, signal).catch((error) => {
      // Nothing was written: the sentence alone says so. Or a part was, which must not look like all of it.
      if (text.text === "") output.replaceChildren();
      else output.classList.add("broken");
      throw error;
    });
  };
  if (task === "translate" || model.chat === "none" || model.chat === undefined)
    return new Asking({
      verb: task === "lm" ? "Write" : "Translate",
      inputs: [prompt.element],
      outputs: [output],
      settings: settings.element,
      asked,
      ask,
    });

  const chat = conversation(model, settings, hints);
  const modes = ["text", "chat"] as const;
  const buttons = modes.map((mode) => create("button", { type: "button", "data-mode": mode, "aria-pressed": "false" }, mode));
  const toggle = create("div", { class: "modes", role: "group", "aria-label": "Text or conversation" }, ...buttons);
  const settingsPart = create("div", { class: "side" }, settings.element, chat.system);
  let mode: (typeof modes)[number] = model.chat === "own" ? "chat" : "text";
  const show = () => {
    for (const button of buttons) button.setAttribute("aria-pressed", `${button.dataset.mode === mode}`);
    for (const element of [prompt.element, output]) element.hidden = mode !== "text";
    for (const element of [chat.turns, chat.message, chat.system, chat.again]) element.hidden = mode !== "chat";
  };
  const asking = new Asking({
    verb: "Write",
    inputs: [toggle, prompt.element, chat.turns, chat.message],
    outputs: [output],
    settings: settingsPart,
    extras: [chat.again],
    asked: () => (mode === "text" ? asked() : chat.asked()),
    ask: (question, signal) => (mode === "text" ? ask(question, signal) : chat.ask(question, signal)),
  });
  for (const button of buttons)
    button.addEventListener("click", () => {
      if (asking.isRunning) return;
      mode = button.dataset.mode === "chat" ? "chat" : "text";
      show();
      asking.element.dispatchEvent(new Event("change"));
    });
  show();
  return asking;
}

function conversation(model: Model, settings: Settings, hints: Hints) {
  const turns = create("div", { class: "turns", role: "log", "aria-label": "The conversation", "aria-live": "off" });
  keepEnd(turns);
  const message = area({ name: "messages", label: "Your message", rows: 3 });
  const system = area({ name: "system", label: "System", placeholder: "Who answers, and how", rows: 3 });
  const again = create("button", { type: "button", class: "quiet" }, "new conversation");
  const empty =
    model.chat === "plain"
      ? "This model was not made for conversations: it reads them as a plain text and writes on."
      : "The conversation begins with your first message.";
  let said: Turn[] = [];
  const clear = () => {
    said = [];
    turns.replaceChildren(create("p", { class: "soft" }, empty));
  };
  clear();
  again.addEventListener("click", clear);

  const turn = (role: Turn["role"], content: HTMLElement | string): HTMLElement => {
    const words = role === "user" ? "you" : model.id;
    return create("div", { class: `turn ${role}` }, create("h3", {}, words), create("div", { class: "written" }, content));
  };
  const asked = (): Asked => {
    const before = system.box.value === "" ? [] : [{ role: "system", content: system.box.value }];
    const spoken = said.map(({ role, content }) => ({ role, content }));
    const messages = [...before, ...spoken, { role: "user", content: message.box.value }];
    const logprobs = { logprobs: true, top_logprobs: alternatives };
    return { path: "/v1/chat/completions", body: { model: model.id, messages, ...settings.values, ...logprobs, ...streaming } };
  };
  const ask = async (question: Asked, signal: AbortSignal): Promise<Outcome> => {
    const content = message.box.value;
    if (content === "") throw new AnswerError("write a message first", "messages");
    const text = new TokenText(hints, "The answer, token by token");
    const [own, answer] = [turn("user", create("span", { dir: "auto" }, content)), turn("assistant", text.element)];
    if (said.length === 0) turns.replaceChildren();
    turns.append(own, answer);
    message.box.value = "";
    turns.scrollTop = turns.scrollHeight;
    try {
      const outcome = await follow(question, text, signal);
      if (signal.aborted && text.text === "") throw new AnswerError("stopped before anything was written");
      said.push({ role: "user", content }, { role: "assistant", content: text.text });
      return outcome;
    } catch (error) {
      // What has no whole answer is no part of the conversation; the message may be sent again.
      if (message.box.value === "") message.box.value = content;
      if (text.text === "") for (const element of [own, answer]) element.remove();
      else for (const element of [own, answer]) element.classList.add("broken");
      if (turns.childElementCount === 0) clear();
      throw error;
    }
  };
  return { turns, message: message.element, system: system.element, again, asked, ask };
}

/** What grows stays at its end, unless somebody scrolled back. */
function keepEnd(element: HTMLElement): void {
  let atEnd = true;
  element.addEventListener("scroll", () => {
    atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
  });
  element.addEventListener("grown", () => {
    if (atEnd && element.scrollHeight > element.clientHeight) element.scrollTop = element.scrollHeight;
  });
}

/** What the lines under tokens mean. */
function legend(): HTMLElement {
  const samples = ["100 %", "10 %", "1 %", "0.1 %"].map((words, i) => {
    const sample = create("span", { class: "token" }, words);
    sample.style.setProperty("--doubt", `${i / 3}`);
    return sample;
  });
  return create("p", { class: "legend", "aria-hidden": "true" }, "how likely a token was ", ...samples);
}
