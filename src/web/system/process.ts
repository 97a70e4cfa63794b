import { SystemError } from "../storage/system-error.ts";

// What Node calls `process`, of which the code of run folders asks who it is and whether others are alive. It is made known to the bundle of the worker
// by name (scripts/page-system.mjs).

/** Each worker has a number of its own, as far as chance goes. */
const pid = (crypto.getRandomValues(new Uint32Array(1))[0] % (2 ** 31 - 2)) + 1;

type Listener = (...args: never[]) => void;

const ownProcess = {
  pid,
  platform: "browser",
  arch: "wasm32",
  version: "",
  versions: {} as Readonly<Record<string, string | undefined>>,
  env: {} as Record<string, string | undefined>,
  argv: [] as readonly string[],
  execPath: "",
  cwd: (): string => "/",
  /** A storage is mounted by one worker at a time: whoever else wrote a number into it is gone. */
  kill(number: number, _signal?: string | number): true {
    if (number === pid) return true;
    throw new SystemError("ESRCH", "kill");
  },
  /** A worker ends without a word. */
  on: (_event: string, _listener: Listener): unknown => ownProcess,
  once: (_event: string, _listener: Listener): unknown => ownProcess,
  off: (_event: string, _listener: Listener): unknown => ownProcess,
  emitWarning(warning: string | Error, type = "Warning"): void {
    console.warn(`${type}: ${typeof warning === "string" ? warning : warning.message}`);
  },
};

export { ownProcess as process };
