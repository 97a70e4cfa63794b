/**
 * What the interactive page runs. It is text here because it runs in a browser only; it builds the page with textContent and
 * nothing else, so a token can never become markup. interactive-html.ts holds its hash: the page allows no other script.
 */
export const pageScript = `
"use strict";
const { looks, colours } = JSON.parse(document.getElementById("data").textContent);
const part = (id) => document.getElementById(id);
const [kindChoice, layerChoice, headChoice] = ["kind", "layer", "head"].map(part);
const [queryRow, keyRow, canvas, status] = ["queries", "keys", "map", "status"].map(part);
const manyKeys = 32;

let look = looks[0];
let pattern = [];
let scale = { low: 0, high: 1, root: false };
/** What is looked at: a query, a key, or the cell where the two meet. */
let chosen = { query: 0, key: undefined };

function fill(choice, options) {
  const before = choice.value;
  choice.replaceChildren(...options.map(({ value, words }) => {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = words;
    return option;
  }));
  if (options.some(({ value }) => value === before)) choice.value = before;
  choice.parentElement.hidden = options.length < 2 && choice === kindChoice;
}

function tokenButtons(row, names, side) {
  row.replaceChildren(...names.map((name, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.className = name.endsWith("\\u23ce") ? "token last" : "token";
    button.tabIndex = -1;
    const choose = () => show(side === "query" ? { query: index } : { key: index });
    button.addEventListener("pointerenter", choose);
    button.addEventListener("focus", choose);
    button.addEventListener("click", choose);
    return button;
  }));
  row.onkeydown = (event) => {
    const index = [...row.children].indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? names.length - 1 : step === undefined ? undefined : index + step;
    if (next === undefined || row.children[next] === undefined) return;
    event.preventDefault();
    row.children[next].focus();
  };
}

/** The weights of the chosen head, or the mean of all heads of the layer. */
function weights() {
  const { heads } = look.layers[layerChoice.selectedIndex];
  if (headChoice.value !== "mean") return heads.find(({ head }) => String(head) === headChoice.value).pattern;
  const sum = (i, j) => heads.reduce((total, head) => total + head.pattern[i][j], 0);
  return heads[0].pattern.map((row, i) => row.map((_, j) => sum(i, j) / heads.length));
}

const clamp = (value) => Math.min(1, Math.max(0, value));

/** Where a weight stands between none (0) and the most (1). */
function strength(value) {
  if (scale.low < 0) return clamp(Math.abs(value) / scale.high);
  const share = clamp(value / scale.high);
  return scale.root ? Math.sqrt(share) : share;
}

function colour(value) {
  const table = scale.low < 0 ? colours.diverging : colours.sequential;
  const place = scale.low < 0 ? clamp(0.5 + value / (2 * scale.high)) : strength(value);
  return table[Math.round(place * (table.length - 1))];
}

/** One pixel for each weight; the style sheet enlarges it. A weight of zero stays blank. */
function drawMap() {
  const [height, width] = [pattern.length, pattern[0].length];
  [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height);
  for (const [i, row] of pattern.entries())
    for (const [j, value] of row.entries())
      if (value !== 0 || scale.low < 0) image.data.set([...colour(value), 255], 4 * (i * width + j));
  canvas.getContext("2d").putImageData(image, 0, 0);
  const cell = Math.max(2, Math.min(28, Math.floor(720 / Math.max(width, height))));
  variables(canvas, { rows: height, columns: width, cell });
}

/** Numbers that the style sheet reckons with. */
function variables(element, values) {
  for (const [name, value] of Object.entries(values)) element.style.setProperty("--".concat(name), value);
}

/** Between signs that keep a name's direction of writing to itself. */
const named = (names, index) => "\\u2068".concat(names[index], "\\u2069 (", index, ")");

function strongest(names, values) {
  const order = values.map((value, index) => ({ value, index })).filter(({ value }) => value !== 0);
  order.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return order.slice(0, 5).map(({ value, index }) => [named(names, index), value.toFixed(3)].join(" ")).join(", ") || "nothing";
}

/** The weights as a glow behind the tokens of one row, none behind the other. */
function glow(row, values) {
  for (const [index, button] of [...row.children].entries()) variables(button, { weight: values ? strength(values[index]) : 0 });
}

/** Marks the chosen token of a row. It alone can be reached with the tab key; the arrows go on from there. */
function mark(row, band, chosenIndex) {
  for (const [index, button] of [...row.children].entries()) {
    button.classList.toggle("chosen", index === chosenIndex);
    button.tabIndex = index === (chosenIndex ?? 0) ? 0 : -1;
  }
  band.hidden = chosenIndex === undefined;
  variables(band, { index: chosenIndex ?? 0, count: row.children.length });
}

function show(choice) {
  chosen = choice;
  const { query, key } = chosen;
  const { tokens, targetTokens } = look;
  const column = key === undefined ? undefined : pattern.map((row) => row[key]);
  glow(keyRow, query === undefined ? undefined : pattern[query]);
  glow(queryRow, query === undefined ? column : undefined);
  mark(queryRow, part("query-band"), query);
  mark(keyRow, part("key-band"), key);
  const sentence =
    query === undefined
      ? [named(tokens, key), "is looked at by", strongest(targetTokens, column)]
      : key === undefined
        ? [named(targetTokens, query), "looks at", strongest(tokens, pattern[query])]
        : [named(targetTokens, query), "looks at", named(tokens, key), "with weight", pattern[query][key].toFixed(4)];
  status.textContent = sentence.join(" ");
}

function update() {
  pattern = weights();
  let [low, high] = [0, 0];
  for (const row of pattern) for (const value of row) [low, high] = [Math.min(low, value), Math.max(high, value)];
  scale = { low, high: Math.max(-low, high) || 1, root: pattern[0].length > manyKeys };
  part("most").textContent = scale.high.toFixed(2);
  part("least").textContent = scale.low < 0 ? (-scale.high).toFixed(2) : "0";
  const table = scale.low < 0 ? colours.diverging : colours.sequential;
  const stops = table.filter((_, index) => index % 7 === 0).map((rgb) => "rgb(".concat(rgb.join(" "), ")"));
  part("bar").style.background = "linear-gradient(to right,".concat(stops.join(","), ")");
  drawMap();
  show(chosen);
}

function chooseLayer() {
  const { heads } = look.layers[layerChoice.selectedIndex];
  const single = heads.map(({ head }) => ({ value: String(head), words: String(head) }));
  fill(headChoice, heads.length > 1 ? [...single, { value: "mean", words: "mean of all" }] : single);
  update();
}

function chooseKind() {
  look = looks[kindChoice.selectedIndex];
  fill(layerChoice, look.layers.map(({ layer }) => ({ value: String(layer), words: String(layer) })));
  tokenButtons(queryRow, look.targetTokens, "query");
  tokenButtons(keyRow, look.tokens, "key");
  chosen = { query: look.targetTokens.length - 1 };
  chooseLayer();
}

function moveOnMap(event) {
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (steps === undefined) return;
  event.preventDefault();
  const limit = (value, count) => Math.min(count - 1, Math.max(0, value));
  const { query = 0, key = 0 } = chosen;
  show({ query: limit(query + steps[0], look.targetTokens.length), key: limit(key + steps[1], look.tokens.length) });
}

kindChoice.addEventListener("change", chooseKind);
layerChoice.addEventListener("change", chooseLayer);
headChoice.addEventListener("change", update);
canvas.addEventListener("keydown", moveOnMap);
canvas.addEventListener("pointermove", (event) => {
  const box = canvas.getBoundingClientRect();
  const index = (offset, size, count) => Math.min(count - 1, Math.max(0, Math.floor((offset / size) * count)));
  const { targetTokens, tokens } = look;
  show({
    query: index(event.clientY - box.top, box.height, targetTokens.length),
    key: index(event.clientX - box.left, box.width, tokens.length),
  });
});
fill(kindChoice, looks.map(({ kind }) => ({ value: kind, words: kind })));
chooseKind();
`;
