import { type Pattern, pixelsOf } from "../../../page/pattern.ts";

// Small maps, drawn when they can be seen, a few at a time. A map that changes is drawn over, so nothing flashes.

const mostPixels = 64;
/** So many milliseconds of drawing, then the reader's turn. */
const patience = 8;

export class Thumbnails {
  readonly #patterns = new Map<Element, () => Pattern>();
  readonly #seen = new Set<Element>();
  readonly #stale = new Set<Element>();
  readonly #observer = new IntersectionObserver((entries) => this.#notice(entries), { rootMargin: "120px" });
  #asked = 0;

  show(canvas: HTMLCanvasElement, pattern: () => Pattern): void {
    this.#patterns.set(canvas, pattern);
    this.#stale.add(canvas);
    this.#observer.observe(canvas);
    this.#ask();
  }

  leave(canvas: HTMLCanvasElement): void {
    this.#observer.unobserve(canvas);
    for (const kept of [this.#patterns, this.#seen, this.#stale]) kept.delete(canvas);
  }

  end(): void {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#asked);
  }

  #notice(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#seen.add(target);
      else this.#seen.delete(target);
    }
    this.#ask();
  }

  #ask(): void {
    if (this.#asked === 0) this.#asked = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#asked = 0;
    const end = performance.now() + patience;
    for (const canvas of this.#stale) {
      if (!this.#seen.has(canvas)) continue;
      if (performance.now() > end) {
        this.#ask();
        return;
      }
      this.#stale.delete(canvas);
      const pattern = this.#patterns.get(canvas);
      if (pattern && canvas instanceof HTMLCanvasElement) drawn(canvas, pattern());
    }
  }
}

function drawn(canvas: HTMLCanvasElement, pattern: Pattern): void {
  const image = pixelsOf(pattern, mostPixels);
  if (canvas.width !== image.width || canvas.height !== image.height) [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}
