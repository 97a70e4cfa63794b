/** An element of a well-formed file. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** The text directly inside, references resolved. */
  text: string;
  readonly children: XmlElement[];
}

const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const forbidden = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** Reads the XML that pictures use (no comments, sections or declarations) and refuses everything that is not well-formed. */
export function parseXml(source: string): XmlElement {
  const wrong = (what: string): never => {
    throw new Error(`not well-formed: ${what}`);
  };
  if (forbidden.test(source)) wrong("a character that XML forbids");
  const resolved = (text: string): string => {
    if (/[<>]|\]\]>/.test(text)) wrong(`${text.slice(0, 40)} in a text`);
    return text.replace(/&([^;]*);?/g, (whole, name: string) => {
      if (!whole.endsWith(";")) wrong(`${whole.slice(0, 20)} is no reference`);
      const code = /^#(\d+)$/.exec(name);
      return code ? String.fromCodePoint(Number(code[1])) : (named[name] ?? wrong(`unknown reference ${name}`));
    });
  };
  const root: XmlElement = { name: "", attributes: new Map(), text: "", children: [] };
  const open = [root];
  let place = 0;
  while (place < source.length) {
    const start = source.indexOf("<", place);
    const text = source.slice(place, start < 0 ? undefined : start);
    open[open.length - 1].text += resolved(text);
    if (start < 0) break;
    const tag = /<(\/?)([A-Za-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/y;
    tag.lastIndex = start;
    const match = tag.exec(source) ?? wrong(`${source.slice(start, start + 40)} is no tag`);
    place = tag.lastIndex;
    const [, closing, name, attributes, empty] = match;
    if (closing) {
      const last = open.pop();
      if (last?.name !== name) wrong(`</${name}> closes <${last?.name}>`);
      continue;
    }
    const found = [...attributes.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key, resolved(value)] as const);
    if (new Set(found.map(([key]) => key)).size < found.length) wrong(`an attribute of <${name}> comes twice`);
    const element: XmlElement = { name, attributes: new Map(found), text: "", children: [] };
    open[open.length - 1].children.push(element);
    if (!empty) open.push(element);
  }
  if (open.length !== 1 || root.children.length !== 1) wrong("an element is left open, or there are several at the top");
  return root.children[0];
}

/** An element and all inside it. */
export function everyElement(element: XmlElement): XmlElement[] {
  return [element, ...element.children.flatMap(everyElement)];
}

export const elementsOf = (svg: string, name: string): XmlElement[] =>
  everyElement(parseXml(svg)).filter((element) => element.name === name);
