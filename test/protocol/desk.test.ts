import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { open } from "../../src/library/trained.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { Desk } from "../../src/protocol/desk.ts";
import type { Ask, FromModel } from "../../src/protocol/messages.ts";
import type { Engine } from "../../src/runtime/session.ts";

const fixture = (name: string): string => join(import.meta.dirname, "../fixtures/0.1.0", name);

/** The real engine, and how many of its sessions nobody has given back. */
function counted(): { readonly engine: Engine; readonly alive: () => number } {
  let alive = 0;
  const createSession: Engine["createSession"] = async (model, options) => {
    const session = await nodeEngine.createSession(model, options);
    alive++;
    const release = session.release.bind(session);
    return Object.assign(session, {
      release: async () => {
        alive--;
        await release();
      },
    });
  };
  return { engine: { ...nodeEngine, createSession }, alive: () => alive };
}

/** Asks, and gives what is said last. */
const asked = (desk: Desk, heard: Map<number, (said: FromModel) => void>, id: number, ask: Ask): Promise<FromModel> =>
  new Promise((resolve) => {
    heard.set(id, resolve);
    desk.hear({ id, ask });
  });

describe("a desk", () => {
  it("gives back every session when it ends and its model is released, whatever was asked and is still being written", async () => {
    const { engine, alive } = counted();
    const trained = open(fixture("decoder"), { device: { engine, threads: 1 }, warn: false });
    const heard = new Map<number, (said: FromModel) => void>();
    const tell = (all: readonly FromModel[]) => {
      for (const said of all) if ("id" in said && ("answer" in said || "error" in said)) heard.get(said.id)?.(said);
    };
    const desk = new Desk(trained, { tell, memory: () => 0 });
    await desk.warmUp();
    const write: Ask = {
      kind: "write",
      prompts: ["the"],
      samples: 1,
      tokens: 3,
      sampling: { temperature: 0 },
      seed: 1,
      stop: [],
      strict: false,
    };
    expect(await asked(desk, heard, 1, write)).toMatchObject({ answer: null });
    expect(await asked(desk, heard, 2, { ...write, prompts: [] })).toMatchObject({ answer: null });
    expect(await asked(desk, heard, 3, { kind: "look", view: "attention", text: "the", options: {}, as: "json" })).toHaveProperty("answer");
    desk.hear({ id: 4, ask: { ...write, tokens: 100_000 } });
    expect(alive()).toBeGreaterThan(0);
    await desk.end();
    await trained.release();
    expect(alive()).toBe(0);
  });

  it("warms up a model that reads fewer tokens than its vocabulary has long ones", async () => {
    await using trained = open(fixture("encoder"), { threads: 1, warn: false });
    expect(trained.model.context).toBe(5);
    await new Desk(trained, { tell() {}, memory: () => 0 }).warmUp();
  });
});
