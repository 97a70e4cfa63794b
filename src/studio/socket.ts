import type { WebSocket } from "ws";
import type { ToldError } from "../protocol/messages.ts";
import type { FromWorker } from "../worker/messages.ts";
import { decoded, encoded } from "../worker/wire.ts";
import { askedOf } from "./asked.ts";
import type { House } from "./house.ts";

// One connection of a page. Whatever comes is answered, and nothing that comes ends the studio; a page that does not read, or is gone without a word, is
// let go of.

/** Bytes that may wait for a page that reads slowly; milliseconds between two signs of life, and how many of these may be missing. */
const mostWaiting = 2 ** 29;
const pulse = 10_000;
const mostMissed = 3;
/** Messages that cannot be read, after which a page is a mistake. */
const mostUnread = 100;

export function converse(socket: WebSocket, house: House): void {
  const send = (said: FromWorker) => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > mostWaiting) return socket.terminate();
    try {
      socket.send(encoded(said));
    } catch (error) {
      for (const one of unsentTo(said, unsent(error))) socket.send(encoded(one));
    }
  };
  const client = house.connect(send);
  let unread = 0;
  socket.on("message", (data: Buffer, binary) => {
    try {
      client.hear(askedOf(decoded(binary ? new Uint8Array(data) : data.toString("utf8"))));
    } catch {
      send({ broken: { fault: "asked", code: "format", message: "this message cannot be read; reload the page" } });
      if (++unread >= mostUnread) socket.close(1008, "too many messages that cannot be read");
    }
  });
  let missed = 0;
  socket.on("pong", () => {
    missed = 0;
  });
  const timer = setInterval(() => {
    if (++missed > mostMissed) return socket.terminate();
    socket.ping();
  }, pulse);
  socket.on("error", () => socket.terminate());
  socket.on("close", () => {
    clearInterval(timer);
    client.leave();
  });
}

/** What is told in the place of something that could not be sent. */
function unsentTo(said: FromWorker, error: ToldError): FromWorker[] {
  if ("job" in said) return [{ job: said.job, error, stopped: false }];
  if (!("said" in said)) return [];
  return said.said.flatMap((one) => ("id" in one ? [{ model: said.model, said: [{ id: one.id, error }] }] : []));
}

const unsent = (error: unknown): ToldError => ({
  fault: "failed",
  code: "unexpected",
  message: `the answer could not be sent (${error instanceof Error ? error.message : error}); ask for less`,
});
