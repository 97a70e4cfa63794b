// Two "hosts" on one machine, with nothing but a network between them: `node scripts/ranks-over-tcp.mjs [--only laws|equal|speed|gone] [--rounds 2] [--gbits no,10,1]`, as root on
// Linux (after a build; wants Open MPI 4's mpirun, ip and tc). Each host is a network namespace with a name of its own; what leaves it goes over TCP through one link. On them
// it runs the laws of test/journeys/ranks.test.ts; compares the weights of all ranks with each other; times steps at 1 and 10 Gbit/s; and takes the link
// away in the middle of a training. All addresses are inside the namespaces, which are gone at the end.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bestAndMedian, sums, trained, workloads } from "./ranks-work.mjs";

const root = new URL("..", import.meta.url).pathname;
const { values: flags } = parseArgs({
  options: { only: { type: "string" }, rounds: { type: "string", default: "2" }, gbits: { type: "string", default: "no,10,1" } },
});
const wanted = (name) => flags.only === undefined || flags.only === name;

const lacks = ["mpirun", "ip", "tc", "unshare", "hostname"].filter((name) => spawnSync("which", [name]).status !== 0);
if (process.platform !== "linux" || process.getuid?.() !== 0 || lacks.length > 0) {
  const why =
    lacks.length > 0
      ? `${lacks.join(", ")} not found (Debian: openmpi-bin, iproute2, util-linux, hostname)`
      : "it makes network namespaces, for which it must be root on Linux";
  console.error(`ranks-over-tcp: ${why}`);
  process.exit(2);
}

const hosts = ["one", "two"].map((name, i) => ({ name, space: `qkv-${name}-${process.pid}`, address: `10.99.0.${i + 1}` }));
const [one, two] = hosts;
const network = "10.99.0.0/24";
const link = "qkv0";
const place = mkdtempSync(join(tmpdir(), "qkv-ranks-over-tcp-"));
const ip = (...words) => execFileSync("ip", words, { encoding: "utf8" });
const inside = ({ space }, ...words) => ip("netns", "exec", space, ...words);
const failures = [];
const check = (holds, words) => {
  console.log(`${holds ? "ok    " : "FAILED"}  ${words}`);
  if (!holds) failures.push(words);
};

/** Takes everything away, whatever was there. */
function tidy() {
  for (const { space } of hosts) {
    const found = spawnSync("ip", ["netns", "pids", space], { encoding: "utf8" });
    for (const pid of (found.stdout ?? "").split("\n").filter((one) => one !== "")) spawnSync("kill", ["-9", pid]);
    spawnSync("ip", ["netns", "del", space]);
  }
  rmSync(place, { recursive: true, force: true });
}
process.on("exit", tidy);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));

for (const { space } of hosts) ip("netns", "add", space);
ip("link", "add", link, "netns", one.space, "type", "veth", "peer", "name", link, "netns", two.space);
for (const host of hosts) {
  inside(host, "ip", "address", "add", `${host.address}/24`, "dev", link);
  for (const device of ["lo", link]) inside(host, "ip", "link", "set", device, "up");
}

/** A program of the shell. */
function script(name, text) {
  const file = join(place, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return file;
}
// what the launcher takes for ssh: the host, then a command; it becomes the daemon itself, so whoever ends it ends that
const agent = script("agent", `shift\nexec ip netns exec ${two.space} unshare --uts sh -c "hostname two; exec $*"`);
const only = [
  "--mca",
  "btl",
  "tcp,self",
  "--mca",
  "pml",
  "ob1",
  "--mca",
  "btl_tcp_if_include",
  network,
  "--mca",
  "oob_tcp_if_include",
  network,
];
const where = ["--host", hosts.map(({ address }) => `${address}:2`).join(","), "--map-by", "node", "--bind-to", "none"];
const launch = ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, ...only, ...where].join(" ");
const mpirun = script("mpirun", `exec ip netns exec ${one.space} unshare --uts sh -c 'hostname one; exec ${launch} "$@"' mpirun "$@"`);

