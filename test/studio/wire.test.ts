import fc from "fast-check";
import { expect, it } from "vitest";
import { type CarriedFile, carried, decoded, encoded } from "../../src/worker/wire.ts";

// What is sent is what arrives, bit for bit, also what JSON has no word for; and what nobody sent is refused.

const typed = fc.oneof(
  fc.float32Array(),
  fc.float64Array(),
  fc.uint8Array(),
  fc.int32Array(),
  fc.bigInt64Array(),
  fc.array(fc.double(), { minLength: 64, maxLength: 200 }),
);
const { message } = fc.letrec((tie) => ({
  message: fc.oneof(
    { depthSize: "medium" },
    fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.constant(-0), fc.constant(Number.NaN)),
    typed,
    fc.array(tie("message"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("$", "__proto__", "part", "value")), tie("message"), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  ),
}));

it("any message arrives as it was sent", () => {
  fc.assert(
    fc.property(message, (sent) => {
      expect(decoded(encoded(sent))).toStrictEqual(sent);
    }),
  );
});

it("files arrive with their names, in whatever depth", async () => {
  const sent = { job: 1, work: { data: [{ file: new File(["ä\0b"], "<b>.txt", { lastModified: 5 }) }] } };
  const arrived = decoded(encoded(await carried(sent))) as { work: { data: [{ file: CarriedFile }] } };
  const { name, bytes, modified } = arrived.work.data[0].file;
  expect([name, new TextDecoder().decode(bytes), modified]).toEqual(["<b>.txt", "ä\0b", 5]);
});

it("what is no data is refused before it is sent", () => {
  expect(() => carried({ settings: { listen: () => 1 } })).toThrow("cannot be sent");
  expect(() => carried({ at: new Date() })).toThrow("plain data");
});

it("bytes that nobody sent are refused, and never read beyond their end", () => {
  fc.assert(
    fc.property(message, fc.uint8Array(), fc.nat(), (sent, noise, at) => {
      const frame = encoded({ sent, array: new Uint8Array(3) }) as Uint8Array<ArrayBuffer>;
      frame.set(noise.subarray(0, Math.max(0, frame.length - (at % frame.length))), at % frame.length);
      try {
        decoded(frame);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }),
  );
  const once = encoded([new Uint8Array(8)]) as Uint8Array<ArrayBuffer>;
  const twice = new TextEncoder().encode(
    '{"message":[{"$":"file","part":0,"name":"a","modified":1},{"$":"file","part":0,"name":"b","modified":1}],"sizes":[1]}',
  );
  const frame = new Uint8Array(4 + twice.length + 16);
  new DataView(frame.buffer).setUint32(0, twice.length, true);
  frame.set(twice, 4);
  expect(decoded(once)).toEqual([new Uint8Array(8)]);
  expect(() => decoded(frame)).toThrow("not there"); // a few bytes never become many
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  expect(decoded(nested(100))).toEqual(JSON.parse(nested(100)));
  expect(() => decoded(nested(1000))).toThrow("lists in lists");
  expect(() => decoded('{"$":"Uint8Array","part":0}')).toThrow("no parts");
  expect(() => decoded('{"$":"constructor","part":0}')).toThrow();
});
