import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

/** Compares a picture with the file of its name beside the tests. `QKV_PICTURES=write` writes the files anew, to be looked at. */
export function expectPicture(name: string, picture: string): void {
  const file = join(import.meta.dirname, name);
  if (process.env.QKV_PICTURES === "write") writeFileSync(file, picture);
  expect(existsSync(file), `${name} is missing; look at what QKV_PICTURES=write writes`).toBe(true);
  // Not toBe: a diff of two long lines takes minutes and says nothing.
  expect(readFileSync(file, "utf8") === picture, `${name} is drawn otherwise; look at what QKV_PICTURES=write writes`).toBe(true);
}
