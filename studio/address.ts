import { computed, type ReadonlySignal, signal } from "@preact/signals";

// What is looked at is in the address, all of it: `#look?run=book-lm&text=Call%20me&layer=0`. So a reload, the back button and a link to
// somebody else's screen lead to the same sight.

export const places = ["learn", "look", "ask", "compare"] as const;
export type PlaceName = (typeof places)[number];

export interface Address {
  readonly place: PlaceName;
  readonly params: Readonly<Record<string, string>>;
}

export function read(hash: string): Address {
  const [name, question = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const place = places.find((one) => one === name) ?? "learn";
  return { place, params: Object.fromEntries(new URLSearchParams(question)) };
}

export function written({ place, params }: Address): string {
  const question = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== "")).toString();
  return `#${place}${question === "" ? "" : `?${question}`}`;
}

export const address = signal<Address>(read(location.hash));

/** The browser tells of another address later than it has one, so whoever changes it asks first. */
function settle(): void {
  if (location.hash !== written(address.value)) address.value = read(location.hash);
}

addEventListener("hashchange", settle);

// A link inside the app is followed at once: between a click and the browser's word of it, somebody could put the old address back.
document.addEventListener("click", (event) => {
  const anchor = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null;
  if (!anchor || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  history.pushState(null, "", anchor.hash);
  settle();
});

/** Values that are left out or undefined go. */
export type Params = Readonly<Record<string, string | number | undefined>>;

const text = (params: Params): Record<string, string> =>
  Object.fromEntries(Object.entries(params).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]])));

/** Another place: the back button leads here again. */
export function go(place: PlaceName, params: Params = {}): void {
  const next = { place, params: text(params) };
  history.pushState(null, "", written(next));
  address.value = next;
}

/** The same place with other settings. What changes while somebody types or slides is no step to go back over. */
export function put(params: Params, history: "replace" | "push" = "replace"): void {
  settle();
  const { place, params: before } = address.value;
  const merged = { ...before, ...text(params) };
  for (const [name, value] of Object.entries(params)) if (value === undefined || value === "") delete merged[name];
  const next = { place, params: merged };
  if (history === "push") window.history.pushState(null, "", written(next));
  else window.history.replaceState(null, "", written(next));
  address.value = next;
}

/** One setting of the address, as a signal. */
export const param = (name: string): ReadonlySignal<string | undefined> => computed(() => address.value.params[name]);

/** A whole number of the address, where there is one. */
export function count(name: string): number | undefined {
  const given = address.value.params[name];
  return given !== undefined && /^\d+$/.test(given) ? Number(given) : undefined;
}

/** The address of a sight, for links. */
export const link = (place: PlaceName, params: Params = {}): string => written({ place, params: text(params) });
