import { FormatError } from "../base/errors.ts";

/** More rows than any embedding has. */
export const largestId = 10_000_000;

type Model = Readonly<Record<string, unknown>>;
type ModelType = "BPE" | "WordPiece" | "WordLevel" | "Unigram";

/** Which model a file has. Older files do not say it. */
export function modelType(model: Model, where: string): ModelType {
  const { type } = model;
  if (type === "BPE" || type === "WordPiece" || type === "WordLevel" || type === "Unigram") return type;
  if (type !== undefined) {
    throw new FormatError(`${where}: at model.type: ${JSON.stringify(type)} is not one of BPE, WordPiece, WordLevel and Unigram`);
  }
  if (Array.isArray(model.vocab)) return "Unigram";
  if ("merges" in model) return "BPE";
  return "continuing_subword_prefix" in model ? "WordPiece" : "WordLevel";
}

export interface CheckedModel {
  readonly ids: Map<string, number>;
  /** Three ids for each merge of a BPE, the earliest first: its two tokens and what they become. */
  readonly merges: Int32Array;
}

/** The ids of all tokens of a model, after a look at everything in it that could not be used. */
export function checkModel(model: Model, where: string): CheckedModel {
  const type = modelType(model, where);
  const ids = type === "Unigram" ? scoredVocab(model.vocab, where) : plainVocab(model.vocab, where);
  const unknown = type === "Unigram" ? model.unk_id : model.unk_token;
  const wanted = type === "Unigram" ? "number" : "string";
  if (unknown !== undefined && unknown !== null && typeof unknown !== wanted) {
    throw new FormatError(`${where}: at model: the unknown token is ${JSON.stringify(unknown)}, but a ${wanted} was wanted`);
  }
  if (typeof unknown === "number" && !(Number.isInteger(unknown) && unknown >= 0 && unknown < ids.size)) {
    throw new FormatError(`${where}: at model.unk_id: ${unknown} is not the id of one of ${ids.size} tokens`);
  }
  for (const key of ["continuing_subword_prefix", "end_of_word_suffix"]) {
    if (typeof (model[key] ?? "") !== "string") throw new FormatError(`${where}: at model.${key}: a string was wanted`);
  }
  return { ids, merges: type === "BPE" ? checkedMerges(model, ids, where) : new Int32Array(0) };
}

function plainVocab(vocab: unknown, where: string): Map<string, number> {
  if (vocab === null || typeof vocab !== "object" || Array.isArray(vocab)) {
    throw new FormatError(`${where}: at model.vocab: an object of tokens and ids was wanted`);
  }
  const tokens = Object.keys(vocab);
  const ids = new Map<string, number>();
  const low = new Uint8Array(tokens.length); // most files have the ids from 0 without gaps
  const high = new Set<number>();
  for (const token of tokens) {
    const id: unknown = (vocab as Record<string, unknown>)[token];
    const isId = typeof id === "number" && Number.isInteger(id) && id >= 0 && id <= largestId;
    const taken = isId && (id < low.length ? low[id] === 1 : high.has(id));
    if (!isId || taken) {
      const problem = taken ? "is taken" : `is not a whole number from 0 to ${largestId}`;
      throw new FormatError(`${where}: at model.vocab: the id ${JSON.stringify(id)} of ${JSON.stringify(token)} ${problem}`);
    }
    if (id < low.length) low[id] = 1;
    else high.add(id);
    ids.set(token, id);
  }
  return ids;
}

function scoredVocab(vocab: unknown, where: string): Map<string, number> {
  if (!Array.isArray(vocab) || vocab.length === 0 || vocab.length > largestId) {
    throw new FormatError(`${where}: at model.vocab: a list of tokens and scores was wanted`);
  }
  const ids = new Map<string, number>();
  vocab.forEach((entry: unknown, id) => {
    const [token, score] = Array.isArray(entry) && entry.length === 2 ? entry : [];
    if (typeof token !== "string" || typeof score !== "number" || !Number.isFinite(score) || Math.abs(score) > 1e9) {
      throw new FormatError(`${where}: at model.vocab.${id}: a token and its score were wanted`);
    }
    ids.set(token, id);
  });
  return ids;
}

function checkedMerges(model: Model, ids: ReadonlyMap<string, number>, where: string): Int32Array {
  if (!Array.isArray(model.merges)) throw new FormatError(`${where}: at model.merges: a list was wanted`);
  const prefix = String(model.continuing_subword_prefix ?? "").length;
  const style = typeof model.merges[0];
  const found = new Int32Array(3 * model.merges.length);
  model.merges.forEach((merge: unknown, rank) => {
    const pair = pairOf(merge);
    if (typeof merge !== style || pair === undefined) {
      throw new FormatError(`${where}: at model.merges.${rank}: two tokens were wanted, not ${JSON.stringify(merge)?.slice(0, 80)}`);
    }
    const [left, right] = pair;
    found[3 * rank] = idOf(left, ids, rank, where);
    found[3 * rank + 1] = idOf(right, ids, rank, where);
    found[3 * rank + 2] = idOf(left + (prefix > 0 ? right.slice(prefix) : right), ids, rank, where);
  });
  return found;
}

/** The two tokens of a merge; older files write them as "left right". */
function pairOf(merge: unknown): readonly [string, string] | undefined {
  if (typeof merge === "string") {
    const at = merge.indexOf(" ");
    return at < 0 || merge.includes(" ", at + 1) ? undefined : [merge.slice(0, at), merge.slice(at + 1)];
  }
  if (!Array.isArray(merge) || merge.length !== 2) return undefined;
  const [left, right]: unknown[] = merge;
  return typeof left === "string" && typeof right === "string" ? [left, right] : undefined;
}

function idOf(token: string, ids: ReadonlyMap<string, number>, rank: number, where: string): number {
  const id = ids.get(token);
  if (id !== undefined) return id;
  throw new FormatError(`${where}: at model.merges.${rank}: the token ${JSON.stringify(token)} is not in the vocabulary`);
}
