import { elementCount } from "../base/arrays.ts";
import { FormatError, NonFiniteError } from "../base/errors.ts";
import type { ParameterLayout } from "../graph/parameters.ts";
import type { Architecture } from "../models/any.ts";
import { shown } from "../weights/header-scanner.ts";
import type { Family, Piece, TensorRule, Turn } from "./family.ts";

// The numbers of a family's tensors as those of our parameters, and back.

/** Tensors by their own names, wherever they lie. */
export interface TensorSource {
  /** What it is called in errors. */
  readonly where: string;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  /** The numbers of one tensor; they may be written over. */
  read(name: string): Float32Array;
}

export interface Matched {
  readonly rules: ReadonlyMap<string, TensorRule>;
  /** What a tensor of the family is called in this file. */
  readonly names: ReadonlyMap<string, string>;
  /** Tensors of the file that the model does not read. */
  readonly unread: readonly string[];
}

/** Finds every tensor that a model wants. What is missing, unexpected or of another shape is told all at once; nothing is made up. */
export function matched(family: Family, model: Architecture, layout: ParameterLayout, source: Omit<TensorSource, "read">): Matched {
  const rules = new Map(family.tensors(model).map((rule) => [rule.ours, rule]));
  checkRules(family, rules, layout);
  const names = new Map<string, string>();
  const [missing, wrong]: [string[], string[]] = [[], []];
  for (const { name, shape } of piecesOf(rules.values())) {
    if (names.has(name)) continue;
    const found = candidates(family, name).find((candidate) => source.shapes.has(candidate));
    if (found === undefined) {
      if (!missing.includes(name)) missing.push(name);
      continue;
    }
    names.set(name, found);
    const has = source.shapes.get(found) ?? [];
    if (has.join() !== shape.join()) wrong.push(`${shown(found)} is [${has.slice(0, 8).join(", ")}] and not [${shape.join(", ")}]`);
  }
  const used = new Set(names.values());
  const bare = (name: string) => (name.startsWith(family.prefix) ? name : `${family.prefix}${name}`);
  const unread = [...source.shapes.keys()].filter((name) => !used.has(name));
  const spare = unread.filter((name) => !family.ignores?.(name, model) && !family.ignores?.(bare(name), model));
  const problems = [
    ...told("missing", missing.map(shown)),
    ...told("unexpected", spare.map(shown)),
    ...(wrong.length > 0 ? [`of another shape: ${wrong.slice(0, most).join(", ")}${more(wrong)}`] : []),
  ];
  if (problems.length > 0)
    throw new FormatError(
      `${source.where}: the tensors are not those of this config (${family.name}); ${problems.join("; ")}. Do config.json and the weights belong together?`,
    );
  return { rules, names, unread };
}

const most = 30;
const more = (list: readonly string[]): string => (list.length > most ? ` and ${list.length - most} more` : "");
const told = (what: string, list: readonly string[]): string[] =>
  list.length > 0 ? [`${what} (${list.length}): ${list.slice(0, most).join(", ")}${more(list)}`] : [];

/** A tensor under its own name, without the prefix as base models have it, and under older names. */
function candidates({ prefix, alsoCalled }: Family, name: string): string[] {
  const all = [name, ...(alsoCalled?.(name) ?? [])];
  return [...all, ...all.filter((one) => prefix !== "" && one.startsWith(prefix)).map((one) => one.slice(prefix.length))];
}

function* piecesOf(rules: Iterable<TensorRule>): Generator<Piece> {
  for (const rule of rules) if ("theirs" in rule) yield* rule.theirs;
}

/** A table that forgets a parameter is a mistake of ours, found with the first model of that family. */
function checkRules({ name }: Family, rules: ReadonlyMap<string, TensorRule>, { entries }: ParameterLayout): void {
  const known = new Set(entries.map((entry) => entry.name));
  const forgotten = entries.filter((entry) => !rules.has(entry.name)).map((entry) => entry.name);
  const strange = [...rules.keys()].filter((ours) => !known.has(ours));
  if (forgotten.length + strange.length > 0)
    throw new FormatError(
      `the table of ${name} does not fit this model: without a rule ${forgotten.join(", ") || "none"}; without a parameter ${strange.join(", ") || "none"}`,
    );
}

