// What so many minutes buy on a text: `qkv train text.txt --minutes n`, as anybody types it, on a quiet machine.
// node scripts/minutes.mjs text.txt 5 15 30 60 [-- flags of qkv train]
// Each time is a run of its own in runs/minutes-<text>-<n>, whose loss is over the whole held-out tenth. What was measured is kept beside it and not measured again, so the
// script can be ended and called with more times; the table is printed at the end.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const words = process.argv.slice(2);
const end = words.includes("--") ? words.indexOf("--") : words.length;
const [text, ...times] = words.slice(0, end);
const flags = words.slice(end + 1);
if (text === undefined || times.length === 0 || times.some((time) => !(Number(time) > 0)))
  throw new Error("say a text and some minutes: node scripts/minutes.mjs text.txt 5 15 30 60");

const main = join(fileURLToPath(new URL("..", import.meta.url)), "dist/cli/main.js");
const qkv = (...args) =>
  JSON.parse(execFileSync(process.execPath, [main, ...args, "--json"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));

const rows = times.map(Number).map((minutes) => {
  const run = `runs/minutes-${basename(text).replace(/\.\w+$/, "")}-${minutes}`;
  const kept = `${run}.json`;
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8"));
  rmSync(run, { recursive: true, force: true }); // half a run has had less than its time
  const begin = performance.now();
  const trained = qkv("train", text, "--valid-fraction", "0.1", "--minutes", `${minutes}`, "--out", run, ...flags);
  const seconds = (performance.now() - begin) / 1000;
  const { model, training } = JSON.parse(readFileSync(`${run}/config.json`, "utf8"));
  const { layers, width, heads, context, dropout } = model;
  const { steps, batch, lr, optimizer, schedule } = training;
  const row = {
    ...{ minutes, seconds, loss: qkv("eval", run).loss, validLoss: trained.validLoss, trainLoss: trained.loss },
    ...{ parameters: trained.parameters, tokensPerSecond: trained.tokensPerSecond },
    ...{ trainingSeconds: trained.trainingSeconds, validationSeconds: trained.validationSeconds },
    ...{ layers, width, heads, context, dropout, steps, batch, lr, optimizer, schedule, flags },
  };
  writeFileSync(kept, `${JSON.stringify(row)}\n`);
  console.log(JSON.stringify(row));
  return row;
});

const counted = (value) => Math.round(value).toLocaleString("en");
console.log("\n| minutes | whole seconds | validation loss | layers × width, context | parameters | dropout | batch × steps |");
console.log("|---|---|---|---|---|---|---|");
for (const { minutes, seconds, loss, layers, width, context, parameters, dropout, batch, steps } of rows)
  console.log(
    `| ${minutes} | ${counted(seconds)} | ${loss.toFixed(4)} | ${layers} × ${width}, ${context} | ${counted(parameters)} | ${dropout} | ${batch} × ${counted(steps)} |`,
  );
