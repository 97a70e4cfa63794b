import { GraphError } from "../base/errors.ts";

/** How names inside a model start: its own values, its outputs, gradients and random bytes. People's names must not. */
export const prefixes = { internal: "qkv:", output: "output ", gradient: "gradient of ", noise: "noise " } as const;

/** Names live side by side in one model, so they must differ, and leave alone those that are used inside. */
export function checkNames(names: readonly (readonly [string, string])[]): void {
  const seen = new Map<string, string>();
  for (const [kind, name] of names) {
    const before = seen.get(name);
    if (before) throw new GraphError(`${before} and ${kind} are both called "${name}"; rename one of them`);
    if (name === "" || name === "__proto__") throw new GraphError(`${kind} cannot be called "${name}"; give it another name`);
    const reserved = Object.values(prefixes).find((prefix) => name.startsWith(prefix));
    if (reserved) throw new GraphError(`${kind} cannot be called "${name}": names that start with "${reserved}" are used inside`);
    seen.set(name, kind);
  }
}
