import { useEffect, useRef } from "preact/hooks";
import { type Pattern, weightAt } from "../../../page/pattern.ts";
import { keyOf, productsOf, stripOf, strongestDimensions, type Vectors } from "../../../page/products.ts";
import { decimal } from "../../../src/pictures/number.ts";
import { floatsOf } from "../../../src/pictures/page-data.ts";
import type { PackedVectors } from "../../../src/views/packed.ts";
import { TokenText } from "../../parts/token-strip.tsx";
import type { HeadProps } from "./lines.tsx";

// How a query and a key make a score: q, k, and their product dimension by dimension, for the keys with most weight.

export const vectorsOf = ({ size, scale, q, k }: PackedVectors): Vectors => ({ size, scale, q: floatsOf(q), k: floatsOf(k) });

export interface NeuronsProps extends HeadProps {
  readonly pattern: Pattern;
  readonly vectors: Vectors;
  readonly note: string | undefined;
}

export function Neurons({ pattern, vectors, tokens, targetTokens, spots, note }: NeuronsProps) {
  const { query: asked, key: askedKey } = spots.spot.value;
  const spot = asked === undefined && askedKey === undefined ? { query: pattern.queries - 1 } : spots.spot.value;
  const { query, keys, own, products, scores, reach } = productsOf(pattern, vectors, spot);
  const { size, scale } = vectors;
  return (
    <div class="stack neurons">
      <div class="scroll">
        <table>
          <caption class="visually-hidden">The query and the keys with most weight, dimension by dimension</caption>
          <thead>
            <tr>
              <th scope="col">Token</th>
              <th scope="col">q or k, {size} numbers</th>
              <th scope="col">q × k</th>
              <th scope="col" class="number">
                q·k{scale === 1 ? "" : ` × ${decimal(scale, 3)}`}
              </th>
              <th scope="col" class="number">
                weight
              </th>
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">
                <Name tokens={targetTokens} place={query} /> <small>query</small>
              </th>
              <td>
                <Strip values={own} reach={reach.vectors} words={`q: ${decimal(Math.hypot(...own))} long`} />
              </td>
              <td />
              <td />
              <td />
            </tr>
            {keys.map((key, i) => (
              <tr key={i} class={key === spot.key ? "chosen" : undefined}>
                <th scope="row">
                  <Name tokens={tokens} place={key} /> <small>key</small>
                </th>
                <td>
                  <Strip
                    values={keyOf(vectors, key)}
                    reach={reach.vectors}
                    words={`k: ${decimal(Math.hypot(...keyOf(vectors, key)))} long`}
                  />
                </td>
                <td>
                  <Strip values={products[i]} reach={reach.products} words={strongestDimensions(products[i])} />
                </td>
                <td class="number">{decimal(scores[i])}</td>
                <td class="number">{decimal(weightAt(pattern, query, key))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <small>
        {keys.length > 0 && `Of the first key: ${strongestDimensions(products[0])}. `}Blue is below zero, orange above. The weights are the
        softmax of the scores over all keys that the query sees. {note}
      </small>
    </div>
  );
}

const Name = ({ tokens, place }: { readonly tokens: readonly string[]; readonly place: number }) => (
  <bdi class="mono">
    <TokenText token={tokens[place] ?? ""} />
  </bdi>
);

function Strip({ values, reach, words }: { readonly values: Float32Array; readonly reach: number; readonly words: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const { current } = canvas;
    if (!current) return;
    if (current.width !== values.length) current.width = values.length;
    current.getContext("2d")?.putImageData(stripOf(values, reach), 0, 0);
  }, [values, reach]);
  return <canvas ref={canvas} class="vector" width={values.length} height={1} role="img" aria-label={words} title={words} />;
}
