import type { TrainedModel } from "../trained/trained.ts";
import { type AttentionOptions, attentionPlace, attentionSizes, chosen, chosenKind } from "./attention.ts";
import { type Activation, activationOf, observe } from "./observe.ts";
import { readingOf } from "./reading.ts";

// Queries and keys of every head, as they are compared: after rotary positions, before the scale.

type Rows = readonly (readonly number[])[];

export interface HeadVectors {
  /** [query][dimension] */
  readonly q: Rows;
  /** [key][dimension] */
  readonly k: Rows;
}

export interface QueryKeys {
  /** In the order of the layers and heads that were asked for. */
  readonly layers: readonly (readonly HeadVectors[])[];
  /** The score is this times q·k. */
  readonly scale: number;
  /** What q·k leaves out of the score. */
  readonly note?: string;
}

/** The queries and keys of a text, or a sentence that says why its scores are not made of them. */
export async function queryKeysOf(
  run: TrainedModel,
  text: string,
  options: AttentionOptions = {},
): Promise<QueryKeys | { readonly note: string }> {
  const { model } = run;
  const kind = chosenKind(model, options.kind);
  if (model.model === "rnn")
    return { note: "An RNN compares states of its decoder with states of its encoder; there are no projected queries and keys." };
  if (model.model === "own")
    return { note: "Which queries and keys a model of one's own compares, only its author knows; look at its taps." };
  if (model.score !== "scaled" && model.score !== "dot")
    return { note: `The ${model.score} score is no dot product, so it does not fall apart into dimensions.` };
  const sizes = attentionSizes(model, kind);
  const layers = chosen("layer", sizes.layers, options.layer);
  const heads = chosen("head", sizes.heads, options.head);
  const places = layers.map((layer) => attentionPlace(model, kind, layer));
  const taps = places.flatMap((place) => [`${place}/q`, `${place}/k`]);
  const results = await observe(run, await readingOf(run, text, options), { taps });
  const rowsOf = (tap: string, axis: "query" | "key", head: number) =>
    headRows(activationOf({ name: tap, axes: ["head", axis, "size"] }, results[tap]), head);
  const [, asking, , size] = results[taps[0]].shape;
  const asked = (head: number) => Math.floor((head * results[taps[1]].shape[1]) / asking); // several heads may share their keys
  const biased = kind !== "cross" && (model.positions === "alibi" || model.positions === "relative");
  const notes = [
    ...(biased ? ["Distances add a bias of their own to each score, which q·k does not show."] : []),
    ...(model.scoreCap === undefined ? [] : [`Scores end at ±${model.scoreCap}: cap · tanh(score/cap), which q·k does not show.`]),
  ];
  return {
    layers: places.map((place) =>
      heads.map((head) => ({ q: rowsOf(`${place}/q`, "query", head), k: rowsOf(`${place}/k`, "key", asked(head)) })),
    ),
    scale: model.score === "scaled" ? (model.scale ?? size ** -0.5) : 1,
    ...(notes.length > 0 && { note: notes.join(" ") }),
  };
}

function headRows({ shape: [, time, size], data }: Activation, head: number): Rows {
  return Array.from({ length: time }, (_, t) => {
    const at = (head * time + t) * size;
    return Array.from(data.subarray(at, at + size));
  });
}
