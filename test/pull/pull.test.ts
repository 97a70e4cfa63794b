import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { NetworkError, QkvError } from "../../src/base/errors.ts";
import { type PullOptions, pull } from "../../src/library/pull.ts";
import { Workplace } from "../support/command.ts";
import { commit, HubServer } from "./hub-server.ts";

const weights = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251));
const repository = {
  "config.json": '{"model_type":"llama"}',
  "tokenizer.json": '{"version":"1.0"}',
  "tokenizer_config.json": "{}",
  "1_Pooling/config.json": "{}",
  "model.safetensors": weights,
  "pytorch_model.bin": "a pickle",
  "consolidated.safetensors": "the same again",
  "onnx/model.onnx": "another",
  "README.md": "words",
};
const wanted = ["1_Pooling/config.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];

const place = mkdtempSync(join(tmpdir(), "qkv-pull-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));
let count = 0;
let out = "";
beforeEach(() => {
  out = join(place, `model-${count++}`);
});

const waits: number[] = [];
const pulled = (hub: HubServer, options: Partial<PullOptions> = {}) =>
  pull("owner/tiny", { out, endpoint: hub.endpoint, wait: async (time) => void waits.push(time), ...options });

const refusal = async (work: Promise<unknown>): Promise<QkvError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(QkvError);
  return error as QkvError;
};

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.includes("."))
    .sort();
const requested = (hub: HubServer) => hub.sent.map(({ url }) => url);

describe("a model", () => {
  it("comes whole: the files that are needed and no others, of one commit", async () => {
    const hub = await HubServer.start(repository);
    const events: number[] = [];
    const done = await pulled(hub, { revision: "v1.0", listen: ({ bytes, total }) => events.push(bytes / total) });
    expect([...done.files].sort()).toEqual(wanted);
    expect(filesIn(out)).toEqual(wanted);
    expect(readFileSync(join(out, "model.safetensors")).equals(weights)).toBe(true);
    expect(requested(hub)[0]).toBe("/api/models/owner/tiny/revision/v1.0?blobs=true");
    expect(
      requested(hub)
        .slice(1)
        .every((url) => url.startsWith(`/owner/tiny/resolve/${commit}/`)),
    ).toBe(true);
    expect(events.at(-1)).toBe(1);
    expect(existsSync(`${out}.part`)).toBe(false);
  });

  it("is taken in shards where it has them, or as one .gguf", async () => {
    const shards = {
      "model-00001-of-00002.safetensors": "a",
      "model-00002-of-00002.safetensors": "b",
      "model.safetensors.index.json": "{}",
    };
    const hub = await HubServer.start({ "config.json": "{}", ...shards, "tiny.Q8_0.gguf": "GGUF" });
    expect([...(await pulled(hub)).files].sort()).toEqual(["config.json", ...Object.keys(shards)]);
    rmSync(out, { recursive: true });
    expect((await pulled(hub, { gguf: "tiny.Q8_0.gguf" })).files).toEqual(["tiny.Q8_0.gguf"]);
    const wrong = await refusal(pulled(hub, { gguf: "tiny.Q8.gguf", out: `${out}-2` }));
    expect(wrong.message).toBe('owner/tiny has no file "tiny.Q8.gguf"; did you mean "tiny.Q8_0.gguf"?');
  });

  it("never replaces what is there, unless it may, and then only a model", async () => {
    const hub = await HubServer.start(repository);
    await pulled(hub);
    hub.files.set("config.json", Buffer.from('{"model_type":"gpt2"}'));
    expect((await refusal(pulled(hub))).code).toBe("run.exists");
    await pulled(hub, { overwrite: true });
    expect(readFileSync(join(out, "config.json"), "utf8")).toContain("gpt2");
    writeFileSync(join(out, "thesis.docx"), "my own");
    expect((await refusal(pulled(hub, { overwrite: true }))).message).toContain("holds thesis.docx");
  });
});

describe("a connection", () => {
  it("that breaks off is taken up where it was", async () => {
    const hub = await HubServer.start(repository);
    let breaks = 3;
    hub.trouble = (request, response, content, from) => {
      if (!request.url?.endsWith("model.safetensors") || breaks-- <= 0) return false;
      response.writeHead(from > 0 ? 206 : 200, {
        ...(from > 0 && { "content-range": `bytes ${from}-${content.length - 1}/*` }),
        "content-length": content.length - from,
      });
      response.write(content.subarray(from, from + 50_000), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    await pulled(hub);
    expect(readFileSync(join(out, "model.safetensors")).equals(weights)).toBe(true);
    const ranges = hub.sent.filter(({ url }) => url.endsWith("model.safetensors")).map(({ range }) => range);
    expect(ranges).toEqual([undefined, "bytes=50000-", "bytes=100000-", "bytes=150000-"]);
  });

  it("whose server knows no ranges begins again", async () => {
    const hub = await HubServer.start(repository);
    let first = true;
    hub.trouble = (request, response, content) => {
      if (!request.url?.endsWith("model.safetensors")) return false;
      response.writeHead(200, { "content-length": content.length });
      if (first) response.write(content.subarray(0, 1000), () => setTimeout(() => response.destroy(), 20));
      else response.end(content);
      first = false;
      return true;
    };
    await pulled(hub);
    expect(readFileSync(join(out, "model.safetensors")).equals(weights)).toBe(true);
  });

  it("to a busy server waits as long as it is asked to, then gives up", async () => {
    const hub = await HubServer.start(repository);
    let busy = 2;
    hub.trouble = (_, response) => busy-- > 0 && Boolean(response.writeHead(503, { "retry-after": "7" }).end());
    waits.length = 0;
    await pulled(hub);
    expect(waits).toEqual([7000, 7000]);
    hub.trouble = (_, response) => Boolean(response.writeHead(500).end());
    const error = await refusal(pulled(hub, { out: `${out}-2` }));
    expect(error.message).toBe(
      `${hub.endpoint} answers 500, tried 5 times; look at the connection or endpoint, and try again: what has come is kept`,
    );
    expect(waits.slice(2)).toEqual([1000, 2000, 4000, 8000]);
    expect(existsSync(`${out}-2`)).toBe(false);
  });

  it("that cannot be made is said so", async () => {
    const error = await refusal(pull("owner/tiny", { out, endpoint: "http://127.0.0.1:9", wait: async () => {} }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toMatch(/^http:\/\/127\.0\.0\.1:9 cannot be reached \(.*\), tried 5 times/);
  });
});

describe("what comes damaged", () => {
  it("is asked for once more, and refused when it is damaged again", async () => {
    const hub = await HubServer.start(repository);
    const other = Buffer.from(weights);
    other[1234] ^= 1;
    let times = 1;
    hub.trouble = (request, response) => {
      if (!request.url?.endsWith("model.safetensors") || times-- <= 0) return false;
      hub.send(response, other, 0);
      return true;
    };
    await pulled(hub);
    expect(readFileSync(join(out, "model.safetensors")).equals(weights)).toBe(true);
    times = Number.POSITIVE_INFINITY;
    const error = await refusal(pulled(hub, { out: `${out}-2` }));
    expect(error.code).toBe("network.damaged");
    expect(error.message).toBe(
      `${hub.endpoint} sends something else than the model.safetensors that it announces (its SHA-256 differs), twice; nothing of it is kept`,
    );
    expect(existsSync(`${out}-2`)).toBe(false);
  });

  it("is known by git's checksum where a file is small", async () => {
    const hub = await HubServer.start(repository);
    hub.trouble = (request, response) => Boolean(request.url?.endsWith("/config.json")) && Boolean(response.end('{"model_type":"other"}'));
    expect((await refusal(pulled(hub))).message).toMatch(/git checksum differs/);
  });

  it("may be too long", async () => {
    const hub = await HubServer.start(repository);
    hub.trouble = (request, response, content) =>
      Boolean(request.url?.endsWith("model.safetensors")) && Boolean(response.end(Buffer.concat([content, content])));
    expect((await refusal(pulled(hub))).message).toMatch(/sends more of model.safetensors than the 300,000 bytes that it announces/);
  });

  it("may have lain here", async () => {
    const hub = await HubServer.start(repository);
    let stop = true;
    hub.trouble = (request, response) => stop && Boolean(request.url?.endsWith("tokenizer.json")) && Boolean(response.writeHead(400).end());
    await refusal(pulled(hub));
    const [file] = readdirSync(`${out}.part`).filter((name) => name.length === 40);
    writeFileSync(join(`${out}.part`, file), "spoilt");
    stop = false;
    await pulled(hub);
    expect(filesIn(out)).toEqual(wanted);
  });
});

describe("who asks", () => {
  it("is told to the hub, and to no host that it sends one to", async () => {
    const storage = await HubServer.start(repository);
    const hub = await HubServer.start(repository);
    hub.trouble = (request, response) => {
      if (!request.url?.endsWith("model.safetensors")) return false;
      response.writeHead(302, { location: `${storage.endpoint}${request.url}` }).end();
      return true;
    };
    await pulled(hub, { token: "hf_secret" });
    expect(hub.sent.every(({ authorization }) => authorization === "Bearer hf_secret")).toBe(true);
    expect(storage.sent.map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(readFileSync(join(out, "model.safetensors")).equals(weights)).toBe(true);
  });

  it("is never said, and a refusal says the cure", async () => {
    const hub = await HubServer.start(repository);
    hub.trouble = (_, response) => Boolean(response.writeHead(403).end());
    const known = await refusal(pulled(hub, { token: "hf_secret" }));
    expect(known.code).toBe("network.forbidden");
    expect(known.message).not.toContain("hf_secret");
    expect(known.message).toMatch(
      /the token is wrong, has no right to read, or its owner has not accepted the conditions on the model's page$/,
    );
    const unknown = await refusal(pulled(hub));
    expect(unknown.message).toMatch(/it is private or gated: accept its conditions on its page, and give a token/);
  });

  it("asks for a model that there is", async () => {
    const hub = await HubServer.start(repository);
    const error = await refusal(pull("owner/other", { out, endpoint: hub.endpoint }));
    expect(error.code).toBe("network.missing");
    expect(error.message).toBe(
      `${hub.endpoint} has no owner/other/revision/main; look at the name of its owner, its own name and revision`,
    );
    for (const id of ["../etc/passwd", "owner/..", "a/b/c", "", "owner/na me"])
      expect((await refusal(pull(id, { out, endpoint: hub.endpoint }))).message).toMatch(/^a model is called owner\/name/);
    for (const endpoint of ["ftp://example.org", "https://user:word@example.org", "hub"])
      expect((await refusal(pull("owner/tiny", { out, endpoint }))).message).toMatch(/^a hub is an address/);
    expect((await refusal(pulled(hub, { revision: "../main" }))).path).toBe("revision");
  });

  it("is not sent around without an end, nor down to an open line", async () => {
    const hub = await HubServer.start(repository);
    hub.trouble = (request, response) => Boolean(response.writeHead(302, { location: request.url }).end());
    expect((await refusal(pulled(hub))).message).toMatch(/from place to place without an end$/);
    hub.trouble = (_, response) => Boolean(response.writeHead(302, { location: "file:///etc/passwd" }).end());
    expect((await refusal(pulled(hub))).message).toMatch(/sends one to a place that cannot be followed$/);
  });
});

describe("what a hub lists", () => {
  it("of pickles alone is refused by name, with the cure", async () => {
    const hub = await HubServer.start({ "config.json": "{}", "pytorch_model.bin": "a pickle" });
    expect((await refusal(pulled(hub))).message).toMatch(
      /^owner\/tiny has its weights as pytorch_model\.bin only, a format that can run any program when it is opened, so it is never read; look for safetensors/,
    );
    const packed = await HubServer.start({ "config.json": "{}", "tiny.gguf": "GGUF" });
    expect((await refusal(pulled(packed))).message).toMatch(
      /^owner\/tiny has its weights as \.gguf only; choose one with gguf: "tiny\.gguf"/,
    );
  });

  it("never makes a path outside of the folder", async () => {
    for (const name of [
      "../model.safetensors",
      "/etc/config.json",
      "a/../../config.json",
      "..\\config.json",
      "../tiny.gguf",
      "x/../../tiny.gguf",
    ]) {
      const hub = await HubServer.start({ "config.json": "{}", "model.safetensors": "w", [name]: "outside" });
      const { files } = await pulled(hub, { out: `${out}-${encodeURIComponent(name)}` });
      expect([...files].sort()).toEqual(["config.json", "model.safetensors"]);
      await refusal(pulled(hub, { gguf: name }));
    }
  });

  it("must have sizes and checksums", async () => {
    const hub = await HubServer.start(repository);
    for (const [change, message] of [
      [{ siblings: [{ rfilename: "config.json" }] }, /tells neither size nor checksum of "config.json"/],
      [{ siblings: [{ rfilename: "config.json", size: -1, blobId: commit }] }, /not understood/],
      [{ siblings: [{ rfilename: "config.json", size: 1e300, blobId: commit }] }, /not understood/],
      [{ siblings: [{ rfilename: "config.json", size: 1, blobId: "../../x" }] }, /not understood/],
      [{ sha: "../../../x" }, /not understood/],
      [{ siblings: "none" }, /not understood/],
      [
        {
          siblings: [
            { rfilename: "config.json", size: 1e13, blobId: commit },
            { rfilename: "model.safetensors", lfs: { sha256: "a".repeat(64), size: 1e14 } },
          ],
        },
        /GB still to come, and the disk of/,
      ],
    ] as const) {
      hub.listing = (truth) => ({ ...(truth as object), ...change });
      expect((await refusal(pulled(hub))).message).toMatch(message);
    }
    expect(existsSync(out)).toBe(false);
  });
});

const disk = mkdtempSync(join(tmpdir(), "qkv-pull-disk-"));
const mounted = process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", disk]).status === 0;
afterAll(() => {
  if (mounted) spawnSync("umount", [disk]);
  rmSync(disk, { recursive: true, force: true });
});

describe.skipIf(!mounted)("a disk that fills up on the way", () => {
  it("is said so, and the pull goes on when there is room", async () => {
    const hub = await HubServer.start(repository);
    const filler = join(disk, "filler");
    hub.trouble = (request) => {
      if (request.url?.endsWith("model.safetensors") && !existsSync(filler)) writeFileSync(filler, new Uint8Array(300 * 1024));
      return false;
    };
    const error = await refusal(pulled(hub, { out: join(disk, "model") }));
    expect(error.code).toBe("run.disk");
    expect(error.message).toMatch(/^could not write what comes to .*: the disk is full; free some space/);
    expect(existsSync(join(disk, "model"))).toBe(false);
    writeFileSync(filler, "");
    hub.trouble = () => false;
    await pulled(hub, { out: join(disk, "model") });
    expect(hub.sent.at(-1)?.range).toMatch(/^bytes=[1-9]/);
    expect(readFileSync(join(disk, "model", "model.safetensors")).equals(weights)).toBe(true);
  });
});

describe("the command", () => {
  const work = new Workplace();

  it("that is killed goes on where it was", async () => {
    const hub = await HubServer.start(repository);
    const half = weights.length / 2;
    hub.trouble = (request, response, content, from) => {
      if (!request.url?.endsWith("model.safetensors") || from > 0) return false;
      response.writeHead(200, { "content-length": content.length });
      response.write(content.subarray(0, half)); // and then nothing
      return true;
    };
    const args = ["pull", "owner/tiny", "--out", "model", "--endpoint", hub.endpoint];
    const running = work.start(...args);
    const part = () => (existsSync(work.path("model.part")) ? readdirSync(work.path("model.part")) : []);
    const size = () => part().filter((name) => name.length === 64).map((name) => readFileSync(work.path("model.part", name)).length)[0] ?? 0; // biome-ignore format: one thought
    while (size() < half) await new Promise((done) => setTimeout(done, 20));
    running.signal("SIGKILL");
    await running.ended;
    expect(existsSync(work.path("model"))).toBe(false);
    const done = await work.start(...args, "--json").ended;
    expect(done.stderr).not.toContain("Error");
    expect(JSON.parse(done.stdout)).toMatchObject({ folder: "model", id: "owner/tiny", commit, files: expect.any(Array) });
    expect(hub.sent.at(-1)?.range ?? hub.sent.find(({ range }) => range)?.range).toBe(`bytes=${half}-`);
    expect(readFileSync(work.path("model", "model.safetensors")).equals(weights)).toBe(true);
    expect(existsSync(work.path("model.part"))).toBe(false);
  });

  it("takes hub and token from the environment", async () => {
    const hub = await HubServer.start(repository);
    process.env.HF_ENDPOINT = hub.endpoint;
    process.env.HF_TOKEN = "hf_secret";
    const done = await work.start("pull", "owner/tiny", "--out", "other").ended.finally(() => {
      delete process.env.HF_ENDPOINT;
      delete process.env.HF_TOKEN;
    });
    expect(done.code).toBe(0);
    expect(done.stdout).toBe(`other: 5 files, 0.3 MB, commit ${commit.slice(0, 12)}\n`);
    expect(done.stdout + done.stderr).not.toContain("hf_secret");
    expect(hub.sent[0].authorization).toBe("Bearer hf_secret");
  });
});
