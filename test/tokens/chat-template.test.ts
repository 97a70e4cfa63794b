import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { chance } from "../../src/base/chance.ts";
import { DataError, FormatError, QkvError } from "../../src/base/errors.ts";
import { boundedTemplate, strftime } from "../../src/tokens/bounded-jinja.ts";
import { type ChatFormat, chatFormatOf, chatStretches, renderChat, usualChat } from "../../src/tokens/chat-template.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { mutateText } from "../support/mutate-text.ts";

const message = z.looseObject({ role: z.string(), content: z.string() });
const { tokens, templates, chats, cases } = z
  .object({
    tokens: z.record(z.string(), z.string()),
    templates: z.record(z.string(), z.string()),
    chats: z.array(z.array(message)),
    cases: z.array(
      z.object({ template: z.string(), chat: z.number(), ask: z.boolean(), text: z.string().optional(), error: z.string().optional() }),
    ),
  })
  .parse(JSON.parse(readFileSync(new URL("chat-reference.json", import.meta.url), "utf8")));

const now = new Date(2026, 0, 2, 3, 4, 5);
const formatOf = (name: string): ChatFormat => ({ template: templates[name], tokens });
const user = (content: string) => ({ role: "user", content });
const answer = (content: string) => ({ role: "assistant", content });

