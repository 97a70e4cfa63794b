import { FormatError } from "../base/errors.ts";
import { quoted } from "../text/quote.ts";
import type { JsonObject } from "./family.ts";

/** What says how a model was made, trained or is used from Python, and changes nothing that it computes. */
const harmless: ReadonlySet<string> = new Set([
  ...[
    "architectures",
    "model_type",
    "transformers_version",
    "torch_dtype",
    "dtype",
    "use_cache",
    "initializer_range",
    "initializer_factor",
  ],
  ...["bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "forced_bos_token_id"],
  ...["forced_eos_token_id", "tokenizer_class", "task_specific_params", "id2label", "label2id", "num_labels", "problem_type"],
  ...["finetuning_task", "output_attentions", "output_hidden_states", "output_past", "return_dict", "return_dict_in_generate"],
  ...["gradient_checkpointing", "pretraining_tp", "prefix", "attn_implementation", "is_encoder_decoder", "is_decoder"],
  ...["attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop", "resid_dropout", "hidden_dropout", "dropout", "activation_dropout"],
  ...["classifier_dropout", "layerdrop", "init_std", "summary_type", "summary_use_proj", "summary_activation"],
  ...["summary_first_dropout", "summary_proj_to_labels", "chunk_size_feed_forward", "torchscript", "tie_encoder_decoder"],
  // written by older releases, and for generation only
  ...["do_sample", "early_stopping", "max_length", "min_length", "max_new_tokens", "num_beams", "num_beam_groups", "num_return_sequences"],
  ...["diversity_penalty", "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "repetition_penalty", "temperature"],
  ...["top_k", "top_p", "typical_p", "bad_words_ids", "begin_suppress_tokens", "suppress_tokens", "exponential_decay_length_penalty"],
  ...["remove_invalid_values", "output_scores"],
]);

const isHarmless = (key: string): boolean => harmless.has(key) || /^_|^transformers|^unsloth|^is_llama_config$/.test(key);

/** null, false and nothing at all switch off what they name. */
const isOff = (value: unknown): boolean =>
  value === null || value === false || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/**
 * A config.json from outside. Families ask it for what they understand; whatever else is in the file, and whatever has a value that
 * they cannot follow, is a problem, and `finish` tells all of them at once.
 */
export class ConfigReader {
  readonly #json: JsonObject;
  readonly #place: string;
  readonly #asked = new Set<string>();
  readonly #problems: string[];
  readonly #parts: ConfigReader[] = [];

  constructor(json: JsonObject, place = "", problems: string[] = []) {
    this.#json = json;
    this.#place = place;
    this.#problems = problems;
  }

  /** The value of the first of these keys that is there. null counts as nothing. */
  value(...keys: readonly string[]): unknown {
    for (const key of keys) this.#asked.add(key);
    const key = keys.find((name) => Object.hasOwn(this.#json, name) && this.#json[name] !== null);
    return key === undefined ? undefined : this.#json[key];
  }

  whole(keys: string | readonly string[], usual?: number): number {
    const value = this.#given(keys, usual);
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    this.#wrong(keys, value, "a whole number above 0");
    return 1; // never used: `finish` throws
  }

  /** The same, or undefined where there is none. */
  wholeOrNone(...keys: readonly string[]): number | undefined {
    return this.value(...keys) === undefined ? undefined : this.whole(keys);
  }

  number(keys: string | readonly string[], usual?: number): number {
    const value = this.#given(keys, usual);
    if (typeof value === "number" && Number.isFinite(value)) return value;
    this.#wrong(keys, value, "a number");
    return 1;
  }

  numberOrNone(...keys: readonly string[]): number | undefined {
    return this.value(...keys) === undefined ? undefined : this.number(keys);
  }

  boolean(keys: string | readonly string[], usual: boolean): boolean {
    const value = this.#given(keys, usual);
    if (typeof value === "boolean") return value;
    this.#wrong(keys, value, "true or false");
    return usual;
  }

  /** A name of theirs as one of ours. */
  choice<Ours>(keys: string | readonly string[], names: Readonly<Record<string, Ours>>, usual?: string): Ours {
    const value = this.#given(keys, usual);
    if (typeof value === "string" && Object.hasOwn(names, value)) return names[value];
    this.#wrong(keys, value, Object.keys(names).join(" or "));
    return Object.values(names)[0];
  }

  /** Something that must have one value, because nothing else can be computed here; left out, it has it. */
  must(key: string, wanted: string | number | boolean): void {
    const value = this.value(key);
    if (value !== undefined && value !== wanted) this.#wrong(key, value, JSON.stringify(wanted));
  }

  /** An object inside this one, with the same way of asking. */
  part(...keys: readonly string[]): ConfigReader | undefined {
    const value = this.value(...keys);
    if (value === undefined) return undefined;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#wrong(keys, value, "an object");
      return undefined;
    }
    const key = keys.find((name) => this.#json[name] === value) ?? keys[0];
    const part = new ConfigReader(value as JsonObject, `${this.#place}${key}.`, this.#problems);
    this.#parts.push(part);
    return part;
  }

  /** Something else that cannot be followed. */
  problem(sentence: string): void {
    if (!this.#problems.includes(sentence)) this.#problems.push(sentence);
  }

  /** Tells everything that was not understood, or nothing. */
  finish(file: string, family: string): void {
    this.#unasked();
    if (this.#problems.length === 0) return;
    const many = this.#problems.length > 1 ? `${this.#problems.length} settings are` : "one setting is";
    throw new FormatError(`${many} not understood for ${family}: ${this.#problems.slice(0, 40).join("; ")}`, { file });
  }

  #unasked(): void {
    for (const [key, value] of Object.entries(this.#json)) {
      if (this.#asked.has(key) || isOff(value) || (this.#place === "" && isHarmless(key))) continue;
      this.problem(`${this.#named(key)}: ${shortened(value)} is not known`);
    }
    for (const part of this.#parts) part.#unasked();
  }

  #given(keys: string | readonly string[], usual: unknown): unknown {
    return this.value(...[keys].flat()) ?? usual;
  }

  #wrong(keys: string | readonly string[], value: unknown, wanted: string): void {
    const [first, ...others] = [keys].flat();
    const key = [first, ...others].find((name) => Object.hasOwn(this.#json, name)) ?? first;
    this.problem(`${this.#named(key)} is ${value === undefined ? "missing" : shortened(value)}, and ${wanted} is wanted`);
  }

  #named(key: string): string {
    return `${this.#place}${key.length > 60 ? `${key.slice(0, 60)}…` : key}`;
  }
}

function shortened(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
