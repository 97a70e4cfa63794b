import { readFileSync } from "node:fs";
import { EngineError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { Stretches, Wire } from "../training/wire.ts";
import { type Launch, libraries } from "./launcher.ts";

// MPI, called through koffi: ten functions of a library that is on the machine. It moves bytes; what is added up is added by us.

/** What koffi gives, as far as it is used. */
interface Koffi {
  load(file: string, options?: { global?: boolean }): Library;
  config(options: Readonly<Record<string, number>>): unknown;
}

interface Library {
  func(declaration: string): Foreign;
  symbol(name: string, type: string): unknown;
}

interface Foreign {
  (...args: unknown[]): number;
  async(...args: unknown[]): void;
}

/** How a library names what it always has: addresses of its own, or numbers. */
interface Interface {
  readonly handle: "void *" | "int";
  world(library: Library): unknown;
  byte(library: Library): unknown;
}

const interfaces: Readonly<Record<"open" | "mpich" | "standard", Interface>> = {
  open: {
    handle: "void *",
    world: (library) => library.symbol("ompi_mpi_comm_world", "char"),
    byte: (library) => library.symbol("ompi_mpi_byte", "char"),
  },
  mpich: { handle: "int", world: () => 0x44000000, byte: () => 0x4c00010d },
  standard: { handle: "void *", world: () => 0x101n, byte: () => 0x247n },
};

/** Calls may come from several threads, one at a time. */
const serialized = 2;
/** MPICH wants more of a stack than koffi gives to calls that are waited for. */
const stackBytes = 8 * 2 ** 20;

export interface MpiOptions {
  /** A library; that of the launcher if left out. */
  readonly library?: string;
  /** Called when nobody has answered for so long that a host must be gone. */
  readonly lost: (seconds: number) => void;
}

export class Mpi implements Wire {
  readonly rank: number;
  readonly size: number;
  /** What the library calls itself. */
  readonly version: string;
  /** Seconds after which somebody who has not answered counts as gone; for ever, if left out. */
  patience: number | undefined;
  readonly #byte: unknown;
  readonly #world: unknown;
  readonly #functions: Readonly<Record<"scatter" | "spread" | "broadcast", Foreign>>;
  readonly #abort: Foreign;
  readonly #finalize: Foreign;
  readonly #lost: (seconds: number) => void;
  readonly #koffi: Koffi;
  /** What the library reads and writes at this moment: nothing of it may be collected. */
  readonly #lent = new Set<readonly unknown[]>();

  private constructor(koffi: Koffi, library: Library, { lost }: MpiOptions) {
    this.#koffi = koffi;
    this.version = versionOf(library);
    const { handle, world, byte } = interfaces[kindOf(library, this.version)];
    const declared = (declaration: string) => library.func(declaration.replaceAll("HANDLE", handle));
    this.#lost = lost;
    this.#abort = declared("int MPI_Abort(HANDLE, int)");
    this.#finalize = declared("int MPI_Finalize()");
    this.#functions = {
      scatter: declared("int MPI_Alltoallv(void *, int *, int *, HANDLE, void *, int *, int *, HANDLE, HANDLE)"),
      spread: declared("int MPI_Allgatherv(void *, int, HANDLE, void *, int *, int *, HANDLE, HANDLE)"),
      broadcast: declared("int MPI_Bcast(void *, int, HANDLE, int, HANDLE)"),
    };
    process.env.OMPI_MCA_mpi_yield_when_idle ??= "1"; // who waits does so in a loop, and what it waits for may want its core
    declared("int MPI_Init_thread(void *, void *, int, _Out_ int *)")(null, null, serialized, [0]);
    this.#world = world(library);
    this.#byte = byte(library);
    const asked = (name: string): number => {
      const found = [0];
      declared(`int ${name}(HANDLE, _Out_ int *)`)(this.#world, found);
      return found[0];
    };
    [this.rank, this.size] = [asked("MPI_Comm_rank"), asked("MPI_Comm_size")];
  }

  /** Joins the others that the launcher started. */
  static async join(launch: Launch, options: MpiOptions): Promise<Mpi> {
    const koffi = await loadKoffi();
    koffi.config({ async_stack_size: stackBytes, resident_async_pools: 2 });
    const mpi = new Mpi(koffi, loadLibrary(koffi, options.library), options);
    if (mpi.size === launch.size) return mpi;
    mpi.close();
    throw new EngineError(
      sentence`the launcher started ${launch.size} processes, and ${mpi.version} knows of ${mpi.size}: it is not the launcher's own library; say which is, with ${setting("mpi")}`,
      { code: "engine.ranks" },
    );
  }

  scatter(send: Uint8Array, sent: Stretches, into: Uint8Array, received: Stretches): Promise<void> {
    return this.#call(
      "scatter",
      send,
      sent.counts,
      sent.places,
      this.#byte,
      into,
      received.counts,
      received.places,
      this.#byte,
      this.#world,
    );
  }

  spread(own: Uint8Array, into: Uint8Array, received: Stretches): Promise<void> {
    return this.#call("spread", own, own.length, this.#byte, into, received.counts, received.places, this.#byte, this.#world);
  }

  broadcast(bytes: Uint8Array): Promise<void> {
    return this.#call("broadcast", bytes, bytes.length, this.#byte, 0, this.#world);
  }

  close(): void {
    keepLoaded(this.#koffi);
    this.#finalize();
  }

  /** Ends all ranks: without that, the others would wait for ever. */
  abort(code: number): void {
    this.#abort(this.#world, code);
  }

  /** On another thread, so that signals are heard and a host that is gone is noticed. */
  #call(name: "scatter" | "spread" | "broadcast", ...args: readonly unknown[]): Promise<void> {
    const { patience = Number.POSITIVE_INFINITY } = this;
    let waited = 0;
    // seconds in which this process was awake: one that was stopped with the others has not waited for them
    const late = Number.isFinite(patience) ? setInterval(() => ++waited >= patience && this.#lost(waited), 1000) : undefined;
    return new Promise((resolve, reject) => {
      this.#lent.add(args);
      this.#functions[name].async(...args, (error: Error | null, code: number) => {
        this.#lent.delete(args);
        clearInterval(late);
        if (error) reject(error);
        else if (code !== 0) reject(new EngineError(`MPI failed (${name}, error ${code})`, { code: "engine.ranks" }));
        else resolve();
      });
    });
  }
}

