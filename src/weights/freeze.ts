import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { ParameterEntry, ParameterLayout } from "../graph/parameters.ts";

// Parts of a model that stay as they are while the rest is trained, told by their scopes.

// `decoder/tokens` is one parameter, `decoder/block.0` all of a block; `decoder/block.*/attention` is that of every block, and ** stands for
// any number of places.

/** The names of the parameters that lie in these scopes. */
export function parametersIn(layout: ParameterLayout, scopes: readonly string[]): ReadonlySet<string> {
  const names = layout.entries.map(({ name }) => name);
  const found = scopes.flatMap((scope) => {
    const matches = patternOf(scope);
    const inside = names.filter((name) => matches.test(name));
    if (inside.length === 0) throw unknownScope(scope, names);
    return inside;
  });
  return new Set(found);
}

/** The layout of what is trained when these scopes are frozen. */
export function trainedLayout(layout: ParameterLayout, freeze: readonly string[] = []): ParameterLayout {
  if (freeze.length === 0) return layout;
  const frozen = parametersIn(layout, freeze);
  let total = 0;
  const entries = layout.entries
    .filter(({ name }) => !frozen.has(name))
    .map((entry): ParameterEntry => {
      total += entry.length;
      return { ...entry, offset: total - entry.length };
    });
  if (entries.length === 0)
    throw new ConfigError(`every parameter is frozen (${freeze.join(", ")}), so there is nothing to train; freeze less`, {
      code: "config.conflict",
      path: "training.freeze",
    });
  return { ...layout, entries, total };
}

function patternOf(scope: string): RegExp {
  const parts = scope.replace(/^\/+|\/+$/g, "").split(/(\*\*|\*)/);
  const text = parts.map((part) => (part === "**" ? ".*" : part === "*" ? "[^/]*" : part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")));
  return new RegExp(`^${text.join("")}(/|$)`);
}

function unknownScope(scope: string, names: readonly string[]): ConfigError {
  const paths = names.map((name) => name.split("/"));
  const places = new Set(paths.flatMap((path) => path.map((_, i) => path.slice(0, i + 1).join("/"))));
  const near = suggest(scope, places);
  const outer = [...new Set(paths.map((path) => path.slice(0, 2).join("/")))];
  const hint = near || `; there are ${outer.slice(0, 12).join(", ")}${outer.length > 12 ? ", …" : ""}`;
  return new ConfigError(`no parameter lies in "${scope}"${hint}`, { code: "config.unknown-name", path: "training.freeze" });
}
