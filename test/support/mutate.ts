import type { Chance } from "../../src/base/chance.ts";

// Damage, for tests that hostile files end in a typed error: of the letters of a text, or of the tree of a JSON text.

/** The text with a few mutations that depend only on the source of chance. */
export function mutate(text: string, source: Chance): string {
  const mutations = 1 + source.integer(0, 3);
  let mutated = text;
  for (let i = 0; i < mutations; i++) {
    const one = source.fork(i);
    mutated = one.uniform(0) < 0.5 ? mutateLetters(mutated, one.fork("letters")) : mutateTree(mutated, one.fork("tree"));
  }
  return mutated;
}

export function mutateLetters(text: string, source: Chance): string {
  const at = source.integer(0, text.length + 1);
  const length = 1 + source.integer(1, source.uniform(2) < 0.8 ? 4 : 200);
  const [before, middle, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)];
  switch (source.integer(3, 5)) {
    case 0:
      return before + String.fromCharCode((middle.charCodeAt(0) || 32) ^ (1 << source.integer(4, 8))) + middle.slice(1) + after;
    case 1:
      return before + after;
    case 2:
      return before + middle + middle + after;
    case 3:
      return (
        before + pick(['"', "{", "}", "[", "]", ",", ":", "0", "-1", "1e99", "null", "\0", "\ud800", "\\"], source, 5) + middle + after
      );
    default:
      return before;
  }
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Changes one value or one key somewhere in the tree; a text that is not JSON any more stays as it is. */
export function mutateTree(text: string, source: Chance): string {
  let tree: Json;
  try {
    tree = JSON.parse(text);
  } catch {
    return text;
  }
  let parent: Json[] | { [key: string]: Json } = { root: tree };
  const root = parent;
  let key = "root";
  // A walk to a random depth reaches the few values at the top as often as the many in the vocabulary.
  for (let depth = 0; source.uniform(2 * depth) < 0.8; depth++) {
    const value: Json = (parent as Record<string, Json>)[key];
    if (value === null || typeof value !== "object") break;
    const keys = Object.keys(value);
    if (keys.length === 0) break;
    parent = value;
    key = pick(keys, source, 2 * depth + 1);
  }
  change(parent as Record<string, Json>, key, source.fork("change"));
  return JSON.stringify(root.root ?? null);
}

function change(parent: Record<string, Json>, key: string, source: Chance): void {
  const value = parent[key];
  const define = (name: string, given: Json) =>
    Object.defineProperty(parent, name, { value: given, enumerable: true, configurable: true, writable: true });
  const kind = source.integer(0, 10);
  if (kind < 3 && typeof value === "number")
    define(key, pick([-1, 0, 1, 0.5, value + 1, value - 1, 2 ** 31, 2 ** 53, 1e308, -1e308, 1e7], source, 1));
  else if (kind < 3 && typeof value === "string")
    define(key, pick(["", `${value}${value}`, value.slice(1), "\ud800", " ", "<s>", ".*", "(", "[", "__proto__"], source, 1));
  else if (kind < 6)
    define(
      key,
      pick<Json>(
        [null, true, false, 0, -1, 3.5, "", "x", [], {}, [[]], ["a", "b"], { type: "Sequence" }, { type: "Lowercase" }],
        source,
        1,
      ),
    );
  else if (kind < 8) Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key];
  else define(pick([`${key}x`, "type", "__proto__", "constructor", "vocab", "model", "0"], source, 1), value);
}

const pick = <T>(items: readonly T[], source: Chance, place: number): T => items[source.integer(place, items.length)];
