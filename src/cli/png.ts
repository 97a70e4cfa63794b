import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EngineError } from "../base/errors.ts";

type Canvas = typeof import("@napi-rs/canvas");
let loading: Promise<Canvas> | undefined;

/** Two pixels for each unit of the drawing, so that small labels stay sharp. */
const scale = 2;

/** A picture as PNG, on light paper. Text is drawn with the fonts of a package, so it looks the same on a machine without any. */
export async function pngOf(svg: string): Promise<Uint8Array> {
  loading ??= load();
  const { createCanvas, loadImage } = await loading;
  const image = await loadImage(Buffer.from(svg));
  const canvas = createCanvas(scale * image.width, scale * image.height);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.encode("png");
}

async function load(): Promise<Canvas> {
  try {
    const canvas = await import("@napi-rs/canvas");
    const folder = join(dirname(createRequire(import.meta.url).resolve("dejavu-fonts-ttf/package.json")), "ttf");
    // Pictures ask for the first family of their list, system-ui.
    for (const file of ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf"]) canvas.GlobalFonts.registerFromPath(join(folder, file), "system-ui");
    return canvas;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    const cure = "npm install @napi-rs/canvas dejavu-fonts-ttf";
    throw new EngineError(`PNG pictures need a renderer that could not be loaded (${reason}); install it with: ${cure}, or ask for .svg`, {
      cause: error,
    });
  }
}
