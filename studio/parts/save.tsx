import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../stores/models.ts";

// What is shown can be kept: as SVG, as PNG, or as a page that needs nothing else.

export interface Savings {
  /** Of the file, without what comes after the dot. */
  readonly name: string;
  readonly svg?: () => string | Promise<string>;
  readonly html?: () => string | Promise<string>;
  readonly json?: () => unknown;
}

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const svgBlob = (svg: string): Blob => new Blob([svg], { type: "image/svg+xml" });

/** Drawn twice as large as it is shown, for screens and paper alike. */
async function pngOf(svg: string): Promise<Blob> {
  const address = URL.createObjectURL(svgBlob(svg));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await blobOf(canvas);
  } finally {
    URL.revokeObjectURL(address);
  }
}

const blobOf = (canvas: HTMLCanvasElement): Promise<Blob> =>
  new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("this browser could not draw the picture; save it as SVG"))),
      "image/png",
    ),
  );

export function SaveMenu({ name, svg, html, json }: Savings) {
  const [isOpen, setOpen] = useState(false);
  const [failed, setFailed] = useState<string>();
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const leave = (event: Event) => {
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key !== "Escape" : menu.current?.contains(event.target as Node)) return;
      setOpen(false);
      if (isKey) button.current?.focus();
    };
    addEventListener("keydown", leave);
    addEventListener("pointerdown", leave);
    return () => {
      removeEventListener("keydown", leave);
      removeEventListener("pointerdown", leave);
    };
  }, [isOpen]);
  const save = async (work: () => Promise<void>) => {
    setOpen(false);
    button.current?.focus(); // the one that was pressed is gone
    setFailed(undefined);
    await work().catch((error) => setFailed(messageOf(error)));
  };
  const kinds: readonly (readonly [label: string, work: (() => Promise<void>) | undefined])[] = [
    ["SVG", svg && (async () => download(`${name}.svg`, svgBlob(await svg())))],
    ["PNG", svg && (async () => download(`${name}.png`, await pngOf(await svg())))],
    ["a page of its own", html && (async () => download(`${name}.html`, new Blob([await html()], { type: "text/html" })))],
    ["JSON", json && (async () => download(`${name}.json`, new Blob([JSON.stringify(json())], { type: "application/json" })))],
  ];
  return (
    <div class="save-menu" ref={menu}>
      <button type="button" ref={button} aria-expanded={isOpen} aria-label={`Save ${name}`} onClick={() => setOpen(!isOpen)}>
        Save
      </button>
      {isOpen && (
        <ul>
          {kinds.map(
            ([label, work]) =>
              work && (
                <li key={label}>
                  <button type="button" onClick={() => save(work)}>
                    {label}
                  </button>
                </li>
              ),
          )}
        </ul>
      )}
      {failed && <small role="alert">{failed}</small>}
    </div>
  );
}
