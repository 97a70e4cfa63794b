import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";
import { DataError, FormatError, QkvError } from "../base/errors.ts";

// Templates come with models from anywhere, and jinja runs without a pause: nothing could stop it from outside. So work is counted
// inside, before it is done: nodes that are evaluated, characters that are made, rounds of loops; and values have a largest size.

/** About a second; a thousand messages take a twentieth of it. */
const mostWork = 2 ** 20;
/** Characters of a text, and of a list with all that is in it. */
const mostSize = 2 ** 21;
const deepestValue = 100;
const deepestCall = 700;
const longestTemplate = 2 ** 17;
/** The package looks for tags from every space of a run again. */
const longestGap = 2000;

// The package's own declarations cannot be resolved by a compiler that wants file endings; this is what is used of it.
interface Node {
  readonly type: string;
}

interface Value {
  readonly type: string;
  readonly value: unknown;
}

interface Scope {
  /** Gives back the value as the package keeps it. */
  set(name: string, value: unknown): Value;
}

interface Evaluator {
  evaluate(node: Node | undefined, scope: Scope): Value;
  run(program: Node): Value;
}

const Evaluating: new (env: Scope) => Evaluator = Interpreter;
const newScope = (): Scope => new Environment();

/** A value in the place of the expression that it was found by, so that it is not found twice. */
interface Found extends Node {
  readonly found: Value;
}

/** Anything of a node or a value that may be there: the package gives no types of its tree. */
const part = (node: object, name: string): unknown => Reflect.get(node, name);
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;
const isFound = (node: Node): node is Found => node.type === "Found";

const changed = (node: Node, parts: Readonly<Record<string, unknown>>): Node => ({ ...node, ...parts });

/** A block that is filtered, as an expression. */
const filtering = (node: Node): Node =>
  changed(
    { type: "FilterExpression" },
    { operand: changed({ type: "Program" }, { body: part(node, "body") }), filter: part(node, "filter") },
  );

/** Where an argument with a name, or a list of them, has its value. */
const insideOf: ReadonlyMap<string, string> = new Map([
  ["KeywordArgumentExpression", "value"],
  ["SpreadExpression", "argument"],
  ["KeywordSpreadExpression", "argument"],
]);

interface Size {
  readonly size: number;
  readonly depth: number;
}

class BoundedInterpreter extends Evaluating {
  readonly #length: number;
  readonly #sizes = new WeakMap<object, Size>();
  #work = 0;
  #depth = 0;

  constructor(env: Scope, length: number) {
    super(env);
    this.#length = length;
  }

  override evaluate(node: Node | undefined, scope: Scope): Value {
    if (node && isFound(node)) return node.found;
    this.#charge(1 + (this.#depth >> 5));
    if (++this.#depth > deepestCall) throw tooMuch(`calls itself more than ${deepestCall} levels deep`);
    try {
      const checked = node && this.#checked(node, scope);
      const value = checked && isFound(checked) ? checked.found : super.evaluate(checked, scope);
      const { size } = this.#sizeOf(value);
      if (typeof value.value === "string") this.#charge(size >> 8);
      if (value.type === "UndefinedValue") this.#charge(16); // the package looks for those by an exception
      return value;
    } finally {
      this.#depth--;
    }
  }

  #charge(work: number): void {
    this.#work += work;
    if (this.#work > mostWork) throw tooMuch("goes on for too long, as if in a loop without an end");
  }

  /** The same node, with the parts already found whose size decides how much work it is. */
  #checked(node: Node, scope: Scope): Node {
    switch (node.type) {
      case "For":
        return this.#loop(node, scope);
      case "FilterStatement":
        return this.#filter(filtering(node), scope);
      case "FilterExpression":
        return this.#filter(node, scope);
      case "CallExpression":
        return this.#call(node, scope);
      case "BinaryExpression":
        return this.#search(node, scope);
      case "Macro":
      case "CallStatement":
        this.#charge(this.#length >> 3); // their bodies are searched for names each time
        return node;
      case "Break":
      case "Continue":
        this.#charge(16);
        return node;
      default:
        return node;
    }
  }

