// The first day of somebody with data, from the packed package in an empty folder: train on tickets, see how good it is, label a file, go on
// with more tickets, answer from a server, look inside. Anything unexpected ends it, loudly. `node scripts/newcomer.mjs`, about half a minute.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "qkv-newcomer-"));
const began = performance.now();

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

function expect(holds, what) {
  if (holds) return;
  console.error(`\nnot as expected: ${what}\n(all of it is in ${folder})`);
  process.exit(1);
}

/** Runs a command in the folder and gives what it prints; whatever it says on standard error is shown when it fails. */
function run(command, ...args) {
  const since = performance.now();
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 });
  const shown = [command, ...args].map((word) => (/^[\w./:=@-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
  console.log(`\n$ ${shown}   (${seconds(since)})`);
  expect(status === 0, `exit code ${status}${error ? ` (${error.message})` : ""}\n${stdout}${stderr}`);
  return stdout;
}

const qkv = (...args) => run("npx", "qkv", ...args);

function json(text) {
  expect(/^\{.*\}\n$/.test(text), `one line of JSON, not:\n${text}`);
  return JSON.parse(text);
}

const write = (name, text) => writeFileSync(join(folder, name), text);
const read = (name) => readFileSync(join(folder, name), "utf8");

// 1. The package, as npm gives it, in an empty project. What `npm install hono @hono/node-server` would bring is copied from here.
const pack = spawnSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: root, encoding: "utf8" });
expect(pack.status === 0, pack.stderr);
write("package.json", JSON.stringify({ type: "module", private: true }));
run("npm", "install", JSON.parse(pack.stdout)[0].filename, "--ignore-scripts", "--no-audit", "--no-fund");
for (const name of ["hono", "@hono/node-server"])
  cpSync(join(root, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
expect(/^\d+\.\d+\.\d+\n$/.test(qkv("--version")), "a version");

// 2. Tickets.
const things = { delivery: ["parcel", "driver"], payment: ["card", "invoice"], account: ["password", "login"] };
const phrases = ["the * is wrong", "my * is lost", "please check my *", 'it says "*", why?', "help with the *"];
const people = ["Ann", "Bob", "Cleo", "Dan"];
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
const csv = (header, rows) => [header, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
/** About every thing, every phrase, of everybody: the thing tells the topic. */
const tickets = (topics, said = phrases, from = people) =>
  Object.entries(topics).flatMap(([topic, names]) =>
    names.flatMap((name) => said.flatMap((phrase) => from.map((who) => [`Hello,\n${phrase.replace("*", name)}. ${who}`, topic]))),
  );
const numbered = (rows) => rows.map((row, i) => [`T-${i + 1}`, ...row]);
write("tickets.csv", csv(["Id", "Body", "Topic"], numbered(tickets(things))));
console.log(`\ntickets.csv has ${tickets(things).length} tickets of ${Object.keys(things).length} topics`);

// 3. Train, and see how good it is.
const small = ["--layers", "1", "--heads", "2", "--width", "32", "--batch", "16", "--lr", "0.01", "--seed", "1", "--quiet", "--json"];
const columns = ["--text-column", "Body", "--label-column", "Topic"];
const trained = json(qkv("train", "tickets.csv", ...columns, "--steps", "80", ...small, "--out", "runs/tickets"));
expect(trained.steps === 80 && trained.validLoss < 0.5, `a small validation loss, not ${trained.validLoss}`);
console.log(`loss ${trained.loss.toFixed(3)}, validation ${trained.validLoss.toFixed(3)}`);
const report = json(qkv("eval", "runs/tickets", "--json"));
expect(report.accuracy > 0.7 && report.confusion.length === 3, `a good accuracy, not ${report.accuracy}`);
console.log(`accuracy ${report.accuracy.toFixed(2)} and f1 ${report.f1.toFixed(2)} on ${report.examples} tickets that were held out`);

// 4. Label a file.
const inbox = tickets(things, ["please help, my * is lost"], ["Ivy"]);
write(
  "inbox.csv",
  csv(
    ["Id", "Body", "From"],
    inbox.map(([body], i) => [`N-${i}`, body, `user${i}@example.org`]),
  ),
);
const labelled = json(qkv("classify", "runs/tickets", "--in", "inbox.csv", "--column", "Body", "--out", "predictions.csv", "--json"));
expect(labelled.rows === inbox.length && labelled.out === "predictions.csv", `${inbox.length} rows, not ${labelled.rows}`);
const predictions = read("predictions.csv");
console.log(predictions.trimEnd());
expect(predictions.startsWith("Id,Body,From,label,probability\n"), "the columns of inbox.csv, and two more");
const right = inbox.filter(([, topic], i) => new RegExp(`user${i}@example\\.org,${topic},0?\\.?\\d`).test(predictions)).length;
expect(right >= inbox.length - 1, `most labels right, not ${right} of ${inbox.length}`);

// 5. More tickets, with a topic that is new: go on from what was learned.
{
  const more = tickets({ ...things, returns: ["exchange", "refund"] }, phrases, people.slice(2));
  write("more.csv", csv(["Id", "Body", "Topic"], numbered(more)));
  const again = json(
    qkv("train", "more.csv", ...columns, "--from", "runs/tickets", "--steps", "60", ...small.slice(6), "--out", "runs/more"),
  );
  expect(again.run === "runs/more" && again.validLoss < 1, `a small validation loss, not ${again.validLoss}`);
  const { results } = json(qkv("classify", "runs/more", "Hello, please check my refund. Ann", "--json"));
  expect(results[0].label === "returns", `the new topic, not ${results[0].label}`);
  console.log(`"${results[0].text}" is ${results[0].label} (${results[0].probabilities.returns.toFixed(2)})`);
}

// 6. A server: the model is opened once, and answers.
write(
  "server.mjs",
  `import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { open } from "qkv";

const run = open("runs/tickets", { threads: 1 });
const app = new Hono();
app.post("/label", async (c) => {
  const { texts } = await c.req.json();
  return c.json(await run.classify(texts));
});

const body = JSON.stringify({ texts: ["my parcel is lost", "my password is lost"] });
const labels = async (response) => (await response.json()).map(({ label }) => label);
const direct = await labels(await app.request("/label", { method: "POST", body }));
const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, async ({ port }) => {
  const fetched = await labels(await fetch(\`http://127.0.0.1:\${port}/label\`, { method: "POST", body }));
  console.log(JSON.stringify({ direct, fetched }));
  await run.release();
  server.close();
});
`,
);
const served = json(run(process.execPath, "server.mjs"));
console.log(`/label says ${served.fetched.join(", ")}`);
for (const labels of [served.direct, served.fetched])
  expect(labels.join() === "delivery,account", `delivery and account, not ${labels.join(" and ")}`);

// 7. Look inside.
qkv("look", "runs/tickets", "my parcel is lost", "--out", "look.svg");
expect(read("look.svg").startsWith("<svg") && read("look.svg").includes("parcel"), "a picture with the words in it");
qkv("look", "runs/tickets", "my parcel is lost", "--out", "look.html");
expect(existsSync(join(folder, "look.html")), "a page");

rmSync(folder, { recursive: true });
console.log(`\nall as expected, in ${seconds(began)}`);
