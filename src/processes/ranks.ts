import { cpus, hostname } from "node:os";
import { EngineError } from "../base/errors.ts";
import { engineVersion } from "../node/engine.ts";
import { usualThreads } from "../node/machine.ts";
import { version } from "../node/version.ts";
import type { Compression } from "../training/carrier.ts";
import { Group } from "../training/group.ts";
import { endLauncher, launchedAs } from "./launcher.ts";
import { Mpi } from "./mpi.ts";

// The ranks that a launcher of MPI started, as one group.

export interface JoinOptions {
  /** The library of MPI; that of the launcher if left out. */
  readonly mpi?: string;
  readonly compress?: Compression;
  /** Seconds. */
  readonly clock: () => number;
  /** Told when the others have not answered for so many seconds that a host must be gone; then this process ends. */
  readonly lost: (rank: number, host: string, seconds: number) => void;
}

export interface Ranks {
  readonly group: Group;
  /** What carries bytes between them. */
  readonly library: string;
  /** What is different between hosts, but lets them compute together. */
  readonly warnings: readonly string[];
  /** Threads of each rank of this host, so that they share its cores. */
  readonly threads: number;
  /** All have come to an end of which all know; else whoever ends first ends the others. */
  agree(): void;
}

/** What must be the same for all, and what may make them round differently. */
interface Self {
  readonly host: string;
  readonly must: Readonly<Record<string, string>>;
  readonly may: Readonly<Record<string, string>>;
}

async function selfOf(): Promise<Self> {
  return {
    host: hostname(),
    must: { qkv: version(), "ONNX Runtime": await engineVersion() },
    may: { CPU: cpus()[0]?.model.trim() ?? process.arch, Node: process.version },
  };
}

/** The others that were started with this process; none, if it was started by itself. */
export async function joinRanks({ mpi: library, compress, clock, lost }: JoinOptions): Promise<Ranks | undefined> {
  const launch = launchedAs();
  if (!launch) return undefined;
  const own = await selfOf();
  const mpi = await Mpi.join(launch, {
    ...(library !== undefined && { library }),
    lost(seconds) {
      lost(launch.rank, own.host, seconds);
      void endLauncher().finally(() => process.kill(process.pid, "SIGKILL")); // what waits for the others can be ended in no other way
    },
  });
  let agreed = false;
  const leave = (code: number) => {
    if (agreed) return;
    for (const other of process.listeners("exit")) if (other !== leave) other.call(process, code); // what others tidy up: nothing comes after this
    mpi.abort(code || 1);
  };
  process.once("exit", leave);
  const all = (await new Group(mpi).exchange(JSON.stringify(own))).map((text) => JSON.parse(text) as Self);
  const hosts = all.map(({ host }) => host);
  const [different] = differences(all, "must");
  if (different !== undefined) throw new EngineError(`${different}; install the same on all hosts`, { code: "engine.ranks" });
  return {
    group: new Group(mpi, { hosts, clock, ...(compress && { compress }) }),
    library: mpi.version,
    warnings: differences(all, "may").map((one) => `${one}; sums may be rounded differently from host to host`),
    threads: usualThreads(),
    agree() {
      agreed = true;
      mpi.close();
    },
  };
}

/** What hosts say differently from the first. */
function differences(all: readonly Self[], which: "must" | "may"): string[] {
  const [first] = all;
  const found = all.flatMap((one) =>
    Object.entries(one[which])
      .filter(([name, value]) => first[which][name] !== value)
      .map(([name, value]) => `${one.host} has ${name} ${value}, and ${first.host} has ${first[which][name]}`),
  );
  return [...new Set(found)];
}