  #found(node: unknown, scope: Scope): Found {
    if (!isNode(node)) throw new Error("a part of the template is missing");
    return { type: "Found", found: this.evaluate(node, scope) };
  }

  #loop(node: Node, scope: Scope): Node {
    const iterable = part(node, "iterable");
    if (!isNode(iterable)) return node;
    const selects = iterable.type === "SelectExpression";
    const found = this.#found(selects ? part(iterable, "lhs") : iterable, scope);
    this.#charge(4 * countOf(found.found));
    return changed(node, { iterable: selects ? changed(iterable, { lhs: found }) : found });
  }

  #filter(node: Node, scope: Scope): Node {
    const filter = part(node, "filter");
    const operand = this.#found(part(node, "operand"), scope);
    if (!isNode(filter) || filter.type !== "CallExpression") return changed(node, { operand });
    const args = this.#arguments(part(filter, "args"), scope);
    this.#grow(operand, args);
    return changed(node, { operand, filter: changed(filter, { args }) });
  }

  #call(node: Node, scope: Scope): Node {
    const callee = part(node, "callee");
    if (!isNode(callee) || callee.type !== "MemberExpression") return node;
    const object = this.#found(part(callee, "object"), scope);
    const args = this.#arguments(part(node, "args"), scope);
    this.#grow(object, args);
    const stripped = strippedOf(object, part(callee, "property"), args);
    if (stripped !== undefined) return stripped;
    return changed(node, { callee: changed(callee, { object }), args });
  }

  /** A text that is looked for in another may be compared at each of its places. */
  #search(node: Node, scope: Scope): Node {
    const operator = part(node, "operator");
    if (!isNode(operator) || !["in", "not in"].includes(String(part(operator, "value")))) return node;
    const [left, right] = [this.#found(part(node, "left"), scope), this.#found(part(node, "right"), scope)];
    this.#grow(right, [left]);
    return changed(node, { left, right });
  }

  #arguments(list: unknown, scope: Scope): Node[] {
    return (Array.isArray(list) ? list : []).filter(isNode).map((node) => {
      const inner = insideOf.get(node.type);
      return inner === undefined ? this.#found(node, scope) : changed(node, { [inner]: this.#found(part(node, inner), scope) });
    });
  }

  /** What replaces, joins or indents makes at most the product of what it is given. */
  #grow({ found }: Found, args: readonly Node[]): void {
    if (args.length === 0) return;
    const values = args.map((node) => (isFound(node) ? node : (part(node, "value") ?? part(node, "argument"))));
    const amounts = values.map((one) => (isNode(one) && isFound(one) ? this.#amountOf(one.found) : 1));
    const { size, depth } = this.#sizeOf(found);
    const product = (size + 1) * Math.max(1, depth) * Math.max(1, ...amounts);
    if (product > 2 ** 28) throw tooMuch("makes a text too long");
    this.#charge(product >> 8);
  }

  /** A number says how often, a text how long. */
  #amountOf(value: Value): number {
    return typeof value.value === "number" ? Math.abs(value.value) || 1 : this.#sizeOf(value).size;
  }

  /** Characters, with those of everything inside. Lists and objects never change, so theirs are remembered. */
  #sizeOf(value: Value): Size {
    const inner = value.value;
    if (typeof inner === "string") return bounded({ size: inner.length, depth: 0 });
    const children: readonly Value[] | undefined = Array.isArray(inner) ? inner : inner instanceof Map ? [...inner.values()] : undefined;
    if (!children) return { size: 1, depth: 0 };
    const known = this.#sizes.get(value);
    if (known) return known;
    this.#charge(children.length);
    let [size, depth] = [1 + children.length, 0];
    for (const child of children) {
      if (child.type === "NamespaceValue") throw tooMuch("puts a namespace into another value");
      const own = this.#sizeOf(child);
      size += own.size;
      depth = Math.max(depth, own.depth);
    }
    const all = bounded({ size, depth: depth + 1 });
    if (value.type !== "NamespaceValue") this.#sizes.set(value, all);
    return all;
  }
}

/** Python's strip of given characters, which the package takes for white space. */
function strippedOf({ found: { value } }: Found, property: unknown, [argument]: readonly Node[]): Found | undefined {
  const name = isNode(property) ? part(property, "value") : undefined;
  const given = argument && isFound(argument) ? argument.found.value : undefined;
  if (typeof value !== "string" || typeof given !== "string" || !["strip", "lstrip", "rstrip"].includes(String(name))) return undefined;
  const characters = new Set(given);
  const all = [...value];
  let [begin, end] = [0, all.length];
  if (name !== "rstrip") while (begin < end && characters.has(all[begin])) begin++;
  if (name !== "lstrip") while (end > begin && characters.has(all[end - 1])) end--;
  return { type: "Found", found: newScope().set("text", all.slice(begin, end).join("")) };
}

