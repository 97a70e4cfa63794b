import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { Running, type Workplace } from "./command.ts";

// The real command under a real launcher of MPI.

const main = join(import.meta.dirname, "../../dist/cli/main.js");

/** Another launcher than the system's, such as one that starts ranks on two hosts. */
const launcher = process.env.QKV_MPIRUN ?? "mpirun";

/** Why there is no launcher here, if there is none; CI must not go on without one. */
export const noLauncher = ((): string | undefined => {
  const found = spawnSync(launcher, ["--version"], { encoding: "utf8" });
  if (found.status === 0) return undefined;
  if (process.env.CI) throw new Error("there is no mpirun here, and CI must not skip what needs it");
  return "there is no mpirun here (Debian: apt-get install openmpi-bin), so what needs it is skipped";
})();
if (noLauncher !== undefined) console.warn(noLauncher);

/** As in a container: as root, and with more ranks than cores. */
const flags = ["--allow-run-as-root", "--oversubscribe"];

/** `mpirun -np <size> qkv …`, in a process group of its own. */
export function startRanks(place: Workplace, size: number, args: readonly string[], more: readonly string[] = []): Running {
  const env = { ...process.env, XDG_CACHE_HOME: place.path(".cache"), NO_COLOR: "1", OMPI_MCA_mpi_yield_when_idle: "1" };
  const words = [...flags, ...more, "-np", `${size}`, process.execPath, main, ...args];
  return new Running(spawn(launcher, words, { cwd: place.folder, env }), "");
}
