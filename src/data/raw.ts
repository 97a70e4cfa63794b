import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { formatOf, readExamples } from "../disk/text-files.ts";
import { type LongerTests, recipe } from "../recipes/index.ts";
import type { DataSource } from "../runs/config.ts";
import type { Columns, Example, ExampleTask, Task } from "../text/examples.ts";
import { inputOf, splitByHash, withoutDuplicates } from "../text/split.ts";
import { bytesOf, inspectTexts, splitTexts, type TextPart } from "./texts.ts";

// Data as it was found: text or examples, in parts to train on, to validate with, and (recipes) to test on.

interface Hashed {
  /** SHA-256 of everything that training sees. */
  readonly sha256: string;
  readonly warnings: readonly string[];
}

export interface RawText extends Hashed {
  readonly kind: "text";
  readonly train: readonly TextPart[];
  readonly valid: readonly TextPart[];
  /** Pieces that are scored each by itself. */
  readonly test?: readonly TextPart[];
}

export interface RawExamples extends Hashed {
  readonly kind: "examples";
  readonly task: ExampleTask;
  readonly train: readonly Example[];
  readonly valid: readonly Example[];
  readonly test?: readonly Example[];
  readonly longer?: LongerTests;
}

export type Raw = RawText | RawExamples;

/** How much there is: bytes of text, or examples. */
export const amount = (raw: Raw, part: "train" | "valid"): number => (raw.kind === "text" ? bytesOf(raw[part]) : raw[part].length);

export async function loadRaw(source: DataSource, task?: Task): Promise<Raw> {
  if (source.kind === "recipe") return loadRecipe(source.name, source.full);
  for (const file of [...source.files, ...(source.valid ? [source.valid] : [])]) {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new DataError(`${file}: this is a folder; name a file in it`);
  }
  const texts = source.files.filter((file) => formatOf(file) === "txt");
  if (texts.length > 0 && texts.length < source.files.length)
    throw new DataError(
      `${texts[0]} is text, and ${source.files.find((file) => formatOf(file) !== "txt")} has examples; train on one kind at a time`,
    );
  if (texts.length > 0) {
    if (task !== undefined && task !== "lm")
      throw new DataError(
        sentence`a .txt is plain text, for ${setting("task", "lm")}; ${setting("task", task)} wants a .tsv, .csv or .jsonl with examples`,
        { code: "data.task", file: texts[0] },
      );
    return loadTexts(source);
  }
  if (task === "lm")
    throw new DataError(
      sentence`a language model (${setting("task", "lm")}) is trained on .txt files; this one has examples, for classify, tag or translate`,
      { code: "data.task", file: source.files[0] },
    );
  return loadExamples(source, task);
}

async function loadRecipe(name: string, full: boolean): Promise<Raw> {
  const data = await recipe(name).data(full);
  if (data.kind === "text") return loadTexts({ kind: "files", files: [data.file], validFraction: data.validFraction });
  if (data.kind === "made-text") {
    const [train, valid] = [[{ text: data.train }], [{ text: data.valid }]];
    return {
      kind: "text",
      train,
      valid,
      test: data.test.map((text) => ({ text })),
      sha256: joinedHash(data.train, data.valid),
      warnings: [],
    };
  }
  return { ...data, sha256: hashExamples(data.train, data.valid), warnings: [] };
}

type Files = Extract<DataSource, { kind: "files" }>;

export interface FileOptions {
  readonly valid?: string;
  readonly validFraction?: number;
  readonly columns?: Columns;
}

/** Files as a source of data; their places are kept in full, so that a run can go on from another folder. */
export const filesSource = (files: readonly string[], { valid, validFraction = 0.1, columns = {} }: FileOptions): Files => ({
  kind: "files",
  files: files.map((file) => resolve(file)),
  ...(valid !== undefined && { valid: resolve(valid) }),
  validFraction,
  ...(Object.keys(columns).length > 0 && { columns }),
});

async function loadTexts({ files, valid, validFraction }: Files): Promise<RawText> {
  const inspected = await inspectTexts(files);
  if (valid === undefined) return { kind: "text", ...splitTexts(inspected.parts, validFraction), sha256: inspected.sha256, warnings: [] };
  if (formatOf(valid) !== "txt") throw new DataError(`${valid}: the training data is text, so the validation data must be a .txt too`);
  const other = await inspectTexts([valid]);
  return { kind: "text", train: inspected.parts, valid: other.parts, sha256: joinedHash(inspected.sha256, other.sha256), warnings: [] };
}

async function loadExamples({ files, valid, validFraction, columns }: Files, task?: ExampleTask): Promise<RawExamples> {
  const read = await readExamples(files, { task, columns });
  const found: readonly Example[] = read.examples;
  if (valid === undefined) {
    const split = splitByHash(found, validFraction);
    return parts(read.task, split.train, split.valid, split.duplicates);
  }
  const held: readonly Example[] = (await readExamples([valid], { task: read.task, columns })).examples;
  const train = withoutDuplicates(found);
  const inputs = new Set(train.map(inputOf));
  const seen = held.filter((example) => inputs.has(inputOf(example))).length;
  const both = seen > 0 ? [`${seen} of the ${held.length} validation examples have an input that is trained on too`] : [];
  return parts(read.task, train, held, found.length - train.length, both);
}

function parts(
  task: ExampleTask,
  train: readonly Example[],
  valid: readonly Example[],
  duplicates: number,
  others: readonly string[] = [],
): RawExamples {
  const warnings = [...(duplicates > 0 ? [`${duplicates} examples were there twice or more; each is used once`] : []), ...others];
  return { kind: "examples", task, train, valid, sha256: hashExamples(train, valid), warnings };
}

const contentOf = (example: Example): unknown =>
  "source" in example ? [example.source, example.target] : [example.text, "tags" in example ? example.tags : example.label];

/** Of what the examples say, not of where they were read. */
function hashExamples(...lists: readonly (readonly Example[])[]): string {
  const hash = createHash("sha256");
  for (const list of lists) {
    for (const example of list) hash.update(JSON.stringify(contentOf(example)));
    hash.update("\n");
  }
  return hash.digest("hex");
}

const joinedHash = (...parts: readonly string[]): string => createHash("sha256").update(parts.join()).digest("hex");

/** The task that raw data is for. */
export const taskOf = (raw: Raw): Task => (raw.kind === "text" ? "lm" : raw.task);
