// What a browser keeps for this page beyond it: a word under a name. Where it keeps nothing, as some do for visitors who want to leave no trace, or is
// full, it is known until the page is left.

const here = new Map<string, string>();

export function kept(name: string): string | undefined {
  if (here.has(name)) return here.get(name);
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined forgets it. */
export function keep(name: string, value: string | undefined): void {
  here.delete(name);
  try {
    if (value === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    if (value !== undefined) here.set(name, value);
  }
}
