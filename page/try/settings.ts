import { create } from "../dom.ts";
import { AnswerError } from "./api.ts";

// How it is to be written. A field that is left empty is left out of the request.

interface Setting {
  readonly name: string;
  readonly label: string;
  /** What it does, in a few words. */
  readonly words: string;
  readonly value?: string;
  /** What holds where it is left out. */
  readonly usual: string;
  readonly least: number;
  readonly most?: number;
  readonly step: number;
}

const tokens: Setting = {
  name: "max_tokens",
  label: "max tokens",
  words: "where to stop at the latest",
  value: "200",
  usual: "usual",
  least: 1,
  step: 1,
};
const temperature: Setting = {
  name: "temperature",
  label: "temperature",
  words: "0 always the likeliest, above 1 wilder",
  value: "0.8",
  usual: "1",
  least: 0,
  most: 2,
  step: 0.1,
};
const drawing: readonly Setting[] = [
  {
    name: "top_p",
    label: "top p",
    words: "only the likeliest that together have this share",
    usual: "1",
    least: 0,
    most: 1,
    step: 0.05,
  },
  { name: "top_k", label: "top k", words: "only so many of the likeliest", usual: "all", least: 0, step: 1 },
  { name: "seed", label: "seed", words: "the same one writes the same text", usual: "any", least: 0, step: 1 },
];
const beams: Setting = {
  name: "beams",
  label: "beams",
  words: "followed at once, for the likeliest whole",
  usual: "1",
  least: 1,
  most: 32,
  step: 1,
};

/** Those that beams leave no room for: nothing is drawn then. */
const drawn = [temperature, ...drawing].map(({ name }) => name);

export class Settings {
  readonly element: HTMLFieldSetElement;
  readonly #inputs: readonly HTMLInputElement[];

  constructor(task: "lm" | "translate") {
    const fields =
      task === "lm" ? [tokens, temperature, ...drawing] : [{ ...tokens, value: "100" }, beams, { ...temperature, value: "0" }, ...drawing];
    const rows = fields.map(fieldOf);
    this.#inputs = rows.map(({ input }) => input);
    this.element = create("fieldset", { class: "settings" }, create("legend", {}, "How to write"), ...rows.map(({ element }) => element));
    this.element.addEventListener("input", () => this.#grey());
  }

  /** The fields of a request. */
  get values(): Record<string, number> {
    const used = this.#inputs.filter(({ disabled }) => !disabled);
    const bad = used.find(({ validity }) => validity.badInput);
    if (bad) throw new AnswerError(`${bad.name}: a number is wanted`, bad.name);
    return Object.fromEntries(used.filter(({ value }) => value !== "").map(({ name, valueAsNumber }) => [name, valueAsNumber]));
  }

  get followsBeams(): boolean {
    return this.#inputs.some(({ name, valueAsNumber }) => name === "beams" && valueAsNumber > 1);
  }

  #grey(): void {
    for (const input of this.#inputs) if (drawn.includes(input.name)) input.disabled = this.followsBeams;
  }
}

function fieldOf({ name, label, words, value = "", usual, least, most, step }: Setting): {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
} {
  const limits = { min: `${least}`, step: `${step}`, ...(most !== undefined && { max: `${most}` }) };
  const input = create("input", { type: "number", name, inputmode: "decimal", placeholder: usual, autocomplete: "off", value, ...limits });
  return { element: create("label", {}, create("span", {}, label), input, create("small", {}, words)), input };
}
