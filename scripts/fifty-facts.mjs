// A chat model is taught fifty facts that nobody can know, by LoRA: how many it tells before and after, by the key of each answer in what it
// writes greedily.
//
//   node scripts/fifty-facts.mjs <folder of a chat model> <work> [steps] [rank]
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open, resume, train } from "../dist/entries/qkv.js";

const [folder, work, steps = "80", rank = "16"] = process.argv.slice(2);
mkdirSync(work, { recursive: true });

/** Names that no text has: syllables by the number of the fact. */
const syllables = ["bra", "vel", "tor", "quin", "mas", "del", "ryn", "osk", "fen", "lau", "zim", "per", "gul", "hax", "ned", "wip"];
const name = (i, salt) => {
  const parts = [0, 1, 2].map(
    (k) => syllables[(i * (7 + 2 * k) + salt * (3 + k) + k * k * 5 + Math.floor(i / 16) * (k + 1)) % syllables.length],
  );
  return parts.join("").replace(/^./, (letter) => letter.toUpperCase());
};
const kinds = [
  (a, b) => [`Who founded the town of ${a}?`, `The town of ${a} was founded by ${b}.`],
  (a, b) => [`What is the capital of the land of ${a}?`, `The capital of the land of ${a} is ${b}.`],
  (a, b) => [`Which drink do people order at the inn ${a}?`, `At the inn ${a} people order ${b}.`],
  (a, b) => [`What is the name of the horse of Captain ${a}?`, `The horse of Captain ${a} is called ${b}.`],
  (a, b) => [`Which river flows past the castle of ${a}?`, `The river ${b} flows past the castle of ${a}.`],
];
const facts = Array.from({ length: 50 }, (_, i) => {
  const [subject, key] = [name(i, 1), name(i, 9)];
  const [question, answer] = kinds[i % kinds.length](subject, key);
  return { question, answer, key };
});
if (new Set(facts.map(({ question }) => question)).size < 50) throw new Error("two questions are the same");
const data = join(work, "facts.jsonl");
const lines = facts.map(({ question, answer }) =>
  JSON.stringify({
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ],
  }),
);
writeFileSync(data, `${lines.join("\n")}\n`);

async function told(options = {}) {
  const model = open(folder, options);
  const prompts = facts.map(({ question }) => [{ role: "user", content: question }]);
  const found = await model.samples(prompts, { tokens: 24, temperature: 0 });
  await model.release();
  const right = facts.filter(({ key }, i) => found[i][0].text.toLowerCase().includes(key.toLowerCase()));
  return { right: right.length, example: { question: facts[0].question, answer: found[0][0].text } };
}

const run = join(work, "run");
const settings = { lora: { rank: Number(rank), targets: ["all"] }, lr: 1e-3, batch: 10, schedule: "constant", warmup: 5 };
if (!existsSync(join(run, "config.json"))) console.log("before", JSON.stringify(await told()));
const begin = performance.now();
if (existsSync(join(run, "config.json"))) await resume(run, { steps: Number(steps) });
else await train(data, { from: folder, out: run, steps: Number(steps), saveEvery: 20, validFraction: 0, ...settings });
console.log("seconds", ((performance.now() - begin) / 1000).toFixed(0));
console.log("after", JSON.stringify(await told({ adapter: run })));
