import * as nodeFs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FileSystem } from "../../src/web/storage/file-system.ts";
import { mountedOn, use } from "../../src/web/storage/mounted.ts";
import { Volume } from "../../src/web/storage/volume.ts";
import * as pageFs from "../../src/web/system/fs.ts";
import { FakeDisk } from "../support/fake-handles.ts";

// The stand-in for node:fs answers as node:fs does, whatever is asked, in memory and in a storage.

/** What may be asked of ours may be asked of Node's. */
const node: typeof pageFs = nodeFs;

type Fs = typeof pageFs;
type Flags = Parameters<Fs["openSync"]>[1];

/** What is asked of both; `open` are the files that are open. */
type Call = (fs: Fs, at: (path: string) => string, open: number[]) => unknown;
interface Step {
  readonly says: string;
  readonly call: Call;
}

const names = ["a", "b", "a/c", "a/d", "a/c/e", "b/f", ".", "a/..", "a/../b", "b/", "a/c/", "g/h"];
const path = fc.constantFrom(...names);
const bytes = fc
  .uint8Array({ maxLength: 9000, size: "max" })
  .map((some) => (some.length > 40 ? new Uint8Array(some.length).fill(some[0]) : some));
const place = fc.option(fc.nat(12000), { nil: null });
const flags = fc.constantFrom<Flags>("r", "r+", "w", "w+", "wx", "a", "a+");
const file = fc.nat(3);

const step = (says: string, call: Call): Step => ({ says, call });
const chosen = (open: number[], i: number): number => open[i % Math.max(1, open.length)] ?? 987_654;
const facts = (stat: pageFs.Stats | undefined) =>
  stat && [stat.isFile(), stat.isDirectory(), stat.isFile() ? stat.size : 0, stat.isFile() ? stat.nlink : 0];
/** A path without the folder in which it all happens; a "/" at its end is not told by each. */
const within = (path: string | undefined, at: (path: string) => string) => path?.replace(/\/$/, "").slice(at("").length);
const text = (some: Uint8Array) => String.fromCharCode(...some.subarray(0, 60)) + some.length;

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(path, flags).map(([p, f]) =>
    step(`open ${p} ${f}`, (fs, at, open) => {
      open.push(fs.openSync(at(p), f));
      return "opened";
    }),
  ),
  file.map((i) =>
    step(`close ${i}`, (fs, _at, open) => {
      const descriptor = chosen(open, i);
      open.splice(i % Math.max(1, open.length), 1);
      return fs.closeSync(descriptor);
    }),
  ),
  fc
    .tuple(file, bytes, place)
    .map(([i, some, p]) =>
      step(`write ${i} ${some.length} at ${p}`, (fs, _at, open) => fs.writeSync(chosen(open, i), some, 0, some.length, p)),
    ),
  fc
    .tuple(file, fc.string({ unit: "grapheme" }))
    .map(([i, some]) => step(`write ${i} "${some}"`, (fs, _at, open) => fs.writeSync(chosen(open, i), some))),
  fc.tuple(file, fc.nat(9000), place).map(([i, length, p]) =>
    step(`read ${i} ${length} at ${p}`, (fs, _at, open) => {
      const into = new Uint8Array(length + 3);
      const count = fs.readSync(chosen(open, i), into, 2, length, p);
      return [count, text(into)];
    }),
  ),
  fc
    .tuple(file, fc.nat(12000))
    .map(([i, size]) => step(`truncate ${i} ${size}`, (fs, _at, open) => fs.ftruncateSync(chosen(open, i), size))),
  file.map((i) => step(`sync ${i}`, (fs, _at, open) => fs.fsyncSync(chosen(open, i)))),
  file.map((i) => step(`fstat ${i}`, (fs, _at, open) => facts(fs.fstatSync(chosen(open, i))))),
  path.map((p) => step(`stat ${p}`, (fs, at) => facts(fs.statSync(at(p))))),
  path.map((p) => step(`stat ${p} if there`, (fs, at) => facts(fs.statSync(at(p), { throwIfNoEntry: false })))),
  path.map((p) => step(`exists ${p}`, (fs, at) => fs.existsSync(at(p)))),
  path.map((p) => step(`mkdir ${p}`, (fs, at) => fs.mkdirSync(at(p)))),
  path.map((p) => step(`mkdir -p ${p}`, (fs, at) => within(fs.mkdirSync(at(p), { recursive: true }), at))),
  path.map((p) => step(`ls ${p}`, (fs, at) => fs.readdirSync(at(p)).toSorted())),
  path.map((p) =>
    step(`ls -R ${p}`, (fs, at) =>
      fs
        .readdirSync(at(p), { recursive: true, withFileTypes: true })
        .map((entry) => [entry.name, entry.isDirectory()].join())
        .toSorted(),
    ),
  ),
  fc.tuple(path, path).map(([p, q]) => step(`rename ${p} ${q}`, (fs, at) => fs.renameSync(at(p), at(q)))),
  fc.tuple(path, path).map(([p, q]) => step(`link ${p} ${q}`, (fs, at) => fs.linkSync(at(p), at(q)))),
  path.map((p) => step(`unlink ${p}`, (fs, at) => fs.unlinkSync(at(p)))),
  path.map((p) => step(`rmdir ${p}`, (fs, at) => fs.rmdirSync(at(p)))),
  fc
    .tuple(path, fc.boolean(), fc.boolean())
    .filter(([p]) => p !== "." && p !== "a/..")
    .map(([p, recursive, force]) => step(`rm ${p} ${recursive} ${force}`, (fs, at) => fs.rmSync(at(p), { recursive, force }))),
  path.map((p) => step(`read ${p}`, (fs, at) => text(fs.readFileSync(at(p))))),
  path.map((p) => step(`read text ${p}`, (fs, at) => fs.readFileSync(at(p), "utf8"))),
  fc.tuple(path, bytes).map(([p, some]) => step(`write ${p} ${some.length}`, (fs, at) => fs.writeFileSync(at(p), some))),
  fc.tuple(path, bytes).map(([p, some]) => step(`append ${p} ${some.length}`, (fs, at) => fs.appendFileSync(at(p), some))),
  fc.tuple(path, path).map(([p, q]) => step(`copy ${p} ${q}`, (fs, at) => fs.statSync(at(p)).isFile() && fs.copyFileSync(at(p), at(q)))),
  path.map((p) => step(`real ${p}`, (fs, at) => within(fs.realpathSync(at(p)), at))),
  fc.tuple(path, fc.nat(2e9)).map(([p, time]) =>
    step(`touch ${p}`, (fs, at) => {
      fs.utimesSync(at(p), new Date(time * 1000), new Date(time * 1000));
      return fs.statSync(at(p)).mtimeMs;
    }),
  ),
);

