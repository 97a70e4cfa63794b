import { answersOf, isLabeller, likeliest, rowsOf } from "../inspection/answers.ts";
import { type AttentionOptions, attentionOf, kindsOf } from "../inspection/attention.ts";
import { logitLens } from "../inspection/lens.ts";
import type { AttentionLook } from "../inspection/look.ts";
import { queryKeysOf } from "../inspection/query-keys.ts";
import { readingOf } from "../inspection/reading.ts";
import { taskOf } from "../models/any.ts";
import { interactiveHtml, type PageDetails } from "../pictures/interactive-html.ts";
import { prose } from "../pictures/label.ts";
import type { TrainedModel } from "../trained/trained.ts";

// The interactive page of a text: every attention of the model, its queries and keys, and what it answers at each position.

/** How many answers a position gets. */
const candidates = 5;

export async function attentionPage(run: TrainedModel, text: string, look: AttentionLook, given: AttentionOptions): Promise<string> {
  const options = { ...given, warn: false } as const; // what there is to warn of was said when the look was made
  const looks = [look, ...(await otherKinds(run, text, options))];
  const vectors: NonNullable<PageDetails["vectors"]>[number][] = [];
  for (const { kind } of looks) vectors.push(await queryKeysOf(run, text, { ...options, kind }));
  return interactiveHtml(looks, `Attention: ${prose(text, 60)}`, { vectors, answers: await pageAnswers(run, text, options) });
}

/** The kinds of attention beside the usual one, if none was asked for. An encoder has one under two names. */
async function otherKinds(run: TrainedModel, text: string, options: AttentionOptions): Promise<AttentionLook[]> {
  const { model } = run;
  if (options.kind !== undefined || model.model !== "encoder-decoder") return [];
  const looks: AttentionLook[] = [];
  for (const kind of kindsOf(model).slice(1)) looks.push(await attentionOf(run, text, { ...options, kind }));
  return looks;
}

/** After each layer, where there are layers to look into; else the answer alone. */
async function pageAnswers(run: TrainedModel, text: string, { target, keep }: AttentionOptions): Promise<PageDetails["answers"]> {
  const { model } = run;
  const of = !isLabeller(model) ? "next token" : taskOf(model) === "tag" ? "tag" : "label";
  const kinds = isLabeller(model) ? (["encoder", "self"] as const) : (["self", "cross"] as const);
  const reading = { ...(target !== undefined && { target }), ...(keep && { keep }), warn: false } as const;
  if (model.model !== "rnn" && model.model !== "own") {
    const { layers } = await logitLens(run, text, { ...reading, top: candidates });
    return { kinds, of, rows: layers.map(({ layer, positions }) => ({ name: `layer ${layer}`, positions })) };
  }
  const { logProbabilities } = await answersOf(run, await readingOf(run, text, reading));
  const positions = rowsOf(logProbabilities).map((row) => ({ top: likeliest(run, row, candidates) }));
  return { kinds, of, rows: [{ name: "answer", positions }] };
}
