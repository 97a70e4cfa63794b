import type { PackedAttention } from "../../../src/views/packed.ts";
import type { Run } from "../../../src/worker/run.ts";
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

/** What is shown large: the heads of a layer, or one head of it with its queries and keys, or what was made of all heads. */
export const largeOf = (sight: Sight, choice: Choice, overview: PackedAttention, signal: AbortSignal): Promise<PackedAttention> =>
  withModel(sight.name, sight.step, (model) => largeFrom(model, sight, choice, overview, signal));

function largeFrom(
  model: Run,
  sight: Sight,
  { kind, layer, head, shape }: Choice,
  { tokens, targetTokens, sizes }: PackedAttention,
  signal: AbortSignal,
) {
  const options = { ...common(sight, signal), kind };
  if (head === "all") return model.packed("alignment", sight.text, options);
  if (head === "rollout") return model.packed("rollout", sight.text, { ...options, layer });
  const alone = shape === "neurons" || sizes.heads * tokens.length * targetTokens.length > mostWeights;
  return model.packed("attention", sight.text, { ...options, layer, ...(alone && typeof head === "number" && { head }) });
}

/** What must be asked again: a head beside the one that is shown came with it. */
export const largeKey = ({ kind, layer, head, shape }: Choice): string =>
  JSON.stringify([kind, head === "all" ? "" : layer, typeof head === "string" && head !== "mean" ? head : shape === "neurons" ? head : ""]);