let folder = "";
beforeEach(() => {
  folder = nodeFs.mkdtempSync(join(tmpdir(), "qkv-same-"));
});
afterEach(() => nodeFs.rmSync(folder, { recursive: true, force: true }));

const errorsOf = (work: () => unknown): unknown => {
  try {
    return work() ?? "nothing";
  } catch (error) {
    const { code, syscall } = error as { code?: string; syscall?: string };
    if (code === undefined) throw error;
    return { code, system: syscall !== undefined };
  }
};

let later: (() => void)[] = [];
const volume = (disk: FakeDisk) => new Volume(disk.handles, { host: "test", now: Date.now(), later: (work) => void later.push(work) });

const runs = Number(process.env.QKV_FUZZ ?? 150);
let round = 0;

it.each(["memory", "a storage"])("answers as node:fs does, in %s", (where) => {
  fc.assert(
    fc.property(fc.array(steps, { minLength: 1, maxLength: 60, size: "max" }), fc.infiniteStream(fc.nat(9)), (list, chances) => {
      const root = join(folder, `${round++}`);
      nodeFs.mkdirSync(root);
      const disk = new FakeDisk();
      later = [];
      const system = new FileSystem({ volume: where === "memory" ? undefined : volume(disk), now: Date.now });
      use(mountedOn(system));
      pageFs.mkdirSync("/in");
      const [theirs, ours]: [number[], number[]] = [[], []];
      for (const { says, call } of list) {
        const expected = errorsOf(() => call(node, (p) => `${root}/${p}`, theirs));
        const found = errorsOf(() => call(pageFs, (p) => `/in/${p}`, ours));
        expect(found, says).toEqual(expected);
        if (chances.next().value === 0) for (const work of later.splice(0)) work(); // what is brought to the disk in between changes nothing
      }
      if (where === "memory") return;
      // What is mounted again is what was there, also where something was open.
      const before = treeOf(pageFs, "/in");
      expect(before).toEqual(treeOf(node, root));
      system.volume?.close();
      use(mountedOn(new FileSystem({ volume: volume(disk), now: Date.now })));
      expect(treeOf(pageFs, "/in")).toEqual(before);
      for (const descriptor of theirs) errorsOf(() => nodeFs.closeSync(descriptor));
    }),
    { numRuns: runs },
  );
});

/** Every file and folder, and what it holds. */
const treeOf = (fs: Fs, path: string): unknown =>
  fs
    .readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((entry) => {
      const inner = `${path}/${entry.name}`;
      return [entry.name, entry.isDirectory() ? treeOf(fs, inner) : Array.from(fs.readFileSync(inner)).join()];
    });
