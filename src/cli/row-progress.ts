import type { PredictFileEvent } from "../library/predict-file.ts";
import { duration, type Screen } from "./terminal.ts";

const secondsBetweenLines = 10;
const framesPerSecond = 10;

const grouped = (value: number): string => Math.round(value).toLocaleString("en");

/** Shows how rows are answered: a line that renews itself in a terminal, a line now and then elsewhere. */
export class RowProgress {
  readonly #screen: Screen;
  readonly #clock: () => number;
  readonly #begin: number;
  #shown: number;
  #line = "";

  constructor(screen: Screen, clock: () => number) {
    this.#screen = screen;
    this.#clock = clock;
    this.#begin = clock();
    this.#shown = this.#begin;
  }

  show({ done, rows, begun }: PredictFileEvent): void {
    const now = this.#clock();
    if (done === begun && begun > 0) this.#screen.write(`going on at row ${grouped(begun + 1)} of ${grouped(rows)}\n`);
    if (done === begun || now - this.#shown < (this.#screen.isTTY ? 1 / framesPerSecond : secondsBetweenLines)) return;
    this.#shown = now;
    const rate = (done - begun) / (now - this.#begin);
    const facts = `row ${grouped(done)}/${grouped(rows)}  ${grouped(rate)} rows/s  ${duration((rows - done) / rate)} left`;
    if (!this.#screen.isTTY) this.#screen.write(`${facts}\n`);
    else {
      this.#line = facts.slice(0, Math.max(20, (this.#screen.columns ?? 100) - 1));
      this.#screen.write(`\r\x1b[K${this.#line}`);
    }
  }

  /** Takes the line away that renews itself, for what is said next. */
  end(): void {
    if (this.#line !== "") this.#screen.write("\r\x1b[K");
    this.#line = "";
  }
}
