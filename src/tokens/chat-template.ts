import * as z from "zod";
import { DataError, FormatError } from "../base/errors.ts";
import { type ChatMessage, isAnswer } from "../text/examples.ts";
import { boundedTemplate, type Rendering } from "./bounded-jinja.ts";
import type { Tokenizer } from "./tokenizer.ts";

// A conversation as one text, by the template that comes with a model, as Python's apply_chat_template renders it.

/** A template and the special tokens that it is given, under Python's names: bos_token, eos_token … */
export const chatFormatSchema = z.strictObject({
  template: z.string(),
  tokens: z.record(z.string(), z.string()).optional(),
});

/** How conversations become text for a model. */
export type ChatFormat = z.output<typeof chatFormatSchema>;

/** How a conversation is rendered. */
export interface RenderOptions {
  /** Whether the beginning of an answer comes last. */
  readonly ask?: boolean;
  /** What `strftime_now` tells; this moment if left out. */
  readonly now?: Date;
}

const read = new WeakMap<ChatFormat, Rendering>();

/** The text of a conversation, as Python's `apply_chat_template` gives it. A template that does not end is stopped. */
export function renderChat(
  format: ChatFormat,
  messages: readonly ChatMessage[],
  { ask = false, now = new Date() }: RenderOptions = {},
): string {
  const known = read.get(format);
  const template = known ?? boundedTemplate(format.template);
  if (!known) read.set(format, template);
  return template.render({ ...format.tokens, messages, tools: null, documents: null, add_generation_prompt: ask }, now);
}

/** ChatML with the tokens that the tokenizer has: `<s>user`, a new line, the text, `</s>`. For models that come without a template. */
export function usualChat({ start, end, piece }: Tokenizer): ChatFormat | undefined {
  if (start === undefined || end === undefined) return undefined;
  return {
    template:
      "{% for message in messages %}{{ bos_token + message['role'] + '\\n' + message['content'] + eos_token + '\\n' }}{% endfor %}" +
      "{% if add_generation_prompt %}{{ bos_token + 'assistant\\n' }}{% endif %}",
    tokens: { bos_token: piece(start), eos_token: piece(end) },
  };
}

/** A plain text for models that were never taught conversations: a line for each message, `user: …`, and `assistant:` where the answer begins. */
export const plainChat: ChatFormat = {
  template:
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n' }}{% endfor %}" +
    "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}",
};

const token = z.union([z.string(), z.looseObject({ content: z.string() })]);
const tokenNames = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"] as const;
const named = z.array(z.looseObject({ name: z.string(), template: z.string() }));
const configSchema = z.looseObject({
  chat_template: z.union([z.string(), named]).nullish(),
  ...Object.fromEntries(tokenNames.map((name) => [name, token.nullish().catch(undefined)])),
});

/**
 * The format of a folder of Hugging Face: the template is `chat_template` of tokenizer_config.json (of several, the one called default), or
 * the file chat_template.jinja, which counts before it. Nothing, where there is none.
 */
export function chatFormatOf(tokenizerConfig: unknown, file?: string, where = "tokenizer_config.json"): ChatFormat | undefined {
  const result = configSchema.safeParse(tokenizerConfig ?? {});
  if (!result.success) {
    const [{ path, message }] = result.error.issues;
    throw new FormatError(`${where}: at ${path.join(".") || "the top"}: ${message}`);
  }
  const config: Readonly<Record<string, unknown>> = result.data;
  const template = file ?? templateOf(result.data.chat_template ?? undefined, where);
  if (template === undefined) return undefined;
  const tokens = tokenNames.flatMap((name) => {
    const found = token.safeParse(config[name]);
    return found.success ? [[name, typeof found.data === "string" ? found.data : found.data.content] as const] : [];
  });
  return { template, tokens: Object.fromEntries(tokens) };
}

function templateOf(given: string | z.output<typeof named> | undefined, where: string): string | undefined {
  if (given === undefined || typeof given === "string") return given;
  if (given.length === 0) return undefined;
  const found = given.find(({ name }) => name === "default");
  if (found) return found.template;
  throw new FormatError(`${where}: at chat_template: none of ${given.map(({ name }) => `"${name}"`).join(", ")} is called "default"`);
}

/** A stretch of a rendered conversation: an answer with what ends it, or what stands before one. */
export interface Stretch {
  readonly text: string;
  readonly answer: boolean;
}

/**
 * A conversation in stretches, found by rendering it up to and including each answer. Where a template renders earlier turns differently
 * once others follow (it leaves thoughts out, say), there is one list for each answer, as the model would see it. `from`: answers before
 * this message are only read.
 */
export function chatStretches(format: ChatFormat, messages: readonly ChatMessage[], from = 0, now = new Date()): Stretch[][] {
  const answers = messages.flatMap((message, i) => (i >= from && isAnswer(message) ? [i] : []));
  const turns = answers.map((i) => turnOf(format, messages.slice(0, i + 1), now));
  const together = turns.every(
    ({ whole, begin }, i) => i === 0 || (whole.startsWith(turns[i - 1].whole) && begin >= turns[i - 1].whole.length),
  );
  if (!together) return turns.map((turn) => stretchesOf([turn]));
  return turns.length === 0 ? [] : [stretchesOf(turns)];
}

interface Turn {
  /** Everything up to the end of the answer. */
  readonly whole: string;
  /** Where the answer begins. */
  readonly begin: number;
}

function turnOf(format: ChatFormat, messages: readonly ChatMessage[], now: Date): Turn {
  const whole = renderChat(format, messages, { now });
  const before = renderChat(format, messages.slice(0, -1), { now, ask: true });
  const plain = renderChat(format, messages.slice(0, -1), { now });
  const begin = shared(before, whole);
  if (begin < before.length && !whole.startsWith(plain))
    throw new DataError(
      "the chat template renders what is before an answer differently once there is the answer, so nobody can tell what to learn",
    );
  if (begin === whole.length) throw new DataError("the chat template leaves the answer out, so there is nothing to learn");
  return { whole, begin };
}

/** How many characters two texts begin with together. */
function shared(a: string, b: string): number {
  if (b.startsWith(a)) return a.length;
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

function stretchesOf(turns: readonly Turn[]): Stretch[] {
  let end = 0;
  return turns.flatMap(({ whole, begin }) => {
    const parts = [
      { text: whole.slice(end, begin), answer: false },
      { text: whole.slice(begin), answer: true },
    ];
    end = whole.length;
    return parts.filter(({ text }) => text !== "");
  });
}
