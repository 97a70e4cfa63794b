import { expect, it } from "vitest";
import { RowProgress } from "../../src/cli/row-progress.ts";

/** What is written on a screen, with a clock that is set by hand. */
function shown(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  const clock = { now: 0 };
  const progress = new RowProgress({ isTTY, columns, write: (text) => written.push(text) }, () => clock.now);
  return { progress, clock, written };
}

const event = (done: number, begun = 0) => ({ done, begun, saved: begun, rows: 3000 });

it("says a line now and then where nobody can renew one: rows, their rate and the time that is left", () => {
  const { progress, clock, written } = shown(false);
  for (const [now, done] of [
    [0, 0],
    [5, 500],
    [10, 1000],
    [11, 1100],
    [20, 2000],
  ]) {
    clock.now = now;
    progress.show(event(done));
  }
  progress.end();
  expect(written).toEqual(["row 1,000/3,000  100 rows/s  0:20 left\n", "row 2,000/3,000  100 rows/s  0:10 left\n"]);
});

it("counts the rate of this time alone when it goes on, and says so", () => {
  const { progress, clock, written } = shown(false);
  progress.show(event(2000, 2000));
  clock.now = 10;
  progress.show(event(2500, 2000));
  expect(written).toEqual(["going on at row 2,001 of 3,000\n", "row 2,500/3,000  50 rows/s  0:10 left\n"]);
});

it("renews its line in a terminal, within its width, and takes it away at the end", () => {
  const { progress, clock, written } = shown(true, 24);
  clock.now = 1;
  progress.show(event(1000));
  progress.show(event(1001)); // too soon
  progress.end();
  progress.end();
  expect(written).toEqual(["\r\x1b[Krow 1,000/3,000  1,000 ", "\r\x1b[K"]);
});