async function loadKoffi(): Promise<Koffi> {
  try {
    const module = (await import("koffi")) as unknown as { default?: Koffi } & Koffi;
    return module.default ?? module;
  } catch (cause) {
    throw new EngineError(
      "a launcher of MPI started this process, and koffi, which calls MPI, is not installed; install it with: npm install koffi",
      {
        code: "engine.missing",
        cause,
      },
    );
  }
}

function loadLibrary(koffi: Koffi, given: string | undefined): Library {
  for (const file of given === undefined ? libraries() : [given]) {
    try {
      return koffi.load(file, { global: true }); // the plugins of Open MPI look for its symbols
    } catch {
      // the next one may be there
    }
  }
  if (given !== undefined)
    throw new EngineError(sentence`${setting("mpi", given)} could not be loaded; give the path of a libmpi`, { code: "engine.missing" });
  throw new EngineError(
    sentence`a launcher of MPI started this process, and its library (libmpi) was not found; say where it is, with ${setting("mpi")}`,
    { code: "engine.missing" },
  );
}

/** What `dlopen` is told: now, only what is loaded, and never to be unloaded. */
const pinned = 0x2 | 0x4 | 0x1000;

/**
 * Threads that have called into a library, or its plugins, tidy up in them when they end. By then Open MPI has let go of its plugins, and
 * koffi of all libraries, which would end the process with a fault; so whatever is loaded stays. Only Linux tells what is.
 */
function keepLoaded(koffi: Koffi): void {
  try {
    const files = new Set(readFileSync("/proc/self/maps", "utf8").match(/\/\S+\.so(\.\d+)*$/gm));
    const open = koffi.load("libc.so.6").func("void *dlopen(const char *, int)");
    for (const file of files) open(file, pinned);
  } catch {
    // another system, or another library of C
  }
}

/** It may be asked before everything else. */
function versionOf(library: Library): string {
  const [text, length] = [Buffer.alloc(8192), [0]];
  library.func("int MPI_Get_library_version(char *, _Out_ int *)")(text, length);
  return text
    .toString("latin1", 0, length[0])
    .split(/[\n,\0]/)[0]
    .replace(/\s+/g, " ")
    .trim();
}

function kindOf(library: Library, version: string): keyof typeof interfaces {
  if (/open mpi/i.test(version)) return "open";
  return isStandard(library) ? "standard" : "mpich";
}

/** A library of the standard interface says which version of it; one that has its own as well says none. */
function isStandard(library: Library): boolean {
  try {
    const [major, minor] = [[-1], [-1]];
    library.func("int MPI_Abi_get_version(_Out_ int *, _Out_ int *)")(major, minor);
    return major[0] > 0;
  } catch {
    return false;
  }
}
