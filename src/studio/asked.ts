import * as z from "zod";
import type { Ask, AskKind, ToldError } from "../protocol/messages.ts";
import type { Job, JobKind, ToWorker } from "../worker/messages.ts";
import { CarriedFile } from "../worker/wire.ts";

// What comes from a page, checked once, where it comes in. Names of runs are checked where they become paths (worker/home.ts), settings by the library,
// which says more about each; here is what would never get there.

const number = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const text = z.string();
const texts = z.array(text).max(4096);
/** Of a run, a file, an adapter: longer than any system's. */
const name = z.string().max(4096);
const anything = z.record(z.string(), z.unknown());

const file = z.instanceof(CarriedFile, { error: "a file is wanted" });
const givenFile = z.union(
  [
    z.strictObject({ url: text }),
    z.strictObject({ file, name: name.optional() }),
    z.strictObject({ text, name: name.optional() }),
    z.strictObject({ rows: z.array(anything) }),
  ],
  { error: "data is { text, name }, { file } or { rows }" },
);
const data = z.array(givenFile).max(4096);

/** What a training has of its machine is not for a page to say. */
const notSent = z.undefined({ error: "this is not for a page to say; leave it out" }).optional();
const settings = z.looseObject({
  out: name.optional(),
  from: name.optional(),
  tokenizer: name.optional(),
  device: z.string().max(20).optional(),
  valid: notSent,
  cache: notSent,
  listen: notSent,
  warn: notSent,
  signal: notSent,
});
const opening = { precision: z.string().max(20).optional(), adapter: name.optional(), step: number.optional() };
const place = z.union(
  [
    z.strictObject({ run: name }),
    z.strictObject({ url: text, integrity: z.record(z.string(), z.string()).optional() }),
    z.strictObject({ files: z.array(z.strictObject({ file, path: name })).max(4096), name: name.optional() }),
  ],
  { error: "a model is opened from { run } or { files }" },
);

/** What may be different when a run goes on; what each may be is said by the library. */
const change = z.union([z.number(), z.boolean(), z.string()]).optional();
const changes = z.strictObject({ steps: change, evalEvery: change, saveEvery: change, partsEvery: change, patience: change });

/** Everything that there is to do, by its kind. */
const jobs = {
  train: z.strictObject({ data, valid: givenFile.optional(), settings }),
  resume: z.strictObject({ run: name, changes }),
  follow: z.strictObject({ run: name }),
  trainings: z.strictObject({}),
  open: z.strictObject({ from: place, ...opening }),
  close: z.strictObject({ model: number }),
  evaluate: z.strictObject({ run: name, data, ...opening }),
  examples: z.strictObject({ run: name, most: number.optional(), ...opening }),
  passage: z.strictObject({ run: name }),
  plan: z.strictObject({ data, valid: givenFile.optional(), settings }),
  cost: z.strictObject({ settings: anything }),
  runs: z.strictObject({}),
  log: z.strictObject({ run: name }),
  config: z.strictObject({ run: name }),
  checkpoints: z.strictObject({ run: name }),
  files: z.strictObject({ run: name }),
  remove: z.strictObject({ run: name }),
} as const satisfies Readonly<Record<JobKind, z.ZodType>>;

const prompt = z.union([text, z.array(z.number()), z.array(anything)]);
/** Texts that are written, or tried, at the same time. */
const mostRows = 1024;
const rows = z.int().min(1).max(mostRows);

/** Everything that a model can be asked, by its kind. */
const asks = {
  write: z
    .looseObject({
      prompts: z.array(prompt).max(mostRows),
      samples: rows,
      tokens: z.int().min(0).max(1e6).optional(),
      sampling: anything,
      seed: z.int(),
      stop: texts,
      top: z.int().min(0).max(1000).optional(),
      strict: z.boolean(),
      beams: rows.optional(),
    })
    .refine(({ prompts, samples }) => prompts.length * samples <= mostRows, {
      path: ["samples"],
      error: `at most ${mostRows} texts of all prompts`,
    }),
  embed: z.looseObject({ texts }),
  look: z.looseObject({ view: z.string().max(40), text, options: anything, as: z.string().max(20) }),
  taps: z.looseObject({ text, names: texts, target: text.optional() }),
  patch: z.looseObject({ text, target: text.optional(), changes: z.array(anything).max(4096) }),
  sweep: z.looseObject({ text, target: text.optional(), tap: text, over: z.enum(["position", "head"]), from: text.optional() }),
  classify: z.looseObject({ texts }),
  tag: z.looseObject({ texts }),
  fill: z.looseObject({ texts, top: rows.optional() }),
  translate: z.looseObject({ texts, beams: rows.optional() }),
  tokenize: z.looseObject({ given: z.union([text, z.array(anything)]) }),
  detokenize: z.looseObject({ ids: z.array(z.number()).max(1e6) }),
} as const satisfies Readonly<Record<AskKind, z.ZodType>>;

const words = z.union([
  z.strictObject({ start: z.unknown() }),
  z.strictObject({ stop: number }),
  z.strictObject({ pause: number }),
  z.strictObject({ go: number }),
  z.strictObject({ model: number, ask: z.strictObject({ cancel: number }) }),
]);

/** What was asked; or what is wrong with it, and of which job or question, where that can be told. */
export type Asked =
  | { readonly message: ToWorker }
  | { readonly error: ToldError; readonly job?: number; readonly model?: number; readonly id?: number };

export function askedOf(given: unknown): Asked {
  const { job, work, model, ask } = fieldsOf(given);
  const { id, ask: question } = fieldsOf(ask);
  if (isNumber(job) && work !== undefined) {
    const { found, error } = ofKind(jobs, work);
    return error ? { error, job } : { message: { job, work: found as Job } };
  }
  if (isNumber(model) && isNumber(id)) {
    const { found, error } = ofKind(asks, question);
    return error ? { error, model, id } : { message: { model, ask: { id, ask: found as Ask } } };
  }
  const { data: found, error } = words.safeParse(given);
  return error ? { error: malformed(error) } : { message: found as ToWorker };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};

const isNumber = (value: unknown): value is number => number.safeParse(value).success;

function ofKind(kinds: Readonly<Record<string, z.ZodType>>, given: unknown): { readonly found?: unknown; readonly error?: ToldError } {
  const { kind, ...rest } = fieldsOf(given);
  if (typeof kind !== "string" || !Object.hasOwn(kinds, kind)) return { error: unread("there is nothing of this kind", "kind") };
  const { data: found, error } = kinds[kind].safeParse(rest);
  return error ? { error: malformed(error) } : { found: { kind, ...(found as object) } };
}

const malformed = ({ issues: [issue] }: z.ZodError): ToldError => unread(issue.message, issue.path.map(String).join("."));

const unread = (why: string, at: string): ToldError => ({
  fault: "asked",
  code: "config.type",
  ...(at !== "" && { path: at }),
  message: `the studio cannot read what was asked${at === "" ? "" : ` (${at})`}: ${why}`,
});
