import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Checkpoints } from "../../src/disk/checkpoints.ts";
import type { FileSystem } from "../../src/web/storage/file-system.ts";
import type { mountedOn, use } from "../../src/web/storage/mounted.ts";
import type { Volume } from "../../src/web/storage/volume.ts";
import type * as pageFs from "../../src/web/system/fs.ts";
import { FakeDisk } from "../support/fake-handles.ts";
import { importPageBundle } from "../support/page-bundle.ts";

// A storage after a crash: at any write, cut or flush, with what was not flushed lost, kept or torn at any byte, several times in a row.

interface Bundle {
  readonly fs: typeof pageFs;
  readonly Checkpoints: typeof Checkpoints;
  readonly FileSystem: typeof FileSystem;
  readonly Volume: typeof Volume;
  readonly mountedOn: typeof mountedOn;
  readonly use: typeof use;
}

let page: Bundle;
beforeAll(async () => {
  page = await importPageBundle<Bundle>(`
    export * as fs from "node:fs";
    export { Checkpoints } from "./src/disk/checkpoints.ts";
    export { FileSystem } from "./src/web/storage/file-system.ts";
    export { mountedOn, use } from "./src/web/storage/mounted.ts";
    export { Volume } from "./src/web/storage/volume.ts";
  `);
});

/** What nobody syncs comes to the disk some time: when this is called. */
let later: (() => void)[] = [];
let volume: Volume;
let disk: FakeDisk;

function mount(): void {
  later = [];
  volume = new page.Volume(disk.handles, { host: "test", now: 0, later: (work) => void later.push(work), smallestWaste: 1 });
  page.use(page.mountedOn(new page.FileSystem({ volume, now: Date.now, temporary: ["/tmp"] })));
}

const torn = fc.noBias(fc.integer({ min: 1, max: 999 })).map((share) => share / 1000);
const fates = fc.infiniteStream(fc.oneof(fc.constantFrom(0, 1), torn));
const runs = Number(process.env.QKV_FUZZ ?? 400);

/** All that is there: paths, and what they hold. */
const snapshot = (folder = ""): string[][] =>
  page.fs.readdirSync(`${folder}/`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (path === "/tmp") return [];
    return entry.isDirectory() ? [[path, "folder"], ...snapshot(path)] : [[path, "file", page.fs.readFileSync(path).join()]];
  });

const paths = ["/a", "/b", "/b/c", "/b/d", "/e/f"];
const path = fc.constantFrom(...paths);
const content = fc
  .tuple(fc.integer({ min: 1, max: 255 }), fc.constantFrom(1, 3, 4095, 4096, 4097, 9000))
  .map(([byte, size]) => new Uint8Array(size).fill(byte));

/** Changes the files; gives back true if everything so far must be safe now. */
type Step = () => boolean;
const change = (work: () => void) => (): boolean => {
  work();
  return false;
};

/** What was there when everything was safe: contents by the numbers of their files. */
let safe = new Map<number, string>();
const contents = () => new Map([["/", "folder"], ...snapshot()].map(([of, ...held]) => [page.fs.statSync(of).ino, held.join()]));

/** A folder's sync makes everything safe. That of a file does if the file was known, and has changed since. */
function syncs(of: string): boolean {
  const { fs } = page;
  const [number, folder] = [fs.statSync(of).ino, fs.statSync(of).isDirectory()];
  const descriptor = fs.openSync(of, "r");
  try {
    fs.fsyncSync(descriptor);
    return folder || (safe.has(number) && contents().get(number) !== safe.get(number));
  } finally {
    fs.closeSync(descriptor);
  }
}

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(path, content).map(([p, bytes]) => change(() => page.fs.writeFileSync(p, bytes))),
  fc.tuple(path, content).map(([p, bytes]) => change(() => page.fs.appendFileSync(p, bytes))),
  fc.tuple(path, content, fc.nat(12000)).map(([p, bytes, at]) =>
    change(() => {
      const descriptor = page.fs.openSync(p, "r+");
      page.fs.writeSync(descriptor, bytes, 0, bytes.length, at);
      page.fs.closeSync(descriptor);
    }),
  ),
  fc.tuple(path, fc.nat(10000)).map(([p, size]) =>
    change(() => {
      const descriptor = page.fs.openSync(p, "r+");
      page.fs.ftruncateSync(descriptor, size);
      page.fs.closeSync(descriptor);
    }),
  ),
  path.map((p) => change(() => page.fs.mkdirSync(p))),
  fc.tuple(path, path).map(([p, q]) => change(() => page.fs.renameSync(p, q))),
  fc.tuple(path, path).map(([p, q]) => change(() => page.fs.linkSync(p, q))),
  path.map((p) => change(() => page.fs.rmSync(p, { recursive: true }))),
  path.map((p) => () => syncs(p)),
  ...Array.from({ length: 3 }, () => fc.constant(() => syncs("/"))),
  fc.nat(3).map((after) =>
    change(() => {
      disk.refuseAfter = after;
    }),
  ),
  fc.constant(() => {
    volume.compact();
    return true;
  }),
  fc.constant(() => {
    const [waiting, refuses] = [later.splice(0), disk.refuseAfter < 3];
    for (const work of waiting) work();
    return waiting.length > 0 && !refuses; // a refusal is kept for whoever asks
  }),
);

