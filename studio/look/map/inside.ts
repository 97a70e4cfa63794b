import type { CostFacts } from "../../../src/cost/facts.ts";
import type { Lens } from "../../../src/inspection/lens.ts";
import type { Activation } from "../../../src/inspection/observe.ts";
import { computer } from "../../compute/place.ts";
import { shown, useAnswer, type Waited, withModel } from "../../stores/models.ts";
import { folderOf } from "../../stores/runs.ts";
import { askedWith, keyOf, ownTokens, type Sight } from "../sight.ts";
import type { AnyConfig } from "./places.ts";

// What the rooms ask about a sight.

/** How the model is made; undefined of one that only its own program knows. */
export const useConfig = ({ name }: Sight): Waited<AnyConfig> =>
  useAnswer<AnyConfig>(
    () =>
      computer()
        .config({ run: folderOf(name) })
        .then(
          ({ model }) => model,
          () => undefined,
        ),
    [name],
  );

/** The numbers of some taps, of all heads or of one. */
export const useTaps = (sight: Sight, names: readonly string[], head?: number): Waited<ReadonlyMap<string, Activation>> =>
  useAnswer(
    names.length === 0
      ? undefined
      : async (signal) =>
          (
            await withModel(sight.name, sight.step, (model) =>
              model.taps(sight.text, names, { ...askedWith(sight, signal), ...(head !== undefined && { head }) }),
            )
          ).activations,
    [keyOf(sight), names.join("\n"), head],
  );

/** More would take longer to send than to look at. */
const mostPatterns = 2 ** 20;

/** Where every head looks, for small pictures; none where there are too many. */
export function usePatterns(sight: Sight): ReadonlyMap<string, Activation> | undefined {
  const names = sight.inside.taps.filter(({ name }) => name.endsWith("/pattern")).map(({ name }) => name);
  const longest = Math.max(sight.tokens.length, ownTokens(sight).length);
  return shown(useTaps(sight, names.length * longest ** 2 * 8 > mostPatterns ? [] : names));
}

/** What the model would say after each layer; undefined where it has no blocks. */
export function useLens(sight: Sight, top = 1): Waited<Lens> {
  const hasBlocks = ["decoder", "encoder", "encoder-decoder"].includes(sight.facts.model) && sight.facts.task !== "embed";
  return useAnswer(
    hasBlocks
      ? async (signal) =>
          (await withModel(sight.name, sight.step, (model) => model.look("lens", sight.text, { top, ...askedWith(sight, signal) }))) as Lens
      : undefined,
    [keyOf(sight), top],
  );
}

export function useCost(sight: Sight, config: AnyConfig): CostFacts | undefined {
  const { vocab, labels } = sight.facts;
  const [length, sourceLength] = [ownTokens(sight).length, sight.targetTokens ? sight.tokens.length : undefined];
  const task = sight.facts.task;
  return shown(
    useAnswer(
      config && config.model !== "own" && task !== "embed"
        ? (signal) => {
            const { vocab: _, context: __, ...model } = config;
            const settings = { task, model: { ...model, context: config.context }, vocab, length };
            return computer().cost(
              {
                ...(settings as object),
                ...(labels.length > 0 && { labels: labels.length }),
                ...(sourceLength !== undefined && { sourceLength }),
              },
              { signal },
            );
          }
        : undefined,
      [sight.name, config?.model, length, sourceLength],
    ),
  );
}
