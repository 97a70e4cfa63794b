import { DataError, FormatError } from "../base/errors.ts";
import { type Sentence, sentence, setting } from "../base/sentence.ts";
import type {
  Classified,
  Completed,
  Conversation,
  Example,
  ExampleTask,
  Labelling,
  Origin,
  Pair,
  SeveralLabelled,
  Tagged,
} from "../text/examples.ts";
import { around, begun, cutAround, frameOf } from "../tokens/around.ts";
import { type ChatFormat, chatStretches, type Stretch } from "../tokens/chat-template.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { ignored } from "./batch.ts";
import {
  type AnsweredIds,
  answeredLayout,
  type LabelledIds,
  type Layout,
  labelledLayout,
  type PairIds,
  pairLayout,
  type SeveralIds,
  severalLayout,
  type TaggedIds,
  taggedLayout,
} from "./examples.ts";

// Examples as ids, at their full length; `cut` comes later, when the context is known.

/** Where an example was read; nowhere, if it was made by hand. */
const place = ({ file, line, at }: Origin): Origin => ({ file, line, ...(at !== undefined && { at }) });

function labelIndex(labels: readonly string[]): (label: string, origin: Origin) => number {
  const indices = new Map(labels.map((label, i) => [label, i]));
  return (label, origin) => {
    const found = indices.get(label);
    if (found !== undefined) return found;
    const some = labels.length > 8 ? `${labels.slice(0, 8).join(", ")}, …` : labels.join(", ");
    throw new DataError(
      `the label "${label}" is not one that the model knows (${some}); correct it, or train with examples of it`,
      place(origin),
    );
  };
}

export function encodeClassified(examples: readonly Classified[], tokenizer: Tokenizer, labels: readonly string[]): LabelledIds[] {
  const indexOf = labelIndex(labels);
  return examples.map((example) => ({ ids: readIds(example, tokenizer), label: indexOf(example.label, example) }));
}

const readIds = (example: Classified | SeveralLabelled, tokenizer: Tokenizer): Int32Array =>
  around(nonEmpty(tokenizer.encode(example.text), example), tokenizer);

export function encodeSeveral(examples: readonly SeveralLabelled[], tokenizer: Tokenizer, labels: readonly string[]): SeveralIds[] {
  const indexOf = labelIndex(labels);
  return examples.map((example) => {
    const there = new Uint8Array(labels.length);
    for (const label of example.labels) there[indexOf(label, example)] = 1;
    return { ids: readIds(example, tokenizer), there };
  });
}

/** A text of which no token is left (a space, say, for a word tokenizer) would have nothing to look at. */
function nonEmpty(ids: Int32Array, origin: Origin): Int32Array {
  if (ids.length === 0)
    throw new DataError(
      sentence`the tokenizer finds no token in this text; remove the line, or use ${setting("tokenizer", "char")}`,
      place(origin),
    );
  return ids;
}

/**
 * What a tag belongs to: a token of a char or byte tokenizer, and a word between spaces of any other. A word of several tokens carries its
 * tag on the first.
 */
export function tagUnits(text: string, tokenizer: Tokenizer): Int32Array[] {
  // What a normaliser makes of a character may be several, or a part of one: each is read by itself, so that tags stay with theirs.
  if (tokenizer.kind === "char" && tokenizer.normalised) return Array.from(text, (character) => tokenizer.encode(character));
  if (tokenizer.kind === "char" || tokenizer.kind === "byte") return Array.from(tokenizer.encode(text), (id) => Int32Array.of(id));
  return wordsOf(text).map((word, i) => tokenizer.encode(i === 0 ? word : ` ${word}`));
}

export const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

export function encodeTagged(examples: readonly Tagged[], tokenizer: Tokenizer, labels: readonly string[]): TaggedIds[] {
  const indexOf = labelIndex(labels);
  return examples.map((example) => {
    const units = tagUnits(example.text, tokenizer);
    if (units.length !== example.tags.length) throw new DataError(mismatch(example, units.length, tokenizer), place(example));
    const ids = nonEmpty(concatenated(units), example);
    const tags = new Int32Array(ids.length).fill(ignored);
    let at = 0;
    for (const [i, unit] of units.entries()) {
      if (unit.length > 0) tags[at] = indexOf(example.tags[i], example);
      at += unit.length;
    }
    return { ids: around(ids, tokenizer), tags: around(tags, tokenizer, ignored) };
  });
}

