import { computed, signal } from "@preact/signals";
import type { RunFacts } from "../../src/worker/found.ts";
import { computer, standing } from "../compute/place.ts";
import { folderOf, nameOf } from "./names.ts";

// The runs that there are, wherever they lie.

/** Undefined until they were asked for once. */
export const runs = signal<readonly RunFacts[] | undefined>(undefined);
export const runsError = signal<string | undefined>(undefined);

let asked = 0;

/** Asks for them; of two questions only the later one's answer counts. */
export async function refreshRuns(): Promise<void> {
  if (standing.value.state !== "ready") return;
  const number = ++asked;
  try {
    const found = await computer().runs();
    if (number !== asked) return;
    runs.value = found;
    runsError.value = undefined;
  } catch (error) {
    if (number === asked) runsError.value = error instanceof Error ? error.message : String(error);
  }
}

export { folderOf, nameOf };

export const runNamed = (name: string | undefined): RunFacts | undefined =>
  name === undefined ? undefined : runs.value?.find(({ run }) => nameOf(run) === name);

/** Those that can be opened, for choosing one. */
export const openable = computed(() => (runs.value ?? []).filter(({ opens }) => opens));

/** A name that no run has, and none of the others that are given: the wish itself, or with a number behind it. */
export function freeName(wish: string, others: Iterable<string> = []): string {
  const clean =
    wish
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "") || "run";
  const taken = new Set([...others, ...(runs.value ?? []).map(({ run }) => nameOf(run))]);
  for (let number = 1; ; number++) {
    const name = number === 1 ? clean : `${clean}-${number}`;
    if (!taken.has(name)) return name;
  }
}
