import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EngineError } from "../base/errors.ts";

type Canvas = typeof import("@napi-rs/canvas");
let loading: Promise<Canvas> | undefined;

/** Two pixels for each unit of the drawing, so that small labels stay sharp. */
const scale = 2;

/**
 * A picture as PNG, on light paper. Text is drawn with the fonts of a package, so it looks the same on a machine without any; for characters
 * that these lack, with the machine's. Those that no font has are told to `warn`: they are empty boxes.
 */
export async function pngOf(svg: string, warn?: (sentence: string) => void): Promise<Uint8Array> {
  loading ??= load();
  const canvas = await loading;
  const missing = warn ? await undrawable(svg, canvas) : [];
  if (missing.length > 0) {
    const some = `${missing.slice(0, 20).join(" ")}${missing.length > 20 ? ` and ${missing.length - 20} more` : ""}`;
    warn?.(`no font here has ${some}, so they are boxes in the PNG; write .svg or .html, or install a font that has them`);
  }
  return drawn(svg, canvas);
}

/** The characters of a picture that look as one does that no font has. Latin, Greek and Cyrillic are in the package's fonts. */
async function undrawable(svg: string, canvas: Canvas): Promise<string[]> {
  const characters = new Set(
    svg.replace(/<[^>]*>/g, "").match(/[\u0590-\u1fff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\u{10000}-\u{10ffff}]/gu),
  );
  if (characters.size === 0) return [];
  const picture = (character: string) =>
    drawn(
      `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><text x="2" y="18" font-size="16" font-family="system-ui, sans-serif">${character}</text></svg>`,
      canvas,
    );
  const box = Buffer.from(await picture("\u{10fffd}"));
  const found: string[] = [];
  for (const character of characters) if (box.equals(await picture(character))) found.push(character);
  return found;
}

async function drawn(svg: string, { createCanvas, loadImage }: Canvas): Promise<Uint8Array> {
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
