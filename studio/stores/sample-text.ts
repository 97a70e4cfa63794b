import type { AttentionLook } from "../../src/inspection/look.ts";
import type { CallOptions, Run } from "../../src/worker/run.ts";
import { computer } from "../compute/place.ts";
import { hidden } from "./hidden.ts";
import { keep, kept } from "./kept.ts";
import type { Snapshot } from "./snapshots.ts";

// What a model is shown again and again while it learns: a few words of what was held out of its own data, or words of its own.

const writtenTokens = 120;
/** As many as can be taken in at a glance, letter by letter or word by word. */
const ownTokens = 32;
/** Characters of a prompt whose patterns are kept of every step: they grow with its square. */
const mostLooked = 240;

/** Whether a prompt is short enough for patterns of every step. */
export const isLookedAt = (prompt: string): boolean => prompt.length <= mostLooked;

/** By run, and beyond this page: the prompt stays the same for a whole training, or nothing could be compared. */
const key = (run: string): string => `qkv-prompt:${run}`;

/** What was chosen for a run before. */
export const promptSet = (run: string): string | undefined => kept(key(run));

export async function promptOf(model: Run, run: string): Promise<string> {
  const known = promptSet(run);
  if (known !== undefined) return known;
  const found = await chosen(model, run).catch(() => "");
  if (found !== "") setPrompt(run, found);
  return found;
}

/** Undefined: the next who asks chooses one anew. */
export const setPrompt = (run: string, prompt: string | undefined): void => keep(key(run), prompt);

/** Words of its own data; where they are not here (a model of somebody else's, a file that is gone), a language model's own. */
async function chosen(model: Run, run: string): Promise<string> {
  const passage = await computer()
    .passage({ run })
    .catch(() => "");
  if (passage !== "" || model.facts.task !== "lm") return passage;
  const own = { tokens: ownTokens, temperature: 0.6, seed: 1, warn: () => {} };
  return (await model.samples([""], own))[0][0].text.replace(/\s+/g, " ").trim() || "The ";
}

export async function sampleOf(model: Run, run: string, options: CallOptions): Promise<Omit<Snapshot, "step">> {
  const given = await promptOf(model, run);
  const prompt = model.facts.task === "mlm" ? hidden(given, model.facts.mask ?? "<mask>") : given;
  const text = await answerOf(model, prompt, options);
  const look = isLookedAt(prompt) && ((await model.look("attention", prompt, options).catch(() => undefined)) as AttentionLook | undefined); // there may be none
  return { prompt, text, ...(look && { look }) };
}

async function answerOf(model: Run, prompt: string, options: CallOptions): Promise<string> {
  switch (model.facts.task) {
    case "classify": {
      const [{ label, probabilities }] = await model.classify([prompt], options);
      return `${label} (${Math.round(100 * (probabilities[label] ?? 0))} %)`;
    }
    case "tag":
      return (await model.tag([prompt], options))[0].tags.join(" ");
    case "translate":
      return (await model.translate([prompt], options))[0].target;
    case "mlm": {
      const [{ masks }] = await model.fill([prompt], { ...options, top: 1 });
      return masks[0]?.[0]?.text ?? "";
    }
    case "embed":
      return ""; // vectors say nothing that could be read
    default:
      return (await model.samples([prompt], { ...options, tokens: writtenTokens, temperature: 0.8, seed: 1 }))[0][0].text;
  }
}
