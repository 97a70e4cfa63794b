import { create } from "../dom.ts";
import { AnswerError, type Asked } from "./api.ts";
import { curlPart } from "./curl.ts";

// The frame of every question: what is asked, a button that becomes Stop, what is to be said about the answer, and how curl asks the same.

export interface Question {
  /** What the button says. */
  readonly verb: string;
  /** Above the button, below it and beside it. */
  readonly inputs: readonly HTMLElement[];
  readonly outputs: readonly HTMLElement[];
  readonly settings?: HTMLElement;
  /** Beside the button. */
  readonly extras?: readonly HTMLElement[];
  /** The request as it would be sent now; an error where a field has no meaning. */
  asked(): Asked;
  /** Asks, shows the answer, and says what is to be said of it. Stopped, it has shown what there was. */
  ask(asked: Asked, signal: AbortSignal): Promise<Outcome>;
}

export interface Outcome {
  /** A line of facts, and what the server warned of. */
  readonly facts: readonly string[];
  readonly warnings?: readonly string[] | undefined;
  /** The answer, for those who listen. */
  readonly spoken: string;
}

export class Asking {
  readonly element = create("form", { class: "asking" });
  readonly #question: Question;
  readonly #button: HTMLButtonElement;
  readonly #facts = create("p", { class: "facts", "aria-live": "off" });
  readonly #spoken = create("p", { class: "unseen", role: "status" });
  readonly #error = create("p", { class: "error", role: "alert" });
  readonly #warnings = create("ul", { class: "warnings" });
  #running: AbortController | undefined;

  constructor(question: Question) {
    this.#question = question;
    this.#button = create("button", { class: "go", type: "submit" }, question.verb);
    this.element.noValidate = true; // the server says what is wrong, in a sentence
    this.#error.hidden = true;
    this.#warnings.hidden = true;
    const keys = create("span", { class: "keys" }, create("kbd", {}, "Ctrl"), " ", create("kbd", {}, "Enter"));
    const leave = create("span", { class: "leave" }, create("kbd", {}, "Esc"));
    const actions = create("div", { class: "actions" }, this.#button, keys, leave, ...(question.extras ?? []), this.#facts);
    const curl = curlPart(() => question.asked());
    const notes = [this.#error, this.#warnings];
    const work = create("div", { class: "work" }, ...question.inputs, actions, ...notes, ...question.outputs, curl.element, this.#spoken);
    this.element.append(work, ...(question.settings ? [question.settings] : []));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#running) this.stop();
      else void this.#run();
    });
    for (const event of ["input", "change", "asked"]) this.element.addEventListener(event, () => curl.refresh());
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
      event.preventDefault();
      if (!this.#running) void this.#run();
    });
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  stop(): void {
    this.#running?.abort();
  }

  async #run(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    this.#say({ facts: [], spoken: "" });
    try {
      const asked = this.#question.asked();
      this.#button.textContent = "Stop";
      this.#facts.textContent = "…";
      this.element.classList.add("running");
      this.#say(await this.#question.ask(asked, running.signal));
    } catch (error) {
      this.#fail(error, running.signal.aborted);
    } finally {
      this.#running = undefined;
      this.element.classList.remove("running");
      this.#button.textContent = this.#question.verb;
      this.element.dispatchEvent(new Event("asked", { bubbles: true }));
    }
  }

  #say({ facts, warnings = [], spoken }: Outcome): void {
    this.#facts.textContent = facts.join(" · ");
    this.#spoken.textContent = spoken;
    this.#error.hidden = true;
    this.#warnings.replaceChildren(...warnings.map((words) => create("li", {}, words)));
    this.#warnings.hidden = warnings.length === 0;
    for (const input of this.#fields()) input.removeAttribute("aria-invalid");
  }

  #fail(error: unknown, stopped: boolean): void {
    this.#facts.textContent = "";
    if (stopped) {
      this.#facts.textContent = "stopped";
      return;
    }
    if (!(error instanceof AnswerError)) throw error; // a mistake of this page, for its console
    this.#error.textContent = error.message;
    this.#error.hidden = false;
    this.#fields()
      .find(({ name }) => name === error.field)
      ?.setAttribute("aria-invalid", "true");
  }

  #fields(): (HTMLInputElement | HTMLTextAreaElement)[] {
    return [...this.element.elements].filter((one) => one instanceof HTMLInputElement || one instanceof HTMLTextAreaElement);
  }
}

export interface AreaOptions {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly placeholder?: string;
  readonly rows?: number;
}

/** A box for a text, with its name above it. */
export function area({ name, label, value = "", placeholder = "", rows = 4 }: AreaOptions): {
  readonly element: HTMLElement;
  readonly box: HTMLTextAreaElement;
} {
  const box = create("textarea", { name, rows: `${rows}`, placeholder, spellcheck: "false", autocomplete: "off", dir: "auto" });
  box.value = value;
  return { element: create("label", { class: "area" }, create("span", {}, label), box), box };
}
