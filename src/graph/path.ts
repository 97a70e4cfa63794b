// Where in the model we are while a graph is built. Building is synchronous, so one variable, restored on the way out, is enough.
let path = "";

export const currentPath = (): string => path;

export const joinPath = (a: string, b: string): string => (a && b ? `${a}/${b}` : a || b);

/** The second path if it lies inside the first, as the more exact one. */
export const deeper = (a: string, b: string): string => (a === "" || b.startsWith(`${a}/`) ? b || a : a);

/** Runs `build` as part of the place `place`: nodes made there carry its name. */
export function withPath<T>(place: string, build: () => T): T {
  const before = path;
  path = place;
  try {
    return build();
  } finally {
    path = before;
  }
}
