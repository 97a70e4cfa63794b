import { ConfigError, NonFiniteError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { type View, type ViewName, type ViewOptions, views } from "./views.ts";

// What is asked of a view before it is made, and of its numbers after.

/** Refuses options that change nothing about a view. */
export function refuseVain(name: ViewName, options: ViewOptions): void {
  const vain = Object.keys(options).find((option) => !views[name].flags.includes(option as keyof ViewOptions));
  if (vain !== undefined)
    throw new ConfigError(
      sentence`${setting(vain)} has no meaning for the view ${name}; leave it out, or choose another ${setting("view")}`,
      { path: vain },
    );
}

export function requireFiniteView(name: ViewName, { value }: Pick<View, "value">): void {
  if (!allFinite(value))
    throw new NonFiniteError(`the view ${name} has numbers that are NaN or infinite; the weights are damaged, or training went wrong`);
}

const allFinite = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).every(allFinite) : typeof value !== "number" || Number.isFinite(value);

/** Shares come from float32, so more than seven digits would be noise. */
export const jsonOf = ({ value }: Pick<View, "value">): string =>
  JSON.stringify(value, (_, x: unknown) => (typeof x === "number" && !Number.isInteger(x) ? Number(x.toPrecision(7)) : x));