const countOf = ({ value }: Value): number => (Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0);

function bounded(size: Size): Size {
  if (size.size > mostSize) throw tooMuch(`makes more than ${mostSize.toLocaleString("en")} characters`);
  if (size.depth > deepestValue) throw tooMuch(`puts lists more than ${deepestValue} deep into each other`);
  return size;
}

const tooMuch = (what: string): FormatError => new FormatError(`the chat template ${what}; nothing is rendered with it`);

/** As Python's: a list of numbers, of a length that can be held. */
function range(...given: unknown[]): number[] {
  const [start, stop, step = 1] = given.length > 1 ? given.map(Number) : [0, Number(given[0])];
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (step === 0 || !Number.isFinite(length)) throw new Error("range() wants whole numbers, and a step that is not 0");
  if (length > mostWork / 4) throw tooMuch(`asks for ${length.toLocaleString("en")} rounds of a loop`);
  return Array.from({ length }, (_, i) => start + i * step);
}

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = "January February March April May June July August September October November December".split(" ");

/** Python's strftime in the C locale, as far as templates use it. */
export function strftime(format: string, date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const found: Readonly<Record<string, () => string>> = {
    Y: () => String(date.getFullYear()),
    y: () => two(date.getFullYear() % 100),
    m: () => two(date.getMonth() + 1),
    d: () => two(date.getDate()),
    e: () => String(date.getDate()).padStart(2, " "),
    H: () => two(date.getHours()),
    I: () => two(date.getHours() % 12 || 12),
    M: () => two(date.getMinutes()),
    S: () => two(date.getSeconds()),
    p: () => (date.getHours() < 12 ? "AM" : "PM"),
    B: () => months[date.getMonth()],
    b: () => months[date.getMonth()].slice(0, 3),
    A: () => days[date.getDay()],
    a: () => days[date.getDay()].slice(0, 3),
    "%": () => "%",
  };
  return format.replace(/%-?([a-zA-Z%])/g, (whole, letter: string) => {
    const text = found[letter]?.() ?? whole;
    return whole.startsWith("%-") ? text.replace(/^0(?=.)/, "") : text;
  });
}

/** A template says of its own accord what it cannot take: "roles must alternate". */
class Raised extends Error {}

export interface Rendering {
  render(variables: Readonly<Record<string, unknown>>, now: Date): string;
}

/** A template that was read. Whatever is wrong with it is a sentence. */
export function boundedTemplate(source: string): Rendering {
  if (source.length > longestTemplate)
    throw tooMuch(`has ${source.length.toLocaleString("en")} characters, more than ${longestTemplate.toLocaleString("en")}`);
  if (new RegExp(`\\s{${longestGap}}`).test(source)) throw tooMuch(`has ${longestGap.toLocaleString("en")} spaces in a row`);
  const program = guarded("cannot be read", () => parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true })));
  return {
    render: (variables, now) =>
      guarded("cannot be rendered", () => {
        const env = newScope();
        const globals = {
          ...{ true: true, false: false, none: null, True: true, False: false, None: null },
          range,
          raise_exception: (text: unknown) => {
            throw new Raised(String(text));
          },
          strftime_now: (format: unknown) => strftime(String(format), now),
        };
        for (const [name, value] of Object.entries({ ...globals, ...variables })) if (value !== undefined) env.set(name, value);
        const { value } = new BoundedInterpreter(env, source.length).run(program);
        if (typeof value !== "string") throw new Error("it gives no text");
        return value;
      }),
  };
}

/** What the package throws is the template's fault. */
function guarded<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof QkvError) throw error;
    const reason = error instanceof Error ? error.message.slice(0, 300) : String(error).slice(0, 300);
    if (error instanceof Raised) throw new DataError(`the chat template refuses these messages: ${reason}`, { cause: error });
    if (error instanceof RangeError) throw tooMuch("is nested too deeply, or makes too much");
    throw new FormatError(`the chat template ${what}: ${reason}`, { cause: error });
  }
}
