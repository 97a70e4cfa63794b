// Server-sent events from bytes. An event may come in several pieces, a piece may have several events, and a character may be cut in two.

const lineEnd = /\r\n|\n|\r/;

/** What the `data` lines of each event say, as they come. An event that was not ended with an empty line never happened. */
export async function* eventsOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = bytes.getReader();
  let [rest, data]: [string, string[]] = ["", []];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (;;) {
        const end = lineEnd.exec(rest);
        // A carriage return at the very end may be half of a line's end.
        if (!end || (end[0] === "\r" && end.index === rest.length - 1 && !done)) break;
        const line = rest.slice(0, end.index);
        rest = rest.slice(end.index + end[0].length);
        if (line === "") {
          if (data.length > 0) yield data.join("\n");
          data = [];
        } else if (line === "data" || line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {}); // whoever leaves early wants no more of it
  }
}
