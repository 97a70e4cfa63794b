import { figure } from "../../src/pictures/number.ts";
import { create, part } from "../dom.ts";
import { AnswerError, answer, base, type Health, health, type Model, models } from "./api.ts";
import type { Asking } from "./asking.ts";
import { classifier, embedder, filler, tagger } from "./tasks.ts";
import { Hints } from "./tokens.ts";
import { writer } from "./writer.ts";

// The page of the server: which models there are, what each is, and a form that fits what it does.

type State = Health["models"][number];

/** Milliseconds between two looks at a model that is being opened. */
const patience = 700;

const does: Readonly<Record<string, string>> = {
  lm: "language model",
  translate: "translation",
  classify: "classification",
  tag: "tagging",
  mlm: "masked language model",
  embed: "vectors of texts",
};

function askingOf(model: Model, hints: Hints): Asking | undefined {
  switch (model.task) {
    case "lm":
    case "translate":
      return writer(model, hints);
    case "classify":
      return classifier(model);
    case "tag":
      return tagger(model);
    case "mlm":
      return filler(model);
    case "embed":
      return embedder(model);
    default:
      return undefined;
  }
}

class Page {
  readonly #hints = new Hints();
  readonly #choice = create("select", { "aria-label": "Model", name: "model" });
  readonly #name = create("strong");
  readonly #facts = create("p", { class: "model" });
  readonly #state = create("span", { class: "state", role: "status" });
  readonly #place = create("div", { class: "place" });
  readonly #forms = new Map<string, Asking>();
  #models: readonly Model[] = [];
  #states: readonly State[] = [];
  #shown = "";

  constructor(app: HTMLElement) {
    const header = create("header", {}, create("h1", {}, "qkv"), this.#choice, this.#name, this.#facts, this.#state);
    const link = (path: string, words: string) => create("a", { href: path }, words);
    const footer = create(
      "footer",
      {},
      create(
        "span",
        {},
        link(`${base()}/openapi.json`, "reference of the API"),
        " · ",
        link(`${base()}/metrics`, "metrics"),
        " · ",
        link(`${base()}/health`, "health"),
      ),
    );
    app.replaceChildren(header, this.#place, footer, this.#hints.element);
    this.#choice.addEventListener("change", () => this.#choose(this.#choice.value));
    document.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.#forms.get(this.#shown)?.stop();
    });
    app.addEventListener("asked", () => void this.#look());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") void this.#look();
    });
    addEventListener("hashchange", () => this.#choose(named()));
  }

  async begin(): Promise<void> {
    try {
      this.#models = await models();
    } catch (error) {
      this.#place.replaceChildren(this.#sorry(error, "Try again", () => this.begin()));
      return;
    }
    this.#choice.replaceChildren(...this.#models.map(({ id }) => create("option", { value: id }, id)));
    this.#choice.hidden = this.#models.length < 2;
    this.#name.hidden = !this.#choice.hidden;
    this.#choose(named());
    await this.#look();
  }

  /** What can be asked now; looks again as long as something is on its way. */
  async #look(): Promise<void> {
    try {
      const before = this.#stateOf(this.#shown)?.status;
      this.#states = (await health()).models;
      const now = this.#stateOf(this.#shown)?.status;
      if (now === "ready" && !this.#current?.task) this.#models = await models();
      if (now !== before || this.#place.childElementCount === 0) this.#show();
      this.#describe();
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      this.#state.textContent = error.message;
      this.#state.dataset.state = "failed";
      return;
    }
    if (this.#states.some(({ status }) => status === "loading")) setTimeout(() => void this.#look(), patience);
  }

  get #current(): Model | undefined {
    return this.#models.find(({ id }) => id === this.#shown);
  }

  #stateOf(name: string): State | undefined {
    return this.#states.find((state) => state.name === name);
  }

  #choose(wanted: string): void {
    const { id } = this.#models.find((model) => model.id === wanted) ?? this.#models[0];
    if (id === this.#shown) return;
    this.#forms.get(this.#shown)?.stop();
    this.#shown = id;
    this.#choice.value = id;
    this.#name.textContent = id;
    document.title = `${id} — qkv`;
    if (this.#models.length > 1 && named() !== id) history.replaceState(null, "", `#${new URLSearchParams({ model: id })}`);
    this.#hints.hide();
    this.#describe();
    this.#show();
  }

  #describe(): void {
    const model = this.#current;
    if (!model) return;
    const { task, architecture, parameters, context, vocab } = model;
    const facts = [
      ...(task === undefined ? [] : [does[task] ?? task]),
      ...(architecture === undefined ? [] : [architecture]),
      ...(parameters === undefined ? [] : [`${figure(parameters)} parameters`]),
      ...(context === undefined ? [] : [`context ${context.toLocaleString("en")}`]),
      ...(vocab === undefined ? [] : [`${vocab.toLocaleString("en")} tokens known`]),
    ];
    this.#facts.textContent = facts.join(" · ");
    const status = this.#stateOf(model.id)?.status;
    const words = { ready: "ready", loading: "being opened …", unloaded: "opens when it is asked", failed: "failed" } as const;
    this.#state.textContent = status ? words[status] : "";
    this.#state.dataset.state = status ?? "";
  }

  #show(): void {
    const model = this.#current;
    if (!model) return;
    const form = this.#forms.get(model.id) ?? askingOf(model, this.#hints);
    if (form) {
      this.#forms.set(model.id, form);
      if (form.element.parentNode !== this.#place) this.#place.replaceChildren(form.element);
      return;
    }
    this.#place.replaceChildren(this.#closed(model));
  }

  /** A model that is not open has not said yet what it does. */
  #closed(model: Model): HTMLElement {
    const state = this.#stateOf(model.id);
    if (model.task !== undefined) return create("p", { class: "notice" }, `This page has no form for models of the task ${model.task}.`);
    if (state === undefined || state.status === "loading") return create("p", { class: "notice" }, "The model is being opened …");
    const open = async () => {
      this.#place.replaceChildren(create("p", { class: "notice" }, "The model is being opened …"));
      try {
        await answer({ path: "/tokenize", body: { model: model.id, text: "" } });
        this.#models = await models();
        this.#show();
      } catch (error) {
        this.#place.replaceChildren(this.#sorry(error, "Try again", open));
      }
      await this.#look();
    };
    if (state.status === "failed") return this.#sorry(new AnswerError(state.error ?? "the model could not be opened"), "Try again", open);
    return this.#notice("The model is not open, and what it does is known once it is.", "Open it", open);
  }

  #notice(words: string, verb: string, work: () => Promise<void>): HTMLElement {
    const button = create("button", { type: "button", class: "go" }, verb);
    button.addEventListener("click", () => void work());
    return create("div", { class: "notice" }, create("p", {}, words), button);
  }

  #sorry(error: unknown, verb: string, work: () => Promise<void>): HTMLElement {
    if (!(error instanceof AnswerError)) throw error;
    const notice = this.#notice(error.message, verb, work);
    notice.firstElementChild?.classList.add("error");
    notice.firstElementChild?.setAttribute("role", "alert");
    return notice;
  }
}

/** The model that the address names. */
const named = (): string => new URLSearchParams(location.hash.slice(1)).get("model") ?? "";

void new Page(part("app", HTMLElement)).begin();
