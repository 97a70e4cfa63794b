import { readFileSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";

// Whether a launcher of MPI started this process, and which library is its own.

export interface Launch {
  readonly rank: number;
  readonly size: number;
}

/** What launchers tell their processes: Open MPI, MPICH and its kin, and Slurm. */
const told: readonly { readonly size: string; readonly rank: string }[] = [
  { size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK" },
  { size: "PMI_SIZE", rank: "PMI_RANK" },
  { size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID" },
];

/** None, for a process that was started by itself, or as the only one. */
export function launchedAs(env: Readonly<Record<string, string | undefined>> = process.env): Launch | undefined {
  for (const { size, rank } of told) {
    const [all, own] = [Number(env[size] ?? Number.NaN), Number(env[rank] ?? Number.NaN)];
    if (all > 1 && own >= 0) return { rank: own, size: all };
  }
  return undefined;
}

/** Open MPI 2 to 5, the standard interface of MPI-5, MPICH and its kin. */
const names: readonly string[] =
  process.platform === "darwin"
    ? ["libmpi.40.dylib", "libmpi_abi.1.dylib", "libmpi.12.dylib", "libmpi.dylib"]
    : ["libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12", "libmpich.so.12", "libmpi.so"];

/** Programs that start ranks, or stand between the one that does and its ranks on a host. */
const launchers = /^(mpirun|mpiexec|orterun|orted|prterun|prted|hydra_pmi_proxy|mpiexec\.hydra|pmi_proxy)/;

/** Where the library of the launcher may be, the likeliest place first: beside the launcher, and where the system looks. */
export function libraries(env: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const isOpen = env.OMPI_COMM_WORLD_SIZE !== undefined;
  const likely = (name: string) => name.includes("40") === isOpen; // the kind that the launcher says it is
  const sorted = [...names.filter(likely), ...names.filter((name) => !likely(name))];
  return [...librariesBeside().flatMap((folder) => sorted.map((name) => join(folder, name))), ...sorted];
}

function librariesBeside(): string[] {
  try {
    const home = dirname(readlinkSync(`/proc/${launcherOf(process.ppid)}/exe`));
    return [join(home, "../lib"), join(home, "../lib64")];
  } catch {
    return []; // a launcher of somebody else, or none
  }
}

/** Asks the launcher, twice, which it takes for an order: one that waits for a host that is gone would wait for ever. */
export async function endLauncher(): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const pid = launcherOf(process.ppid);
    if (pid === undefined) return;
    process.kill(pid, "SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** The nearest process from this one upwards that is a launcher; only Linux tells. */
function launcherOf(pid: number): number | undefined {
  try {
    for (let at = pid; at > 1; ) {
      const stat = readFileSync(`/proc/${at}/stat`, "utf8");
      const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
      if (launchers.test(name)) return at;
      at = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    }
  } catch {
    // another system
  }
  return undefined;
}
