import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WebSocket as NodeSocket } from "ws";
import type { RunConfig } from "../../src/runs/config.ts";
import { checkAddress } from "../../src/studio/door.ts";
import type { FromWorker } from "../../src/worker/messages.ts";
import { decoded, encoded } from "../../src/worker/wire.ts";
import { moods, rhyme } from "../journeys/samples.ts";
import { Workplace } from "../support/command.ts";
import { Studio, within } from "../support/studio.ts";

// Whoever has no business in a studio gets nothing from it, and whatever he sends, it goes on.

const place = new Workplace();
const folder = place.path("runs");
const tiny = { steps: 4, batch: 4, model: { width: 16, heads: 2, layers: 1, context: 16 } };
let studio: Studio;

beforeAll(async () => {
  mkdirSync(join(folder, "kept"), { recursive: true });
  place.write("secret.txt", "a secret");
  place.write("elsewhere/config.json", "{}");
  place.write("elsewhere/log.jsonl", '{"step": 1}\n');
  symlinkSync(place.path("elsewhere"), join(folder, "link"));
  symlinkSync(place.path("nothing"), join(folder, "dangling"));
  studio = await Studio.start(folder);
});

afterAll(async () => {
  await studio?.kill();
});

describe("a request", () => {
  const files = ["/", "/index.html", "/app.js", "/style.css", "/page/worker.js", "/onnxruntime/ort.wasm.min.mjs", "/socket", "/none"];

  it("gets nothing without the token, with a wrong one, or with that of another port", async () => {
    const wrong: Record<string, string>[] = [
      {},
      { cookie: `qkv-studio-${studio.port}=wrong` },
      { cookie: `qkv-studio-1=${studio.token}` },
      { cookie: `qkv-studio-${studio.port}=${studio.token}x` },
      { authorization: "Bearer wrong" },
      { authorization: `Basic ${studio.token}` },
    ];
    for (const path of files)
      for (const headers of wrong) {
        const { status, text } = await studio.get(path, headers);
        expect([path, status]).toEqual([path, 401]);
        expect(text).toContain("wants its token");
      }
    expect((await studio.get("/?token=wrong", {})).status).toBe(401);
    expect((await studio.get(`/app.js?token=${studio.token}`, {})).status).toBe(401);
  });

  it("gets the app with it: once in the address, then from a cookie that only pages of the studio send", async () => {
    const { status, headers } = await studio.get(`/?token=${studio.token}`, {});
    expect(status).toBe(303);
    expect(headers.location).toBe("/");
    expect(headers["set-cookie"]).toEqual([`${studio.cookie}; HttpOnly; SameSite=Strict; Path=/`]);
    const page = await studio.get("/");
    expect(page.status).toBe(200);
    expect(page.text).toContain('<meta name="qkv-place" content="house"');
    expect(page.headers["cache-control"]).toBe("no-store");
    expect((await studio.get("/app.js", { authorization: `Bearer ${studio.token}` })).status).toBe(200);
    const { headers: tagged } = await studio.get("/app.js");
    expect((await studio.get("/app.js", { cookie: studio.cookie, "if-none-match": String(tagged.etag) })).status).toBe(304);
  });

  it("gets nothing under another name, or from a page of another origin, or by another method", async () => {
    const { cookie } = studio;
    for (const host of ["evil.example", `evil.example:${studio.port}`, "127.0.0.1", "127.0.0.1:1", `127.0.0.1.evil.example:${studio.port}`])
      expect([host, (await studio.get("/app.js", { cookie, host })).status]).toEqual([host, 403]);
    for (const host of [`localhost:${studio.port}`, `[::1]:${studio.port}`])
      expect([host, (await studio.get("/app.js", { cookie, host })).status]).toEqual([host, 200]);
    for (const origin of [
      "null",
      "http://evil.example",
      "http://127.0.0.1",
      `https://127.0.0.1:${studio.port}`,
      `http://localhost:${studio.port}`,
    ])
      expect([origin, (await studio.get("/app.js", { cookie, origin })).status]).toEqual([origin, 403]);
    const { status, headers } = await studio.get("/", { cookie, origin: studio.origin });
    expect(status).toBe(200);
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) expect((await studio.get("/", { cookie }, method)).status).toBe(405);
  });

  it("need not say the port that is the usual one", () => {
    const door = { port: 80, token: "" };
    checkAddress({ host: "127.0.0.1", origin: "http://127.0.0.1" }, door);
    expect(() => checkAddress({ host: "127.0.0.1" }, { ...door, port: 8090 })).toThrow("does not answer to this name");
    expect(() => checkAddress({ host: "127.0.0.1", origin: "http://127.0.0.1:8090" }, door)).toThrow("another origin");
  });

  it("gets files of the app and no others", async () => {
    for (const path of [
      "/../package.json",
      "/%2e%2e/package.json",
      "/page/../studio/house.js",
      "/.studio/token",
      "//etc/passwd",
      "/page",
      "/\\",
    ])
      expect([path, (await studio.get(path)).status]).toEqual([path, 404]);
  });

  it("is answered with what keeps the page to itself", async () => {
    for (const path of ["/", "/app.js", "/none"]) {
      const { headers } = await studio.get(path);
      expect(headers["content-security-policy"]).toContain("script-src 'self' 'wasm-unsafe-eval';");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
      expect(headers["cross-origin-embedder-policy"]).toBe("require-corp");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
    }
  });

  it("finds the token in a file that is its owner's alone", () => {
    const file = join(folder, ".studio/token");
    expect(readFileSync(file, "utf8").trim()).toBe(studio.token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe("a connection", () => {
  const opens = (socket: NodeSocket): Promise<number> =>
    new Promise((resolve) => {
      socket.once("open", () => resolve(101));
      socket.once("unexpected-response", (_, response) => resolve(response.statusCode ?? 0));
    });

  it("wants the cookie, the studio's own name and its own origin, all of them", async () => {
    const { cookie, origin, token } = studio;
    const host = "evil.example";
    expect(await opens(studio.socket({ cookie, origin }))).toBe(101);
    expect(await opens(studio.socket({ origin }))).toBe(401);
    expect(await opens(studio.socket({ origin, cookie: `${cookie}x` }))).toBe(401);
    expect(await opens(studio.socket({ origin, authorization: `Bearer ${token}` }))).toBe(401);
    expect(await opens(studio.socket({ cookie }))).toBe(403);
    expect(await opens(studio.socket({ cookie, origin: "http://evil.example" }))).toBe(403);
    expect(await opens(studio.socket({ cookie, origin: `http://localhost:${studio.port}` }))).toBe(403);
    expect(await opens(studio.socket({ cookie, origin: `http://${host}`, host }))).toBe(403);
    studio.leave();
  });

  it("that was refused and does not hang up keeps no studio from ending", async () => {
    const other = await Studio.start(place.path("others"));
    const stranger = connect({ port: other.port, host: "127.0.0.1", allowHalfOpen: true });
    stranger.on("error", () => {});
    stranger.write("GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await new Promise((resolve) => stranger.once("data", resolve));
    expect(await other.stop()).toBe(0);
    stranger.destroy();
  });

  it("is refused when there are too many, and possible again when some have gone", async () => {
    const all = Array.from({ length: 33 }, () => studio.socket());
    const found = await Promise.all(all.map(opens));
    expect(found.filter((status) => status === 503).length).toBeGreaterThan(0);
    studio.leave();
    expect(await within(5000, async () => (await opens(studio.socket())) === 101)).toBe(true);
    studio.leave();
  });

  /** Sends frames, and gives what is said to them; a job's number tells them apart. */
  async function said(...frames: readonly (string | Uint8Array)[]): Promise<FromWorker[]> {
    const socket = studio.socket();
    expect(await opens(socket)).toBe(101);
    const heard: FromWorker[] = [];
    const done = new Promise<void>((resolve) => {
      socket.on("close", () => resolve());
      socket.on("message", (data: Buffer, binary) => {
        const one = decoded(binary ? new Uint8Array(data) : String(data)) as FromWorker;
        if ("job" in one && one.job === 999_999) resolve();
        else heard.push(one);
      });
    });
    for (const frame of frames) socket.send(frame);
    socket.send(encoded({ job: 999_999, work: { kind: "trainings" } }));
    await done;
    socket.terminate();
    return heard;
  }

  it("answers what cannot be read with an error, and goes on", async () => {
    const frames = [
      "",
      "nonsense",
      "[]",
      "null",
      "{}",
      '{"job": -1, "work": {}}',
      '{"job": "1", "work": {"kind": "runs"}}',
      '{"stop": {}}',
      '{"__proto__": {"job": 1}}',
      `${"[".repeat(50_000)}`,
      `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
      Uint8Array.of(255, 255, 255, 255, 1),
      Uint8Array.of(),
      '{"$": "Uint8Array", "part": 7}',
    ];
    const heard = await said(...frames);
    expect(heard.filter((one) => "broken" in one)).toHaveLength(frames.length);
    const jobs = [
      { kind: "none" },
      { kind: "constructor" },
      {},
      { kind: "runs", more: 1 },
      { kind: "train", data: "x", settings: {} },
      { kind: "train", data: [{ text: 5 }], settings: {} },
      { kind: "train", data: [{ file: { name: "x" } }], settings: {} },
      { kind: "train", data: [], settings: { valid: "/etc/passwd" } },
      { kind: "train", data: [], settings: { cache: "/etc" } },
      { kind: "resume", run: "/runs/kept", changes: { models: [{}] } },
      { kind: "resume", run: "/runs/kept", changes: { lr: 1 } },
      { kind: "resume", run: "/runs/kept", changes: { data: "/etc/passwd" } },
      { kind: "open", from: { run: 5 } },
      { kind: "close", model: 77 },
      { kind: "log" },
    ];
    const answers = await said(...jobs.map((work, job) => encoded({ job, work })));
    for (const [job, work] of jobs.entries())
      expect([work, answers.find((one) => "job" in one && one.job === job)]).toEqual([
        work,
        expect.objectContaining({ error: expect.objectContaining({ fault: "asked" }) }),
      ]);
    expect(await said(encoded({ model: 5, ask: { id: 3, ask: { kind: "classify", texts: 5 } } }))).toMatchObject([
      { model: 5, said: [{ id: 3, error: { path: "texts" } }] },
    ]);
    expect(await said(encoded({ model: 5, ask: { id: 3, ask: { kind: "classify", texts: [] } } }))).toMatchObject([
      { model: 5, said: [{ id: 3, error: { code: "closed" } }] },
    ]);
  });

  it("ends for whoever sends too much, and for him alone", async () => {
    const other = await studio.page();
    const socket = studio.socket();
    await opens(socket);
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    socket.send(Buffer.alloc(2 ** 28 + 1));
    expect([1006, 1009]).toContain(await closed); // 1009 is too big, which whoever still sends may not hear
    expect(await other.runs()).toEqual([]);
    const many = studio.socket();
    await opens(many);
    const tired = new Promise<number>((resolve) => many.once("close", resolve));
    for (let i = 0; i < 120; i++) many.send("nonsense");
    expect(await tired).toBe(1008);
    expect(await other.runs()).toEqual([]);
  });

  it("leads nowhere but into the folder of runs, whatever names a run, a file or an adapter", async () => {
    const before = JSON.stringify(
      readdirSync(place.folder, { recursive: true }).filter((name) => !String(name).startsWith("runs/.studio")),
    );
    const names = [
      "/etc",
      "/etc/passwd",
      "/",
      "",
      ".",
      "..",
      "/runs",
      "/runs/",
      "/runs/.",
      "/runs/..",
      "/runs/../secret.txt",
      "/runs/kept/../../secret.txt",
      "/runs/kept/..",
      "/runs/.studio",
      "/runs/.studio/data",
      "/runs//etc",
      "/runs/a\\..\\b",
      "/runs/a\0b",
      "/runs/link",
      "/runs/link/log.jsonl",
      "/runs/dangling",
      "/models/../token",
      "/models/..",
      "/models/x/../../token",
      "/data/x",
      "file:///etc/passwd",
      place.path("elsewhere"),
      join(folder, "kept"),
      "kept",
      "../runs/kept",
    ];
    const data = [{ text: rhyme, name: "rhyme.txt" }];
    const works = names.flatMap((run) => [
      { kind: "log", run },
      { kind: "files", run },
      { kind: "remove", run },
      { kind: "config", run },
      { kind: "checkpoints", run },
      { kind: "examples", run },
      { kind: "passage", run },
      { kind: "follow", run },
      { kind: "open", from: { run } },
      { kind: "open", from: { run: "/runs/kept" }, adapter: run },
      { kind: "evaluate", run, data: [] },
      { kind: "evaluate", run: "/runs/kept", data: [], adapter: run },
      { kind: "plan", data, settings: { ...tiny, from: run } },
      { kind: "plan", data, settings: { ...tiny, tokenizer: `${run}/tokenizer.json` } },
    ]);
    const trainings = ["/runs/../x", "/runs/.studio", "/runs/link", "/runs/dangling", "/etc", "../x"].flatMap((name) => [
      { kind: "train", data, settings: { ...tiny, out: name } },
      { kind: "train", data, settings: { ...tiny, out: "/runs/new", from: name } },
      { kind: "train", data, settings: { ...tiny, out: "/runs/new", tokenizer: `${name}/tokenizer.json` } },
      { kind: "resume", run: name, changes: {} },
    ]);
    const all = [...works, ...trainings].map((work, job) => ({ work, job }));
    const answers: FromWorker[] = [];
    for (let at = 0; at < all.length; at += 4) {
      const some = all.slice(at, at + 4);
      const socket = studio.socket();
      await opens(socket);
      await new Promise<void>((resolve) => {
        let left = some.length;
        socket.on("message", (text) => {
          const one = decoded(String(text)) as FromWorker;
          if ("events" in one) return;
          answers.push(one);
          if (--left === 0) resolve();
        });
        for (const { work, job } of some) socket.send(encoded({ job, work }));
      });
      socket.terminate();
    }
    for (const { work, job } of all) {
      const found = answers.find((one) => "job" in one && one.job === job);
      expect([work, found]).toEqual([
        work,
        expect.objectContaining({ error: expect.objectContaining({ code: expect.stringMatching(/^config/) }) }),
      ]);
    }
    expect(JSON.stringify(readdirSync(place.folder, { recursive: true }).filter((name) => !String(name).startsWith("runs/.studio")))).toBe(
      before,
    );
    expect(existsSync(place.path("secret.txt"))).toBe(true);
    expect(readFileSync(join(folder, ".studio/token"), "utf8").trim()).toBe(studio.token);
  });

  it("writes files that are given into the studio's own folder, whatever they are called", async () => {
    const page = await studio.page();
    const paths = ["a/../../../../../out.txt", "../../../../out.txt", "a/b/../../../../../../out.txt", "..", "a/..", "./../../../out.txt"];
    for (const path of paths) {
      const file = new File(["out"], "x");
      Object.defineProperty(file, "webkitRelativePath", { value: path }); // which a browser would never say
      await expect(page.open([file])).rejects.toThrow();
    }
    const strays = readdirSync(place.folder, { recursive: true }).filter((name) => String(name).endsWith("out.txt"));
    expect(strays.filter((name) => !String(name).startsWith("runs/.studio/models/"))).toEqual([]);
  });

  it("reads no file that the config of a model names, unless it is the studio's own", async () => {
    const page = await studio.page();
    const secret = place.write("secret.tsv", "text\tlabel\nmine alone\tgood\nnobody's\tbad\n".repeat(20));
    const run = await page.train(new File([moods], "moods.tsv"), { ...tiny, out: "/runs/moods" });
    const files = await run.files();
    let changes = 0; // files of other times are other files
    const changed = async (change: (config: RunConfig) => unknown) =>
      Promise.all(
        files.map(async (file) => {
          const text = file.name === "config.json" ? JSON.stringify(change(JSON.parse(await file.text()))) : await file.arrayBuffer();
          return new File([text], file.name, { lastModified: ++changes });
        }),
      );
    const own = await page.open(await changed((config) => config));
    expect((await page.examples(own)).rows.length).toBeGreaterThan(0);
    for (const source of [
      { kind: "files", files: [secret], validFraction: 0.5 },
      { kind: "files", files: [join(folder, ".studio/data/../../../secret.tsv")], validFraction: 0.5 },
    ]) {
      const other = await page.open(await changed((config) => ({ ...config, data: { ...config.data, source } })));
      expect(await other.classify(["good"])).toEqual(await run.classify(["good"]));
      await expect(page.examples(other)).rejects.toThrow("not known here");
      await expect(page.passage(other)).rejects.toThrow("not known here");
      await expect(other.evaluate([])).rejects.toThrow("not known here");
      await expect(page.resume(other, { steps: 8 }).finished).rejects.toThrow("not known here");
      await other.close();
    }
    const lora = { rank: 1, alpha: 2, dropout: 0, targets: ["q"] };
    const from = { run: place.path("elsewhere"), sha256: "", step: 0 };
    const adapter = await changed((config) => ({ ...config, from, training: { ...config.training, lora } }));
    await expect(page.open(adapter)).rejects.toThrow("not a run of this studio");
    await Promise.all([own.close(), run.close()]);
    symlinkSync("moods", join(folder, "neighbour"));
    await page.remove({ run: "/runs/neighbour" }); // the link, and nothing of what it leads to
    expect(readdirSync(folder)).not.toContain("neighbour");
    expect(readdirSync(join(folder, "moods"))).toEqual(expect.arrayContaining(["config.json", "model.safetensors"]));
    expect(readdirSync(join(folder, "moods"))).not.toContain("lock");
    await page.remove(run);
  });

  it("gets nothing from addresses, which the studio could see and the page could not", async () => {
    const page = await studio.page();
    const place = globalThis as { location?: { href: string } };
    place.location = { href: "http://127.0.0.1/" };
    try {
      const message = (work: Promise<unknown>) =>
        work.then(
          () => "",
          ({ told }) => told.message,
        );
      const url = `http://127.0.0.1:${studio.port}/app.js`;
      expect(await message(page.begin(url, tiny).finished)).toContain("does not get what lies at an address");
      expect(await message(page.plan(url, tiny))).toContain("does not get what lies at an address");
      expect(await message(page.open(url))).toContain("does not get what lies at an address");
    } finally {
      delete place.location;
    }
  });

  it("names and texts with markup stay what they are", async () => {
    const page = await studio.page();
    const name = '<img src=x onerror="alert(1)">&amp;\u202e';
    const run = await page.train([{ text: "<script>,1\n".repeat(30), name: `${name}.txt` }], {
      ...tiny,
      tokenizer: "char",
      validFraction: 0,
      out: `/runs/${name}`,
    });
    expect(run.run).toBe(`/runs/${name}`);
    expect((await page.runs()).map((facts) => facts.run)).toEqual([`/runs/${name}`]);
    expect(readdirSync(folder)).toContain(name);
    await page.remove(run);
    expect(readdirSync(folder)).not.toContain(name);
    writeFileSync(join(folder, "stray.txt"), "beside the runs");
    expect(await page.runs()).toEqual([]);
  });
});
