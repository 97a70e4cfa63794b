import type { PackedAttention } from "../../../src/views/packed.ts";
import { withModel } from "../../stores/models.ts";
import type { Sight } from "../sight.ts";
import { attentionKinds, type Choice } from "./choice.ts";

// What is asked of the model: all heads as small maps, and only what is shown large with all its weights.

/** Cells of a small map, a side. */
const smallSide = 64;
/** More weights than this are not sent at once; then only the head that is shown is asked for. */
const mostWeights = 2 ** 22;

const quiet = () => {};

const common = ({ target }: Sight, signal: AbortSignal) => ({ signal, warn: quiet, ...(target !== undefined && { target }) });

/** All heads, small; or nothing, of a model without attention. A kind that it does not have is the usual one. */
export const overviewOf = (sight: Sight, kind: string | undefined, signal: AbortSignal): Promise<PackedAttention | "none"> =>
  withModel(sight.name, sight.step, async (model) => {
    const options = { ...common(sight, signal), side: smallSide };
    const asked = attentionKinds.find((known) => known === kind);
    try {
      if (asked === undefined) return await model.packed("attention", sight.text, options);
      return await model
        .packed("attention", sight.text, { ...options, kind: asked })
        .catch(() => model.packed("attention", sight.text, options));
    } catch (error) {
      const { taps } = await model.taps("", [], { signal, warn: quiet });
      if (!taps.some(({ name }) => name.endsWith("/pattern"))) return "none";
      throw error;
    }
  });

/** Whether the small maps hold all weights of what is chosen: then nothing more is asked. */
export const isInOverview = ({ head, shape }: Choice, { side }: PackedAttention): boolean =>
  side === 1 && shape !== "neurons" && (typeof head === "number" || head === "mean");

/** Queries and keys come with one head; and of a very long text, one head comes at a time. */
const isAlone = ({ head, shape }: Choice, { tokens, targetTokens, sizes }: PackedAttention): boolean =>
  typeof head === "number" && (shape === "neurons" || sizes.heads * tokens.length * targetTokens.length > mostWeights);

/** What is asked for: the heads of a layer come together, so that the one beside is there at once. */
export function largeKey(choice: Choice, overview: PackedAttention): string {
  const { kind, layer, head } = choice;
  if (head === "all") return JSON.stringify([kind, head]);
  return JSON.stringify([kind, layer, head === "rollout" || isAlone(choice, overview) ? head : "layer"]);
}

export interface Answer {
  /** What was asked for. */
  readonly key: string;
  readonly look: PackedAttention;
}

/** What is shown large: the heads of a layer, or one head of it with its queries and keys, or what was made of all heads. */
export const largeOf = (sight: Sight, choice: Choice, overview: PackedAttention, signal: AbortSignal): Promise<Answer> =>
  withModel(sight.name, sight.step, async (model) => {
    const { kind, layer, head } = choice;
    const options = { ...common(sight, signal), kind };
    const asked = () => {
      if (head === "all") return model.packed("alignment", sight.text, options);
      if (head === "rollout") return model.packed("rollout", sight.text, { ...options, layer });
      return model.packed("attention", sight.text, {
        ...options,
        layer,
        ...(typeof head === "number" && isAlone(choice, overview) && { head }),
      });
    };
    return { key: largeKey(choice, overview), look: await asked() };
  });
