// Writes the reference, docs/api, from what the build leaves in dist: signatures and comments from the declarations, what is known of each op
// from its definition, and the options of models from their schemas. `npm run docs`; another folder than docs/api may be given.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

/** Every exported declaration of a file, with its comment: name → { comment, text, kind }. */
function declarationsIn(file) {
  const source = readFileSync(file, "utf8");
  const found = new Map();
  const start =
    /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?^(export )?(?:declare )?(?:abstract )?(const|function|class|interface|type) (\w+)/gm;
  for (const match of source.matchAll(start)) {
    const [, comment, , kind, name] = match;
    const at = match.index + match[0].lastIndexOf(`${kind} ${name}`);
    const text = statement(source, at, kind);
    const before = found.get(name);
    found.set(name, { kind, comment: plain(comment) || before?.comment || "", text: before ? `${before.text}\n${text}` : text });
  }
  return found;
}

/** The text of a declaration: to the brace that closes it, or to its semicolon. */
function statement(source, at, kind) {
  let depth = 0;
  for (let i = at; i < source.length; i++) {
    if (source[i] === "=" && source[i + 1] === ">") i++;
    else if ("([{<".includes(source[i])) depth++;
    else if (")]}>".includes(source[i])) {
      depth--;
      if (depth === 0 && source[i] === "}" && (kind === "interface" || kind === "class")) return source.slice(at, i + 1);
    } else if (source[i] === ";" && depth === 0) return source.slice(at, i);
  }
  return source.slice(at);
}

const plain = (comment = "") =>
  comment
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();

/** A declaration as a person would write it. */
const readable = (text) =>
  text
    .replace(/import\("[^"]*"\)\.(\w+)/g, "$1")
    .replace(/Tensor<Attributes>/g, "Tensor")
    .replace(/(\?: [^,;)]*?) \| undefined(?=[,;)])/g, "$1")
    .replace(/^ {4}/gm, "  ");

/** What a file gives out, by name: where it is declared, and whether it is a type. */
function exportsOf(file) {
  const source = readFileSync(file, "utf8");
  const found = new Map();
  for (const [, names, from] of source.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]*)"/g)) {
    const target = declarationFile(file, from);
    for (const entry of names.split(",")) {
      const name = entry
        .trim()
        .replace(/^type /, "")
        .split(" as ")
        .at(-1)
        ?.trim();
      if (name) found.set(name, target);
    }
  }
  for (const [, from] of source.matchAll(/export \* from "([^"]*)"/g))
    for (const [name, target] of exportsOf(declarationFile(file, from))) found.set(name, target);
  return found;
}

const declarationFile = (file, from) => join(dirname(file), from.replace(/\.(ts|js)$/, ".d.ts"));

const read = new Map();
const declarations = (file) => {
  if (!read.has(file)) read.set(file, declarationsIn(file));
  return read.get(file);
};

function described(name, file, depth = "##") {
  const { comment, text, kind } = declarations(file).get(name) ?? {};
  const further = exportsOf(file).get(name);
  if (text === undefined && further) return described(name, further, depth);
  if (text === undefined) throw new Error(`${file} does not declare ${name}`);
  return { kind, comment, markdown: [`${depth} ${name}`, comment, fenced(readable(text))].filter(Boolean).join("\n\n") };
}

const fenced = (text) => `\`\`\`typescript\n${text}\n\`\`\``;
const isValue = (kind) => kind === "const" || kind === "function" || kind === "class";
const made = "Made by `npm run docs` from the sources; do not edit.";