/** Steps, how many writes, cuts and flushes they come to, and what ends then: the machine or only the worker. */
const round = fc.record({
  list: fc.array(steps, { minLength: 1, maxLength: 30, size: "max" }),
  after: fc.noBias(fc.integer({ min: 1, max: 24 })),
  power: fc.boolean(),
});

it("is what it was at a moment between the last sync and the crash", () => {
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 6, size: "max" }), fates, (rounds, fate) => {
      disk = new FakeDisk();
      mount();
      for (const { list, after, power } of rounds) {
        safe = contents();
        let states = [snapshot()];
        disk.plan({ after });
        for (const step of list) {
          let all = false;
          try {
            all = step();
          } catch (error) {
            if (!("code" in (error as Error))) throw error; // what a file system refuses, it refuses
          }
          if (all && !disk.crashed) {
            states = [];
            safe = contents();
          }
          states.push(snapshot());
          if (disk.crashed) break;
        }
        if (power) disk.crash(() => fate.next().value);
        else disk.end();
        disk.refuseAfter = Number.POSITIVE_INFINITY;
        mount();
        expect(states).toContainEqual(snapshot());
      }
    }),
    { numRuns: runs },
  );
});

describe("the real checkpoints over it", () => {
  const saves = fc.array(
    fc.record({ bytes: fc.constantFrom(10, 5000, 40_000), keep: fc.integer({ min: 1, max: 3 }), again: fc.boolean() }),
    {
      minLength: 2,
      maxLength: 12,
    },
  );

  it("are complete or absent, and never older than the last that was saved", () => {
    fc.assert(
      fc.property(
        saves,
        fc.array(fc.tuple(fc.noBias(fc.nat(150)), fc.boolean()), { minLength: 1, maxLength: 4 }),
        fates,
        (list, moments, fate) => {
          disk = new FakeDisk();
          let [step, saved] = [0, 0];
          const filesOf = (at: number, bytes: number) =>
            new Map([
              ["weights.safetensors", [new Uint8Array(bytes).fill(at), new Uint8Array(3).fill(at + 1)]],
              ["place.json", [new TextEncoder().encode(`${at}`)]],
            ]);
          const rest = list.values();
          for (const [after, power] of moments) {
            mount();
            disk.plan({ after });
            try {
              const checkpoints = new page.Checkpoints("/runs/one/checkpoints");
              checkpoints.clean();
              for (const { bytes, keep, again } of rest) {
                if (!again) step++;
                checkpoints.save(step, filesOf(step, bytes));
                if (disk.crashed) break;
                saved = step;
                checkpoints.prune(keep);
                if (disk.crashed) break;
              }
            } catch (error) {
              if (!disk.crashed) throw error;
            }
            if (power) disk.crash(() => fate.next().value);
            else disk.end();
            mount();
            const warnings: string[] = [];
            const found = new page.Checkpoints("/runs/one/checkpoints").latest((sentence) => warnings.push(sentence));
            expect(warnings).toEqual([]);
            expect(found?.step ?? 0).toBeGreaterThanOrEqual(saved);
            expect(found?.step ?? 0).toBeLessThanOrEqual(step);
            if (found) {
              expect(new TextDecoder().decode(found.read("place.json"))).toBe(`${found.step}`);
              expect(new Set(found.read("weights.safetensors").subarray(0, 10))).toEqual(new Set([found.step]));
            }
            step = found?.step ?? 0;
            saved = step;
          }
        },
      ),
      { numRuns: runs },
    );
  });

  it("say that the disk is full, leave those before as they are, and go on when there is room again", () => {
    const files = (step: number, bytes: number) => new Map([["weights.safetensors", [new Uint8Array(bytes).fill(step)]]]);
    fc.assert(
      fc.property(fc.nat(400_000), (room) => {
        disk = new FakeDisk();
        mount();
        const checkpoints = new page.Checkpoints("/run/checkpoints");
        checkpoints.save(1, files(1, 50_000));
        disk.quota = disk.used + room;
        const refused = () => checkpoints.save(2, files(2, 500_000));
        expect(refused).toThrow(
          /^could not save the checkpoint of step 2 \(0\.5 MB\) in \/run\/checkpoints: the disk is full; free some space$/,
        );
        expect(checkpoints.list()).toEqual([1]);
        mount();
        expect(page.fs.readdirSync("/run/checkpoints")).toEqual(["1"]);
        expect(checkpoints.latest(() => {})?.step).toBe(1);
        disk.quota = Number.POSITIVE_INFINITY;
        checkpoints.save(2, files(2, 500_000));
        expect(checkpoints.latest(() => {})?.step).toBe(2);
      }),
      { numRuns: 60 },
    );
  });
});
