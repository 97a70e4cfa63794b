import { signal } from "@preact/signals";

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

/** As the browser had it when it was last read or written. */
let known = location.hash;

/** The browser tells of another address later than it has one, so whoever changes it asks first. */
function settle(): void {
  if (location.hash === known) return;
  known = location.hash;
  address.value = read(known);
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

function write(next: Address, way: "replace" | "push"): void {
  try {
    if (way === "push") history.pushState(null, "", written(next));
    else history.replaceState(null, "", written(next));
  } catch {
    // Safari refuses more than a hundred in half a minute, as somebody slides: the next one that it takes has all of it
  }
  known = location.hash; // others leave out what comes too often without a word
  address.value = next;
}

/** Another place: the back button leads here again. */
export const go = (place: PlaceName, params: Params = {}): void => write({ place, params: text(params) }, "push");

/**
 * The same place with other settings. What changes while somebody types or slides is no step to go back over. Effects may call it: it only peeks at
 * the address, and leaves one alone that says so already, or they would follow from themselves without end.
 */
export function put(params: Params, way: "replace" | "push" = "replace"): void {
  settle();
  const { place, params: before } = address.peek();
  const merged = { ...before, ...text(params) };
  for (const [name, value] of Object.entries(params)) if (value === undefined || value === "") delete merged[name];
  const next = { place, params: merged };
  if (written(next) !== written(address.peek())) write(next, way);
}

/** A whole number of the address, where there is one. */
export function count(name: string): number | undefined {
  const given = address.value.params[name];
  return given !== undefined && /^\d+$/.test(given) ? Number(given) : undefined;
}

/** The address of a sight, for links. */
export const link = (place: PlaceName, params: Params = {}): string => written({ place, params: text(params) });