/** Types that a signature names, as far as the same file declares them. */
function optionsOf(name, file, told) {
  const own = declarations(file);
  const words = new Set(own.get(name).text.match(/\b[A-Z]\w+\b/g) ?? []);
  const wanted = [...words].filter((word) => !told.has(word) && ["interface", "type"].includes(own.get(word)?.kind));
  for (const word of wanted) told.add(word);
  return wanted.map((word) => described(word, file, "####").markdown.replace(/^#### (\w+)/, "`$1`"));
}

async function opsPage() {
  const index = join(dist, "ops/index.d.ts");
  const { allOps } = await import(join(dist, "graph/op.js"));
  await import(join(dist, "entries/graph.js"));
  const told = new Set(["Tensor", "Operand"]);
  const lacking = [];
  const sections = [];
  for (const [name, file] of exportsOf(index)) {
    const { kind, comment, markdown } = described(name, file);
    if (!isValue(kind)) continue;
    if (!comment) lacking.push(name);
    const op = allOps.get(name);
    sections.push([markdown, ...optionsOf(name, file, told), ...(op ? [known(op)] : [])].join("\n\n"));
    told.add(name);
  }
  const inside = [...allOps.values()].filter(({ name, onnx }) => !told.has(name) && !onnx.toString().includes("never"));
  const parts = inside.filter((op) => !["input", "parameter", "constant"].includes(op.name)).map((op) => `## ${op.name}\n\n${known(op)}`);
  const text = [
    "# Ops",
    made,
    'Functions of tensors, `import { … } from "qkv/graph"`. Numbers may stand for tensors where `Operand` is written. Where a function is one op, its types are those of its examples (sizes are letters), its cost is a formula in them, and its gradient is the rule itself: `g` is the gradient of the output.',
    ...sections,
    "# Ops inside",
    "What functions above are made of, under the names that printed graphs and `qkv cost` have for them.",
    ...parts,
  ].join("\n\n");
  return { text: `${text}\n`, lacking };
}

/** What an op's own definition says: types, cost, gradient. */
function known(op) {
  const show = ({ dtype, shape }) => `${dtype}[${shape.join(", ")}]`;
  const [example] = op.examples("float32");
  const inputs = example.inputs.map(({ type }) => type);
  const types = op.type(inputs, example.attributes);
  const outputs = "dtype" in types ? [types] : types;
  const flops = op.cost(inputs, outputs, example.attributes).map((share) => share.flops.expression);
  const lines = [`- types: ${inputs.map(show).join(", ") || "nothing"} → ${outputs.map(show).join(", ")}`, `- FLOPs: ${flops.join(" + ")}`];
  if (!op.vjp) return [...lines, "- gradient: none passes"].join("\n");
  const rule = op.vjp.toString().replace(/^vjp\((.*)\) \{/, "($1) => {");
  if (/\brule\(/.test(rule)) return lines.join("\n"); // made by a helper: the comment has the formula
  return rule.includes("\n")
    ? `${lines.join("\n")}\n- gradient:\n\n${fenced(rule.replace(/^ {4}/gm, ""))}`
    : `${lines.join("\n")}\n- gradient: \`${rule}\``;
}

function layersPage() {
  const told = new Set(["Tensor", "Scope"]);
  const lacking = [];
  const sections = [];
  for (const [name, file] of exportsOf(join(dist, "layers/index.d.ts"))) {
    const { kind, comment, markdown } = described(name, file);
    if (!isValue(kind)) continue;
    if (!comment) lacking.push(name);
    sections.push([markdown, ...optionsOf(name, file, told)].join("\n\n"));
  }
  const intro =
    'What models are built from, `import { … } from "qkv/graph"`: functions of a place `p` (`p.at("name")`, or `p.shared("name", use)` for parameters that are used again), a tensor and options.';
  return { text: `${["# Layers", made, intro, ...sections].join("\n\n")}\n`, lacking };
}

async function modelsPage() {
  const { modelSchemas } = await import(join(dist, "models/config.js"));
  const lacking = [];
  const sections = Object.entries(modelSchemas).map(([model, schema]) => {
    const rows = Object.entries(schema.shape)
      .filter(([name]) => name !== "model")
      .map(([name, field]) => {
        if (!field.description) lacking.push(`${model}.${name}`);
        const { values, usual } = fieldOf(field);
        return `| \`${name}\` | ${values} | ${usual} | ${field.description ?? ""} |`;
      });
    return [`## ${model}`, ["| option | values | usual | |", "|---|---|---|---|", ...rows].join("\n")].join("\n\n");
  });
  const intro =
    "The options of each model, in `modelConfig({ model, … })`, in the `model` of `train`, and as flags of `qkv train` (`normPlace` is `--norm-place`). Usual values are those of a config; `train` chooses better ones for each task, see [training](../training.md).";
  return { text: `${["# Model options", made, intro, ...sections].join("\n\n")}\n`, lacking };
}

/** The values that an option takes, and the usual one. */
function fieldOf(field) {
  const usual = field.def.type === "default" ? `\`${field.def.defaultValue}\`` : field.def.type === "optional" ? "" : "must be given";
  const inner = field.def.innerType ?? field;
  if (inner.def.type === "enum") return { values: inner.options.map((value) => `\`${value}\``).join(", "), usual };
  return { values: { boolean: "`true`, `false`", number: "a number" }[inner.def.type] ?? inner.def.type, usual };
}

const doors = {
  qkv: "qkv",
  graph: "qkv/graph",
  training: "qkv/training",
  generation: "qkv/generation",
  inspect: "qkv/inspect",
  pictures: "qkv/pictures",
  hub: "qkv/hub",
  server: "qkv/server",
  web: "qkv/web",
};

function doorPage(entry, name) {
  const all = [...exportsOf(join(dist, `entries/${entry}.d.ts`))].sort(([a], [b]) => a.localeCompare(b));
  return `${[`# ${name}`, made, ...all.map(([one, file]) => described(one, file).markdown)].join("\n\n")}\n`;
}

/** All pages by their path in docs/api, and what has no description. */
export async function pages() {
  const [ops, layers, models] = [await opsPage(), layersPage(), await modelsPage()];
  return {
    lacking: [...ops.lacking, ...layers.lacking, ...models.lacking],
    files: {
      "ops.md": ops.text,
      "layers.md": layers.text,
      "models.md": models.text,
      ...Object.fromEntries(Object.entries(doors).map(([entry, name]) => [`doors/${entry}.md`, doorPage(entry, name)])),
    },
  };
}

const folder = process.argv[2] ?? join(root, "docs/api");
const { files, lacking } = await pages();
for (const [name, text] of Object.entries(files)) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
if (lacking.length > 0) {
  console.error(`without a description: ${lacking.join(", ")}; write one in the sources`);
  process.exitCode = 1;
}
