import { expect, it } from "vitest";
import { hidden } from "../../studio/stores/hidden.ts";

it("what a model of hidden words is shown has one: the short word nearest to the middle, unless somebody hid one already", () => {
  expect(hidden("the mouse ran up the clock", "<mask>")).toBe("the mouse <mask> up the clock");
  expect(hidden("the [MASK] ran", "[MASK]")).toBe("the [MASK] ran");
  expect(hidden('console.log(residual ? "with" : length.toExponential(1));', "<mask>")).toBe('console.log(residual ? "with" : <mask>');
});