function mismatch({ tags, text }: Tagged, units: number, { kind }: Tokenizer): Sentence {
  const what = kind === "char" ? "characters" : kind === "byte" ? "bytes" : "words";
  const characters = [...text].length;
  const ofCharacters = what === "words" && characters === tags.length;
  const cure = ofCharacters ? sentence`; one tag for each character wants ${setting("tokenizer", "char")}` : "";
  return sentence`${tags.length} tags for ${units} ${what}; every one needs its tag${cure}`;
}

function concatenated(parts: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The ids that begin and end a sequence; only a tokenizer from elsewhere can lack them. */
function ends({ start, end }: Tokenizer): { start: number; end: number } {
  if (start === undefined || end === undefined)
    throw new DataError("translation needs a tokenizer with tokens that begin and end a sequence, such as <s> and </s>; this one has none");
  return { start, end };
}

/** A source or target with its end, or with what the tokenizer wants around it. */
function whole(text: string, tokenizer: Tokenizer): Int32Array {
  const ids = tokenizer.encode(text);
  return tokenizer.frame ? around(ids, tokenizer) : concatenated([ids, Int32Array.of(ends(tokenizer).end)]);
}

export const encodeSource = whole;

/** What a target begins with: the token that starts it, and what the tokenizer wants before a text. */
export const targetStart = (tokenizer: Tokenizer): number[] => [tokenizer.start ?? 0, ...frameOf(tokenizer).before];

export function encodePairs(examples: readonly Pair[], tokenizer: Tokenizer): PairIds[] {
  const { start } = ends(tokenizer);
  return examples.map(({ source, target }) => {
    const targets = whole(target, tokenizer);
    return { source: encodeSource(source, tokenizer), target: concatenated([Int32Array.of(start), targets.subarray(0, -1)]), targets };
  });
}

/**
 * Prompts and what should follow, with the token that ends a text; and conversations, by their template. Only answers are learned. A
 * conversation whose template shows earlier turns differently later on gives an example for each answer.
 */
export function encodeAnswered(examples: readonly (Completed | Conversation)[], tokenizer: Tokenizer, chat?: ChatFormat): AnsweredIds[] {
  return examples.flatMap((example) => {
    if ("prompt" in example) return [completedIds(example, tokenizer)];
    const answers = stretchesOf(example, chat);
    if (answers.length === 0) throw noAnswer(example);
    return answers.map((stretches) => {
      const { ids, learned } = joined(stretches, tokenizer);
      return shifted(ids, withoutTail(ids, learned, tokenizer), example);
    });
  });
}

function completedIds(example: Completed, tokenizer: Tokenizer): AnsweredIds {
  const { end } = tokenizer;
  const { prompt, completion } = example;
  nonEmpty(tokenizer.encode(prompt), example);
  const stretches = [prompt, completion].map((text, i) => ({ text, answer: i === 1 }));
  const { ids, learned } = joined(stretches, tokenizer);
  const whole = begun(ids, tokenizer);
  const before = new Array<number>(whole.length - ids.length).fill(0);
  if (end === undefined) return shifted(whole, [...before, ...learned], example);
  return shifted(concatenated([whole, Int32Array.of(end)]), [...before, ...learned, 1], example);
}

function stretchesOf(example: Conversation, chat: ChatFormat | undefined): Stretch[][] {
  if (!chat)
    throw new DataError(
      "there is no chat template, and the tokenizer has no tokens that begin and end a text to make one of; give examples with a prompt and a completion",
      place(example),
    );
  try {
    return chatStretches(chat, example.messages, example.from);
  } catch (error) {
    if (error instanceof FormatError || !(error instanceof DataError)) throw error; // the template's fault, not this line's
    throw new DataError(error.complaint, { ...place(example), cause: error });
  }
}

/**
 * Ids of stretches that follow each other: those of the text so far, if they only add to what was there; else of each stretch by itself. So
 * an answer begins with a token of its own, as it does when the model is asked, and a tokenizer that marks the beginning of a text marks it once.
 */
function joined(stretches: readonly Stretch[], tokenizer: Tokenizer): { readonly ids: Int32Array; readonly learned: number[] } {
  let [text, ids]: [string, Int32Array] = ["", new Int32Array(0)];
  const learned: number[] = [];
  for (const stretch of stretches) {
    text += stretch.text;
    const whole = tokenizer.encode(text);
    const before = ids;
    const adds = whole.length > before.length && before.every((id, i) => id === whole[i]);
    ids = adds || before.length === 0 ? whole : concatenated([before, tokenizer.encode(stretch.text)]);
    while (learned.length < ids.length) learned.push(stretch.answer ? 1 : 0);
  }
  return { ids, learned };
}

/** White space after the token that ends an answer belongs to the template: nobody will ever wait for it. */
function withoutTail(ids: Int32Array, learned: readonly number[], tokenizer: Tokenizer): number[] {
  const kept = [...learned];
  for (let end = ids.length; end > 0; end--) {
    if (!learned[end - 1] || learned[end]) continue;
    let at = end - 1;
    while (at > 0 && learned[at - 1] && isSpace(ids[at], tokenizer)) at--;
    if (tokenizer.decode([ids[at]]) === "" && !isSpace(ids[at], tokenizer)) kept.fill(0, at + 1, end);
  }
  return kept;
}

const isSpace = (id: number, tokenizer: Tokenizer): boolean => tokenizer.piece(id).trim() === "" || /^\s+$/.test(tokenizer.decode([id]));

/** Every token foretells the next; those that are not learned are ignored. */
function shifted(ids: Int32Array, learned: ArrayLike<number>, origin: Origin): AnsweredIds {
  const targets = ids.map((id, i) => (learned[i] ? id : ignored)).subarray(1);
  if (targets.every((target) => target === ignored)) throw noAnswer(origin);
  return { ids: ids.subarray(0, -1), targets };
}

const noAnswer = (origin: Origin): DataError =>
  new DataError(`there is no answer to learn from; give one (in messages, by the role "assistant")`, place(origin));

/** An example of any task as ids. */
export type ExampleIds = LabelledIds | SeveralIds | TaggedIds | PairIds | AnsweredIds;

export interface Encoding {
  encode(examples: readonly Example[]): ExampleIds[];
  readonly layout: Layout<ExampleIds>;
}

/** How a task's examples become ids, and how those are batched. The task, and how many labels a text has, say which examples these are. */
export function encoding(
  task: ExampleTask,
  tokenizer: Tokenizer,
  labels: readonly string[],
  labelling: Labelling = "one",
  chat?: ChatFormat,
): Encoding {
  const kinds = {
    classify: {
      encode: (examples: readonly Example[]) => encodeClassified(examples as Classified[], tokenizer, labels),
      layout: labelledLayout,
    },
    several: {
      encode: (examples: readonly Example[]) => encodeSeveral(examples as SeveralLabelled[], tokenizer, labels),
      layout: severalLayout,
    },
    tag: { encode: (examples: readonly Example[]) => encodeTagged(examples as Tagged[], tokenizer, labels), layout: taggedLayout },
    translate: { encode: (examples: readonly Example[]) => encodePairs(examples as Pair[], tokenizer), layout: pairLayout },
    lm: {
      encode: (examples: readonly Example[]) => encodeAnswered(examples as (Completed | Conversation)[], tokenizer, chat),
      layout: answeredLayout,
    },
  };
  return kinds[task === "classify" && labelling === "several" ? "several" : task] as Encoding;
}

/** The same examples, none longer than the context, and how many had to be cut. What stands after a text stays there. */
export function cut<E extends object>(
  examples: readonly E[],
  context: number,
  tokenizer: Pick<Tokenizer, "frame"> = {},
  beginOf?: (example: E, context: number) => number,
): { examples: E[]; count: number } {
  const shortest = (name: string, value: Int32Array, example: E) => {
    const begin = beginOf?.(example, context) ?? 0;
    return beginOf || name === "target" || name === "targets"
      ? value.subarray(begin, begin + context)
      : cutAround(value, context, tokenizer, name === "tags" ? ignored : undefined);
  };
  let count = 0;
  const shorter = examples.map((example) => {
    const parts = Object.entries(example).map(([name, value]) =>
      value instanceof Int32Array && value.length > context ? ([name, shortest(name, value, example)] as const) : ([name, value] as const),
    );
    if (parts.every(([name, value]) => value === example[name as keyof E])) return example;
    count++;
    return Object.fromEntries(parts) as E;
  });
  return { examples: shorter, count };
}

/** How often a tokenizer had to give its unknown token. */
export function countUnknown(examples: readonly object[], { unknown }: Tokenizer): number {
  let count = 0;
  for (const example of examples)
    for (const [name, value] of Object.entries(example))
      if (value instanceof Int32Array && name !== "targets" && name !== "tags") for (const id of value) if (id === unknown) count++;
  return count;
}