/** Both directions of the link carry so many Gbit/s; as many as they like, if left out. */
function shape(gbits) {
  for (const host of hosts) {
    spawnSync("ip", ["netns", "exec", host.space, "tc", "qdisc", "del", "dev", link, "root"], { stdio: "ignore" });
    if (gbits === undefined) continue;
    const burst = `${Math.max(1, gbits)}mb`; // what a tick of the kernel's clock lets through, and more
    inside(host, "tc", "qdisc", "add", "dev", link, "root", "tbf", "rate", `${gbits}gbit`, "burst", burst, "latency", "50ms");
  }
}

if (wanted("laws")) {
  const names = "trains a|measures and answers|ends with one sentence|stops all";
  const words = ["vitest", "run", "test/journeys/ranks.test.ts", "-t", names, "--testTimeout", "1200000"];
  const { status } = spawnSync("npx", words, { cwd: root, stdio: "inherit", env: { ...process.env, CI: "true", QKV_MPIRUN: mpirun } });
  check(status === 0, "the laws of test/journeys/ranks.test.ts, over TCP");
}

if (wanted("equal")) {
  const program = join(place, "equal.mjs");
  const door = (file) => JSON.stringify(join(root, "dist", file));
  writeFileSync(
    program,
    `import { createHash } from "node:crypto";
import { chance } from ${door("base/chance.js")};
import { labelledLayout, pairLayout, trainingBatches } from ${door("batches/examples.js")};
import { idsInMemory } from ${door("batches/ids.js")};
import { trainingWindows } from ${door("batches/windows.js")};
import { modelConfig, modelLoss } from ${door("models/any.js")};
import { nodeDevice } from ${door("node/device.js")};
import { joinRanks } from ${door("processes/ranks.js")};
import { parametersOf } from ${door("runtime/compile.js")};
import { fit } from ${door("training/fit.js")};
import { optimizer as makeOptimizer } from ${door("training/optimizers.js")};
import { initialise } from ${door("weights/initialise.js")};
const ranks = await joinRanks({ clock: () => 0, lost: () => process.exit(3) });
const { group } = ranks;
const sizes = { layers: 2, heads: 2, width: 32, hidden: 48, context: 16, vocab: 11, dropout: 0.2 };
const ids = (i, more = 0) => Int32Array.from({ length: 2 + ((5 * i + more) % 9) }, (_, k) => (i * 3 + k * k + more) % 11);
const examples = Array.from({ length: 47 }, (_, i) => i);
const windows = trainingWindows(idsInMemory(Int32Array.from({ length: 900 }, (_, i) => (i * i + (i >> 3)) % 11)), { batch: 10, context: 16 }, chance(1));
const pairs = examples.map((i) => ({ source: ids(i), target: ids(i, 1), targets: ids(i, 1) }));
const labelled = examples.map((i) => ({ ids: ids(i), label: i % 3 }));
const cases = {
  decoder: [modelConfig({ model: "decoder", ...sizes }), windows],
  encoder: [modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3 }), trainingBatches(labelled, labelledLayout, { batch: 10, shapes: "any" }, chance(1))],
  "encoder-decoder": [modelConfig({ model: "encoder-decoder", ...sizes }), trainingBatches(pairs, pairLayout, { batch: 10, shapes: "any" }, chance(1))],
  rnn: [modelConfig({ model: "rnn", task: "translate", cell: "gru", layers: 1, width: 12, context: 12, vocab: 11, dropout: 0.2 }), trainingBatches(pairs, pairLayout, { batch: 10, shapes: "few" }, chance(1))],
};
for (const [name, [model, batches]] of Object.entries(cases)) {
  const loss = modelLoss(model, {});
  const layout = parametersOf(loss);
  const optimizer = makeOptimizer("adamw", layout, { weightDecay: 0.1, clip: 1, accumulates: true });
  initialise(layout, chance(2), optimizer.weights);
  const symbols = name === "encoder" || name === "encoder-decoder" ? "open" : "bound";
  const options = { steps: 100, learningRate: () => 1e-2, chance: chance(3), clock: () => 0, device: nodeDevice({ threads: 1 }), symbols, accumulate: 2, accumulates: "rows", group };
  for await (const _ of fit(loss, optimizer, batches, options));
  const all = await group.exchange(createHash("sha256").update(new Uint8Array(optimizer.weights.data.slice().buffer)).digest("hex"));
  if (group.leads) console.log(name, new Set(all).size === 1 ? "equal" : "DIFFERENT");
}
ranks.agree();
`,
  );
  for (const size of [2, 4]) {
    const { status, stdout } = spawnSync(mpirun, ["-np", `${size}`, process.execPath, program], {
      encoding: "utf8",
      cwd: place,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const found = stdout.trim().split("\n");
    check(
      status === 0 && found.length === 4 && found.every((line) => line.endsWith(" equal")),
      `the same weights on ${size} ranks after 100 steps: ${found.join(", ")}`,
    );
  }
}

if (wanted("speed")) {
  for (const gbits of flags.gbits.split(",").map((one) => (one === "no" ? undefined : Number(one)))) {
    shape(gbits);
    const name = gbits === undefined ? "no limit" : `${gbits} Gbit/s`;
    for (const [work, workload] of Object.entries(workloads))
      for (const more of [[], ["--compress", "bf16"]]) {
        const rounds = Array.from({ length: Number(flags.rounds) }, () =>
          trained(place, workload, { launcher: [mpirun], ranks: 2, threads: 1, more }),
        );
        const share = Math.min(...rounds.map(({ exchange }) => exchange));
        console.log(
          `${work}  ${name}${more.length > 0 ? ", bf16" : ""}: a step ${bestAndMedian(rounds.flatMap(({ each }) => each))} ms (best | median), exchanging ${(100 * share).toFixed(0)} %`,
        );
        for (const { chosen } of rounds) console.log(`    ${chosen}`);
      }
    process.stdout.write(sums(place, [mpirun]).replaceAll("sum of", `${name}: sum of`));
  }
  shape();
}

if (wanted("gone")) {
  const out = join(place, "gone");
  const flagsOf = [
    ...workloads.w1.flags.split(" "),
    "--steps",
    "100000",
    "--threads",
    "1",
    "--save-every",
    "100000",
    "--eval-every",
    "100000",
    "--valid-fraction",
    "0",
  ];
  const words = [
    "-np",
    "2",
    process.execPath,
    join(root, "dist/cli/main.js"),
    "train",
    join(root, "data/moby-dick.txt"),
    ...flagsOf,
    "--out",
    out,
  ];
  const job = spawn(mpirun, words, { cwd: place, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  job.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const ended = new Promise((resolve) => job.on("close", resolve));
  const steps = () => (existsSync(join(out, "log.jsonl")) ? readFileSync(join(out, "log.jsonl"), "utf8").split("\n").length - 1 : 0);
  const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  while (steps() < 3 && job.exitCode === null) await sleep(0.05);
  await sleep(0.31); // in the middle of some step
  inside(one, "ip", "link", "set", link, "down");
  const begin = performance.now();
  const code = await Promise.race([ended, sleep(120).then(() => "still there")]);
  const seconds = (performance.now() - begin) / 1000;
  const sentence = /EngineError: rank \d+ .*have not answered for \d+ seconds.*/.exec(said)?.[0];
  check(
    code !== 0 && code !== "still there" && seconds <= 60,
    `the job ended ${seconds.toFixed(1)} s after the link was gone, with code ${code}`,
  );
  check(sentence !== undefined, `it said: ${sentence ?? said.slice(-500)}`);
  await sleep(Math.max(0, 60 - seconds));
  const left = hosts.flatMap(({ space }) =>
    ip("netns", "pids", space)
      .split("\n")
      .filter((pid) => pid !== ""),
  );
  check(left.length === 0, `processes that are left on both hosts after a minute: ${left.length}`);
}
if (failures.length > 0) {
  console.error(`${failures.length} of these failed`);
  process.exitCode = 1;
}