/** The numbers of one of our parameters. NaN and infinity are refused by the name of the tensor that has them. */
export function oursOf(rule: TensorRule, { names }: Pick<Matched, "names">, source: TensorSource): Float32Array {
  if ("made" in rule) return rule.made();
  const parts = rule.theirs.map((piece) => {
    const name = names.get(piece.name) ?? piece.name;
    const numbers = source.read(name);
    refuseNonFinite(numbers, name, source.where);
    return forwards(numbers, piece.shape, piece.turn);
  });
  if (parts.length === 1) return parts[0];
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function refuseNonFinite(numbers: Float32Array, name: string, where: string): void {
  for (let i = 0; i < numbers.length; i++)
    if (!Number.isFinite(numbers[i]))
      throw new NonFiniteError(
        `${where}: tensor ${shown(name)} has ${numbers[i]} at number ${i}; the file is damaged, or training went wrong`,
      );
}

/** A tensor of theirs as ours. */
export function forwards(numbers: Float32Array, shape: readonly number[], turn: Turn | undefined): Float32Array {
  switch (turn?.kind) {
    case undefined:
      return numbers;
    case "transpose":
      return transpose(numbers, shape);
    case "rows": {
      const width = rowLength(shape);
      const rows = new Float32Array(turn.rows.length * width);
      for (const [i, from] of turn.rows.entries()) rows.set(numbers.subarray(from * width, (from + 1) * width), i * width);
      return rows;
    }
    case "add":
      return numbers.map((number) => number + turn.number);
  }
}

const rowLength = (shape: readonly number[]): number => elementCount(shape.slice(1));

/** [rows, columns] → [columns, rows] */
function transpose(numbers: Float32Array, [rows, columns]: readonly number[]): Float32Array {
  const turned = new Float32Array(numbers.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) turned[column * rows + row] = numbers[row * columns + column];
  return turned;
}

/** A tensor of theirs, to be written. */
export interface Theirs {
  readonly name: string;
  readonly shape: readonly number[];
  /** Whether something was added to it, which rounds. */
  readonly shifted: boolean;
  /** Made when it is asked for: tensor by tensor, all of a model need never be there twice. */
  numbers(): Float32Array;
}

/** Every tensor of theirs, in the order of their table. */
export function theirsOf(rules: readonly TensorRule[], numbersOf: (ours: string) => Float32Array): Theirs[] {
  const places = new Map<string, { readonly piece: Piece; readonly ours: string; readonly row: number }[]>();
  for (const rule of rules) {
    if ("made" in rule) continue;
    let row = 0;
    for (const piece of rule.theirs) {
      places.set(piece.name, [...(places.get(piece.name) ?? []), { piece, ours: rule.ours, row }]);
      row += rowsOf(piece);
    }
  }
  return [...places].map(([name, uses]) => ({
    name,
    shape: uses[0].piece.shape,
    shifted: uses.some(({ piece }) => piece.turn?.kind === "add"),
    numbers() {
      const whole = new Float32Array(elementCount(uses[0].piece.shape));
      for (const { piece, ours, row } of uses) {
        const width = elementCount(piece.shape) / (piece.turn?.kind === "rows" ? piece.shape[0] : rowsOf(piece));
        backwards(whole, numbersOf(ours).subarray(row * width, (row + rowsOf(piece)) * width), piece);
      }
      return whole;
    },
  }));
}

/** How many rows of ours a piece becomes. */
function rowsOf({ shape, turn }: Piece): number {
  if (turn?.kind === "rows") return turn.rows.length;
  return turn?.kind === "transpose" ? shape[1] : (shape[0] ?? 1);
}

/** A part of ours as the whole of theirs. */
export function backwards(whole: Float32Array, part: Float32Array, { shape, turn }: Piece): void {
  switch (turn?.kind) {
    case undefined:
      whole.set(part);
      break;
    case "transpose":
      whole.set(transpose(part, [shape[1], shape[0]]));
      break;
    case "rows": {
      const width = rowLength(shape);
      for (const [i, to] of turn.rows.entries()) whole.set(part.subarray(i * width, (i + 1) * width), to * width);
      break;
    }
    case "add":
      whole.set(part.map((number) => number - turn.number));
  }
}
