import type { AttentionKind, AttentionLook } from "../inspection/look.ts";
import type { QueryKeys } from "../inspection/query-keys.ts";
import { type HeadSummary, headStatisticsOf } from "../inspection/statistics.ts";
import type { Matrix } from "./check.ts";
import { shortened } from "./label.ts";
import { isCausal } from "./scale.ts";

// What the interactive page carries: weights in a byte each, queries and keys in a byte for each dimension, answers as places in a list of words.

export interface PageData {
  readonly looks: readonly PageLook[];
  readonly answers?: PageAnswers;
}

export interface PageLook {
  readonly kind: AttentionKind;
  /** Labels: whitespace can be seen. */
  readonly tokens: readonly string[];
  readonly targetTokens: readonly string[];
  readonly layers: readonly { readonly layer: number; readonly heads: readonly PageHead[] }[];
  /** Why there are no queries and keys, or what they leave out. */
  readonly note?: string;
  /** What a product of a query and a key is multiplied with. */
  readonly scale?: number;
}

export interface PageHead {
  readonly head: number;
  readonly weights: Packed;
  /** Whether only keys up to the query are there, as no query sees a later one. */
  readonly causal?: boolean;
  readonly summary: Omit<HeadSummary, "head">;
  readonly vectors?: { readonly size: number; readonly q: Packed; readonly k: Packed };
}

/** Numbers of one reach, a byte or two each, in base64. */
export interface Packed {
  /** The largest size of a number. */
  readonly reach: number;
  /** In how many steps a number is told: 255 in a byte, which is what is meant if nothing is said; or 65535 in two. */
  readonly steps?: Steps;
  /** How numbers become bytes: from zero by the square root; the same around zero; or around zero in equal steps. */
  readonly coding: Coding;
  readonly bytes: string;
}

export type Steps = 255 | 65535;
export type Coding = "root" | "signed-root" | "signed";

export interface PageAnswers {
  /** The attentions whose queries are the positions that are answered. */
  readonly kinds: readonly AttentionKind[];
  /** What is answered: the next token at each position, a label for each, or one for the whole text. */
  readonly of: "next token" | "tag" | "label";
  readonly words: readonly string[];
  /** One for each layer, and the last is the model's answer: for each position, words and how likely they are, in turns. */
  readonly rows: readonly { readonly name: string; readonly positions: readonly (readonly number[])[] }[];
}

export function packedLook(look: AttentionLook, vectors?: QueryKeys | { readonly note: string }): PageLook {
  const named = (names: readonly string[]) => names.map((name) => shortened(name, 24));
  const statistics = headStatisticsOf(look);
  const own = vectors && "layers" in vectors ? vectors : undefined;
  return {
    kind: look.kind,
    tokens: named(look.tokens),
    targetTokens: named(look.targetTokens),
    ...(vectors?.note && { note: vectors.note }),
    ...(own && { scale: own.scale }),
    layers: look.layers.map(({ layer, heads }, i) => ({
      layer,
      heads: heads.map(({ head, pattern }, j) => {
        const { head: _, ...summary } = statistics.layers[i].heads[j];
        const pair = own?.layers[i]?.[j];
        return {
          head,
          ...packedWeights(pattern),
          summary,
          ...(pair && { vectors: { size: pair.q[0].length, q: packed(pair.q, "signed"), k: packed(pair.k, "signed") } }),
        };
      }),
    })),
  };
}

/** Where no query sees a later key, later keys are left out. */
export function packedWeights(pattern: Matrix, steps?: Steps): Pick<PageHead, "weights" | "causal"> {
  const coding = pattern.some((row) => row.some((weight) => weight < 0)) ? "signed-root" : "root";
  if (!isCausal(pattern)) return { weights: packed(pattern, coding, steps) };
  return {
    weights: packed(
      pattern.map((row, i) => row.slice(0, i + 1)),
      coding,
      steps,
    ),
    causal: true,
  };
}

/** The weights of a head, [query][key], one row after the other. */
export function weightsOf({ weights, causal = false }: Pick<PageHead, "weights" | "causal">, queries: number, keys: number): Float32Array {
  const values = valuesOf(weights);
  const told = toldOf(weights);
  const all = new Float32Array(queries * keys);
  let at = 0;
  for (let i = 0; i < queries; i++) for (let j = 0; j < (causal ? i + 1 : keys); j++) all[i * keys + j] = values[told[at++]];
  return all;
}

/** Each number to the nearest of so many; zero stays zero, and nothing else becomes zero where zero means masked. */
export function packed(rows: Matrix, coding: Coding, steps: Steps = 255): Packed {
  let reach = 0;
  for (const row of rows) for (const value of row) reach = Math.max(reach, Math.abs(value));
  const count = rows.reduce((sum, row) => sum + row.length, 0);
  const told = steps === 255 ? new Uint8Array(count) : new Uint16Array(count);
  let at = 0;
  for (const row of rows) for (const value of row) told[at++] = stepOf(value / (reach || 1), coding, steps);
  return { reach, ...(steps !== 255 && { steps }), coding, bytes: base64(told) };
}

function stepOf(share: number, coding: Coding, steps: Steps): number {
  if (coding === "root") return share === 0 ? 0 : Math.max(1, Math.round(steps * Math.sqrt(share)));
  const side = (steps - 1) / 2;
  return side + 1 + Math.round(side * (coding === "signed" ? share : Math.sign(share) * Math.sqrt(Math.abs(share))));
}

/** What each step stands for. */
export function valuesOf({ reach, coding, steps = 255 }: Omit<Packed, "bytes">): Float32Array {
  const side = (steps - 1) / 2;
  const values = new Float32Array(steps + 1);
  for (let step = 0; step <= steps; step++) {
    const share = coding === "root" ? step / steps : (step - side - 1) / side;
    values[step] = reach * (coding === "signed" ? share : share * Math.abs(share));
  }
  return values;
}

export const bytesOf = ({ bytes }: Pick<Packed, "bytes">): Uint8Array => fromBase64(bytes);

function toldOf(given: Packed): Uint8Array | Uint16Array {
  const bytes = bytesOf(given);
  return given.steps === 65535 ? new Uint16Array(bytes.buffer) : bytes;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** Numbers as they are, four bytes each. */
export const packedFloats = (rows: Matrix): string => base64(Float32Array.from(rows.flat()));
export const floatsOf = (text: string): Float32Array => new Float32Array(fromBase64(text).buffer);

const piece = 0x8000;

function base64({ buffer, byteOffset, byteLength }: Uint8Array | Uint16Array | Float32Array): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += piece) parts.push(String.fromCharCode(...bytes.subarray(at, at + piece)));
  return btoa(parts.join(""));
}

interface Answered {
  readonly top: readonly { readonly token: string; readonly probability: number }[];
}

/** Answers with each word written once, and probabilities of four digits. */
export function packedAnswers(
  given: Pick<PageAnswers, "kinds" | "of"> & {
    readonly rows: readonly { readonly name: string; readonly positions: readonly Answered[] }[];
  },
): PageAnswers {
  const places = new Map<string, number>();
  const placeOf = (word: string) => {
    const known = places.get(word) ?? places.size;
    places.set(word, known);
    return known;
  };
  const rows = given.rows.map(({ name, positions }) => ({
    name,
    positions: positions.map(({ top }) =>
      top.flatMap(({ token, probability }) => [placeOf(shortened(token, 24)), Number(probability.toFixed(4))]),
    ),
  }));
  return { kinds: given.kinds, of: given.of, words: [...places.keys()], rows };
}