const refusal = (work: () => unknown): QkvError => {
  try {
    work();
  } catch (error) {
    if (error instanceof QkvError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};

describe("the usual templates", () => {
  it.each(Object.keys(templates))("%s is rendered as Python does", (name) => {
    for (const { chat, ask, text, error } of cases.filter(({ template }) => template === name)) {
      const render = () => renderChat(formatOf(name), chats[chat], { ask, now });
      if (text !== undefined) expect(render()).toBe(text);
      else expect(refusal(render).message).toBe(`the chat template refuses these messages: ${error}`);
    }
  });

  it("tell the time as Python's strftime", () => {
    expect(strftime("%d %b %Y, %A %B %-d %H:%M:%S %I %p %y %j %%", now)).toBe("02 Jan 2026, Friday January 2 03:04:05 03 AM 26 %j %");
  });
});

describe("answers", () => {
  const conversation = [user("Hi"), answer("Hello!"), user("And?"), answer("Nothing.")];
  const learned = (name: string, from = 0) =>
    chatStretches(formatOf(name), conversation, from, now).map((list) => list.filter((one) => one.answer).map(({ text }) => text));

  it("are what a template adds for each of them", () => {
    expect(learned("chatml")).toEqual([["Hello!<|im_end|>\n", "Nothing.<|im_end|>\n"]]);
    expect(learned("llama2")).toEqual([[" Hello! </s>", " Nothing. </s>"]]);
    expect(learned("mistral")).toEqual([["Hello!</s>", "Nothing.</s>"]]);
    expect(learned("gemma")).toEqual([["Hello!<end_of_turn>\n", "Nothing.<end_of_turn>\n"]]);
    expect(learned("zephyr")).toEqual([["Hello!</s>\n", "Nothing.</s>\n"]]);
    expect(learned("llama3")).toEqual([["Hello!<|eot_id|>", "Nothing.<|eot_id|>"]]);
    expect(learned("smollm2", 2)).toEqual([["Nothing.<|im_end|>\n"]]);
  });

  it("are examples of their own where earlier turns change once others follow", () => {
    expect(learned("qwen3")).toEqual([["<think>\n\n</think>\n\nHello!<|im_end|>\n"], ["<think>\n\n</think>\n\nNothing.<|im_end|>\n"]]);
    expect(learned("phi3")).toEqual([["Hello!<|end|>\n</s>"], ["Nothing.<|end|>\n</s>"]]);
  });

  it("and what is before them make up the whole text", () => {
    for (const name of Object.keys(templates)) {
      const lists = chatStretches(formatOf(name), conversation, 0, now);
      const whole = renderChat(formatOf(name), conversation, { now });
      expect(
        lists
          .at(-1)
          ?.map(({ text }) => text)
          .join(""),
      ).toBe(whole);
    }
  });

  it("that a template leaves out, or whose beginning it changes, are refused", () => {
    const format = (template: string) => ({ template, tokens });
    const leavesOut = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
    expect(refusal(() => chatStretches(format(leavesOut), conversation)).message).toMatch(/leaves the answer out/);
    const counts = "{{ messages|length }}{% for m in messages %}{{ m.content }}{% endfor %}";
    expect(refusal(() => chatStretches(format(counts), conversation)).message).toMatch(/renders what is before an answer differently/);
  });
});

describe("a format", () => {
  it("is found in tokenizer_config.json: a text, or the one called default; chat_template.jinja counts before it", () => {
    const named = [
      { name: "tool_use", template: "t" },
      { name: "default", template: "d" },
    ];
    const config = { bos_token: { content: "<s>", lstrip: false }, eos_token: "</s>", pad_token: null };
    expect(chatFormatOf({ ...config, chat_template: "c" })).toEqual({ template: "c", tokens: { bos_token: "<s>", eos_token: "</s>" } });
    expect(chatFormatOf({ chat_template: named })?.template).toBe("d");
    expect(chatFormatOf({ chat_template: "c" }, "from the file")?.template).toBe("from the file");
    expect(chatFormatOf(config)).toBeUndefined();
    expect(refusal(() => chatFormatOf({ chat_template: [named[0]] })).message).toBe(
      'tokenizer_config.json: at chat_template: none of "tool_use" is called "default"',
    );
    expect(refusal(() => chatFormatOf({ chat_template: 7 })).message).toMatch(/^tokenizer_config.json: at chat_template: /);
  });

  it("is made of a tokenizer's own tokens where a model comes without one", async () => {
    const tokenizer = await trainTokenizer("char", ["user assistant Hi!\n"]);
    const chat = usualChat(tokenizer);
    expect(chat && renderChat(chat, [user("Hi")], { ask: true })).toBe("<s>user\nHi</s>\n<s>assistant\n");
  });
});

describe("a hostile template", () => {
  const doubled = (times: number) =>
    `{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(${times}) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`;
  it.each([
    ["a loop of a thousand million rounds", "{% for i in range(10**9) %}x{% endfor %}"],
    ["a loop that counts down to minus infinity", "{% for i in range(0, 0 - 10**300, -1) %}x{% endfor %}"],
    [
      "loops inside of loops",
      "{% for i in range(1000) %}{% for j in range(1000) %}{% for k in range(1000) %}{% endfor %}{% endfor %}{% endfor %}",
    ],
    ["a macro that calls itself", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"],
    ["a macro that calls itself twice", "{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}"],
    ["a text that doubles", `${doubled(60)}{{ ns.s }}`],
    [
      "a list that doubles inside",
      "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
    ],
    ["a text put into itself", `${doubled(15)}{{ ns.s.replace('a', ns.s)|length }}`],
    ["the same by a filter", `${doubled(15)}{{ ns.s|replace('a', ns.s)|length }}`],
    ["a text joined by itself", `${doubled(15)}{{ ns.s|join(ns.s)|length }}`],
    ["a search that compares everything with everything", `${doubled(17)}{{ ('b' + ns.s) in (ns.s + ns.s) }}`],
    ["a margin of a hundred million", "{{ 'a\nb'|indent(100000000) }}"],
    ["the same for JSON", "{{ [1,2]|tojson(indent=100000000) }}"],
    ["the same for a block", "{% filter indent(100000000) %}a\nb{% endfilter %}"],
    ["a value that holds itself", "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns|tojson }}"],
    ["twenty thousand brackets", `{{ ${"(".repeat(20_000)}1${")".repeat(20_000)} }}`],
    ["lists cut into millions", `${doubled(17)}{% for i in range(100000) %}{% set x = ns.s.split('a') %}{% endfor %}`],
    ["a million characters of template", "x".repeat(1_000_000)],
    ["a thousand million spaces looked through", " ".repeat(100_000)],
  ])("%s ends in a sentence", (_, template) => {
    const error = refusal(() => boundedTemplate(template).render({ messages: [] }, now));
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/^the chat template .*; nothing is rendered with it$/);
  });

  it("reaches nothing of the program", () => {
    const nothing =
      "{{ messages.constructor }}{{ ''.constructor }}{{ {'a': 1}['__proto__'] }}{{ raise_exception.constructor }}{{ process }}";
    expect(boundedTemplate(nothing).render({ messages: [] }, now)).toBe("");
  });

  it("leaves room for a thousand messages", () => {
    const messages = Array.from({ length: 1000 }, (_, i) => (i % 2 ? answer("word ".repeat(100)) : user("word ".repeat(100))));
    for (const name of ["chatml", "qwen3", "llama3", "mistral"])
      expect(renderChat(formatOf(name), messages, { now }).length).toBeGreaterThan(500_000);
  });
});

/** More for a long night: QKV_FUZZ=10000. */
const mutants = Number(process.env.QKV_FUZZ ?? 300);

describe("a damaged template", () => {
  it("is rendered or refused, in a sentence", () => {
    const all = Object.values(templates);
    for (let i = 0; i < mutants; i++) {
      const source = chance(i).fork("template");
      const template = mutateText(all[i % all.length], source);
      try {
        for (const messages of chats) renderChat({ template, tokens }, messages, { ask: i % 2 === 0, now });
        chatStretches({ template, tokens }, chats[2], 0, now);
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof DataError)) throw new Error(`${JSON.stringify(template)}: ${error}`);
      }
    }
  });

  it("made of loops and texts at random ends too", () => {
    const expression = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom("messages", "ns.s", "ns", "'ab'", "7", "10**6", "loop.index", "range(1000)", "none"),
        fc.tuple(tie("value"), fc.constantFrom("+", "~", "*", "in", "==", "and"), tie("value")).map(([a, op, b]) => `(${a} ${op} ${b})`),
        fc
          .tuple(tie("value"), fc.constantFrom("join", "tojson", "length", "upper", "list", "string", "trim"))
          .map(([a, f]) => `(${a})|${f}`),
        fc.tuple(tie("value"), tie("value")).map(([a, b]) => `(${a}).replace('a', ${b})`),
        tie("value").map((a) => `[${a}, ${a}]`),
        tie("value").map((a) => `f(${a})`),
      ),
      statement: fc.oneof(
        { maxDepth: 4 },
        tie("value").map((a) => `{{ ${a} }}`),
        tie("value").map((a) => `{% set ns.s = ${a} %}`),
        fc.tuple(tie("value"), tie("statement"), tie("statement")).map(([a, b, c]) => `{% for x in ${a} %}${b}${c}{% endfor %}`),
        fc.tuple(tie("value"), tie("statement")).map(([a, b]) => `{% macro f(a) %}{{ a }}${b}{{ f(${a}) }}{% endmacro %}`),
      ),
    })).statement;
    fc.assert(
      fc.property(fc.array(expression, { maxLength: 6 }), (statements) => {
        const template = `{% set ns = namespace(s='abab') %}${statements.join("")}`;
        try {
          renderChat({ template, tokens }, chats[1], { now });
        } catch (error) {
          if (!(error instanceof FormatError || error instanceof DataError)) throw error;
        }
      }),
      { numRuns: Math.min(mutants, 1000) },
    );
  });
});
