import { RunError } from "../../base/errors.ts";

// One worker at a time has a storage. The lock is the browser's, so it goes with the worker, whatever ends it.

/** A page that is loaded again waits so many milliseconds for the worker that it had before: Chromium lets one that is busy go on for two seconds. */
const patience = 5000;

/** Takes the lock; gives back what lets go of it. `who` is told to those who come in vain. */
export async function lockStorage(name: string, who: string): Promise<() => void> {
  const lock = `qkv storage ${name}`;
  const release = await held(lock, AbortSignal.timeout(patience));
  if (release === undefined)
    throw new RunError(`${await holderOf(lock)} has the storage "${name}" open; close it and load this page again`, { code: "run.busy" });
  const noted = await held(`${lock}: ${who}`); // nobody waits for this one: it is there to be read
  return () => {
    noted?.();
    release();
  };
}

function held(name: string, signal?: AbortSignal): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const holding = (lock: Lock | null) =>
      new Promise<void>((release) => {
        resolve(lock ? release : undefined);
        if (!lock) release();
      });
    const asked = signal
      ? navigator.locks.request(name, { signal }, holding)
      : navigator.locks.request(name, { ifAvailable: true }, holding);
    asked.catch((error: unknown) => (signal?.aborted ? resolve(undefined) : reject(error)));
  });
}

async function holderOf(name: string): Promise<string> {
  const { held: locks = [] } = await navigator.locks.query();
  const note = locks.find((lock) => lock.name?.startsWith(`${name}: `))?.name?.slice(name.length + 2);
  return `another tab of this site${note ? ` (${note})` : ""}`;
}
