import { useEffect, useRef } from "preact/hooks";
import type { AttentionHead } from "../../src/inspection/look.ts";
import { colourAt } from "../../src/pictures/colour.ts";
import { link } from "../address.ts";
import type { Live } from "../stores/live.ts";
import { isLookedAt } from "../stores/sample-text.ts";
import { chosenSnapshot } from "./chosen.ts";

// Where each head looks while the model reads the same beginning: small patterns that change as it learns.

export function Heads({ live }: { readonly live: Live }) {
  const { at, snapshot } = chosenSnapshot(live);
  const step = at < live.snapshots.value.length - 1 ? snapshot?.step : undefined; // of an earlier one, the model as it was then
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
                <small>layer {layer}</small>
                <div class="head-cells">
                  {heads.map((head) => (
                    <a
                      key={head.head}
                      class="head-link"
                      href={link("look", { run: live.name, step, view: "attention", layer, head: head.head, text: snapshot.prompt })}
                      title={`Layer ${layer}, head ${head.head}: look at it`}
                    >
                      <Pattern head={head} label={`Pattern of layer ${layer}, head ${head.head}`} />
                    </a>
                  ))}
                </div>
              </div>
            ))
          : snapshot && (
              <p class="soft">
                {isLookedAt(snapshot.prompt)
                  ? "This model has no attention to look at."
                  : "What it reads is too long to draw where every head looks; a shorter text is drawn."}
              </p>
            )}
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
