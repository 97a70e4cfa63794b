import { useEffect, useRef } from "preact/hooks";
import type { AttentionHead } from "../../src/inspection/look.ts";
import { colourAt } from "../../src/pictures/colour.ts";
import { link } from "../address.ts";
import type { Live } from "../stores/live.ts";
import { chosenSnapshot } from "./chosen.ts";

// Where each head looks while the model reads the same beginning: small patterns that change as it learns.

export function Heads({ live }: { readonly live: Live }) {
  const { snapshot } = chosenSnapshot(live);
  const look = snapshot?.look;
  if (!look && live.isOver && !snapshot) return null;
  return (
    <section class="panel heads" aria-labelledby="heads-title">
      <header>
        <h2 id="heads-title">Where its heads look</h2>
        <span class="soft">each row a token that reads, each column a token that it reads; bright is much</span>
      </header>
      <div class="head-rows" style={{ minHeight: `${76 * Math.min(8, live.layers)}px` }}>
        {look
          ? look.layers.map(({ layer, heads }) => (
              <div key={layer} class="head-row">
                <small>layer {layer + 1}</small>
                <div class="head-cells">
                  {heads.map((head) => (
                    <a
                      key={head.head}
                      class="head-link"
                      href={link("look", { run: live.name, view: "attention", layer, head: head.head, text: snapshot.prompt })}
                      title={`Layer ${layer + 1}, head ${head.head + 1}: look at it`}
                    >
                      <Pattern head={head} label={`Pattern of layer ${layer + 1}, head ${head.head + 1}`} />
                    </a>
                  ))}
                </div>
              </div>
            ))
          : snapshot && <p class="soft">This model has no attention to look at.</p>}
      </div>
    </section>
  );
}

function Pattern({ head: { pattern }, label }: { readonly head: AttentionHead; readonly label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    const [rows, columns] = [pattern.length, pattern[0]?.length ?? 0];
    if (!canvas.current || !context || rows === 0 || columns === 0) return;
    [canvas.current.width, canvas.current.height] = [columns, rows];
    const image = context.createImageData(columns, rows);
    for (const [query, weights] of pattern.entries())
      for (const [key, weight] of weights.entries())
        image.data.set([...colourAt("sequential", Math.sqrt(Math.max(0, weight))), 255], 4 * (query * columns + key));
    context.putImageData(image, 0, 0);
  }, [pattern]);
  return <canvas ref={canvas} class="pattern" role="img" aria-label={label} />;
}
