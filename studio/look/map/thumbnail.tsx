import { useEffect, useRef } from "preact/hooks";
import type { Activation } from "../../../src/inspection/observe.ts";
import { scaleOf } from "../../../src/pictures/scale.ts";
import { planeOf } from "./numbers.ts";

const most = 48;

/** Where a head looks, small: a row for each query. Long texts are seen through their first tokens of each stretch. */
export function Thumbnail({ pattern, head }: { readonly pattern: Activation; readonly head: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current) return;
    const { rows, columns, data } = planeOf(pattern, head);
    const [high, wide] = [Math.min(most, rows), Math.min(most, columns)];
    [canvas.current.width, canvas.current.height] = [wide, high];
    const scale = scaleOf(
      "sequential",
      0,
      data.reduce((a, b) => Math.max(a, Math.abs(b)), 0),
      "root",
    );
    const image = context.createImageData(wide, high);
    for (let i = 0; i < high; i++)
      for (let j = 0; j < wide; j++) {
        const value = data[Math.floor((i * rows) / high) * columns + Math.floor((j * columns) / wide)];
        if (value !== 0) image.data.set([...scale.colour(Math.abs(value)), 255], 4 * (i * wide + j));
      }
    context.putImageData(image, 0, 0);
  }, [pattern, head]);
  return <canvas ref={canvas} />;
}
