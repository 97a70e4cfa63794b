import * as z from "zod";
import { FormatError, RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { writeDurably } from "../disk/files.ts";
import { readIfThere } from "../disk/text-files.ts";
import { studyPictures } from "./breakdowns.ts";
import { type Span, spanText } from "./settings.ts";
import type { Study } from "./study.ts";
import { studyTable } from "./table.ts";

// results.json: what is measured so far, so that a study that was stopped goes on.

const figures = z.record(z.string(), z.number());

const rowSchema = z.strictObject({
  figures,
  breakdowns: z.record(z.string(), figures),
  /** Why there are no figures. */
  failed: z.string().optional(),
  /** Of the weights that were measured. */
  validLoss: z.number().nullable(),
  parameters: z.int().min(0),
  tokensPerSecond: z.number(),
  steps: z.int().min(0),
  /** Spent in steps of training. */
  seconds: z.number(),
});

const resultsSchema = z.strictObject({
  study: z.string(),
  minutes: z.number().optional(),
  steps: z.int().optional(),
  rows: z.record(z.string(), rowSchema),
});

export type RowResult = z.output<typeof rowSchema>;
export type Results = z.output<typeof resultsSchema>;

const fileIn = (out: string): string => `${out}/results.json`;

/** The results in a folder, which must be of the same study and of rows that were trained as long; none yet, for a new folder. */
export async function readResults(out: string, { name }: Study, span: Span): Promise<Results> {
  const file = fileIn(out);
  const text = await readIfThere(file);
  if (text === undefined) return { study: name, ...span, rows: {} };
  const found = parseResults(text, file);
  const cure = sentence`choose another ${setting("out")}`;
  if (found.study !== name)
    throw new RunError(sentence`${out} holds the study ${found.study}, not ${name}; ${cure}`, { code: "run.exists" });
  if (found.minutes !== span.minutes || found.steps !== span.steps)
    throw new RunError(sentence`${out} holds rows that were trained for ${spanText(found)}, not for ${spanText(span)}; ${cure}`, {
      code: "run.exists",
    });
  return found;
}

/** results.json, and the same for people: table.md, and pictures beside it. */
export function writeResults(out: string, study: Study, results: Results): void {
  writeDurably(fileIn(out), `${JSON.stringify(results, null, 2)}\n`);
  writeDurably(`${out}/table.md`, studyTable(study, results));
  for (const { file, svg } of studyPictures(study, results)) writeDurably(`${out}/${file}`, svg);
}

function parseResults(text: string, file: string): Results {
  const cure = "remove it, and the rows are measured again";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new FormatError(`not JSON; ${cure}`, { file, cause });
  }
  const result = resultsSchema.safeParse(value);
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues;
  throw new FormatError(`${message}; ${cure}`, { file, at: path.join(".") || "its root" });
}
