import { inkOn } from "../../../src/pictures/colour.ts";
import { scaleOf } from "../../../src/pictures/scale.ts";
import { percent } from "../../parts/numbers.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { withModel } from "../../stores/models.ts";
import { Bars } from "../map/bars.tsx";
import { useLens } from "../map/inside.ts";
import { askedWith, type Sight } from "../sight.ts";
import { tokenName } from "../token-name.ts";

// The logit lens: what the model would say if it ended after each layer.

const scale = scaleOf("sequential", 0, 1, "root");
const top = 5;

export function LensRoom({ sight }: { readonly sight: Sight }) {
  const waited = useLens(sight, top);
  if (waited.state === "none")
    return <Empty>The logit lens reads the residual stream after each block; this model has no blocks, so there is none.</Empty>;
  return (
    <Answered waited={waited} what="Each layer is asked for its answer.">
      {({ layers }) => {
        const positions = layers[0]?.positions ?? [];
        const at = Math.min(sight.pinned ?? positions.length - 1, positions.length - 1);
        return (
          <div class="stack">
            <p class="soft">
              Each layer's residual stream is read as if it were the last: the likeliest answer, the lighter the surer. The last layer is
              what the model says.
            </p>
            <div class="scroll">
              <table class="lens">
                <thead>
                  <tr>
                    <th scope="col">token</th>
                    {layers.map(({ layer }) => (
                      <th key={layer} scope="col">
                        layer {layer}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {positions.map(({ token }, i) => (
                    <tr key={i} class={i === at ? "marked" : undefined}>
                      <th scope="row">
                        <button type="button" class="plain mono" aria-pressed={i === at} onClick={() => sight.pin(i)}>
                          {tokenName(token)}
                        </button>
                      </th>
                      {layers.map(({ layer, positions: row }) => {
                        const [best] = row[i].top;
                        const colour = scale.colour(best.probability);
                        return (
                          <td
                            key={layer}
                            class="mono"
                            title={row[i].top.map((one) => `${tokenName(one.token)} ${percent(one.probability)}`).join(", ")}
                            style={{ background: `rgb(${colour.join(" ")})`, color: inkOn(colour) }}
                          >
                            {tokenName(best.token)}
                          </td>
                        );
                      })}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <div class="lens-layers">
              {layers.map(({ layer, positions: row }) => (
                <section key={layer}>
                  <h3>
                    {tokenName(row[at].token)}, after layer {layer}
                  </h3>
                  <Bars
                    bars={row[at].top.map(({ token, probability }) => ({ name: tokenName(token), value: probability }))}
                    label={`After layer ${layer}`}
                    shown={percent}
                    most={1}
                  />
                </section>
              ))}
            </div>
            <div class="row">
              <SaveMenu
                name="lens"
                svg={() => withModel(sight.name, sight.step, (model) => model.picture("lens", sight.text, { top, ...askedWith(sight) }))}
                json={() => ({ layers })}
              />
            </div>
          </div>
        );
      }}
    </Answered>
  );
}
