import { DataError } from "../base/errors.ts";
import { formatOf, readExamples } from "../disk/text-files.ts";
import type { LongerTests } from "../recipes/index.ts";
import type { RunConfig } from "../runs/config.ts";
import type { Columns, Example } from "../text/examples.ts";
import { loadRaw } from "./raw.ts";
import { inspectTexts, type TextPart } from "./texts.ts";

/** What a run is evaluated on. */
export type HeldOut =
  /** One text in parts, or (`apart`) several that have nothing to do with each other. */
  | { readonly kind: "text"; readonly parts: readonly TextPart[]; readonly sha256: string; readonly apart?: boolean }
  | { readonly kind: "examples"; readonly examples: readonly Example[]; readonly longer?: LongerTests };

/** The data that was given, read as the run's task wants it. */
export async function givenData({ task, data: { source } }: RunConfig, files: readonly string[], columns: Columns): Promise<HeldOut> {
  if (task === "lm") {
    const wrong = files.find((file) => formatOf(file) !== "txt");
    if (wrong) throw new DataError(`${wrong}: the run is a language model, which is evaluated on .txt files`);
    const { parts, sha256 } = await inspectTexts(files);
    return { kind: "text", parts, sha256 };
  }
  const known = source.kind === "files" ? source.columns : undefined;
  return { kind: "examples", examples: (await readExamples(files, { task, columns: { ...known, ...columns } })).examples };
}

/** The run's own held-out part: a recipe's test, else what it was validated with. */
export async function ownData({ task, data }: RunConfig, warn: (sentence: string) => void): Promise<HeldOut> {
  const raw = await loadRaw(data.source, task);
  if (raw.sha256 !== data.sha256) warn("the data has changed since the run was trained, so some of it may have been trained on");
  if (raw.kind === "text") {
    if (raw.test) return { kind: "text", parts: raw.test, sha256: `${raw.sha256} test`, apart: true };
    if (raw.valid.length === 0) throw new DataError("the run has no validation data; name a file to evaluate on");
    return { kind: "text", parts: raw.valid, sha256: `${raw.sha256} valid` };
  }
  const examples = raw.test ?? raw.valid;
  if (examples.length === 0) throw new DataError("the run has no validation data; name a file to evaluate on");
  return { kind: "examples", examples, longer: raw.longer };
}
