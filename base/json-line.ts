// On which line of a JSON text a value stands, or the mistake, so that a refused file can be mended. Pure.

const blank = /[\s,:]/;

/** Index just behind the string that opens at `start`. */
const skipString = (json: string, start: number): number => {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
};

/** Index just behind the value that begins at `start`. */
const skipValue = (json: string, start: number): number => {
  let depth = 0;
  let at = start;
  do {
    const character = json[at];
    if (character === '"') at = skipString(json, at);
    else {
      if (character === "{" || character === "[") depth++;
      else if (character === "}" || character === "]") depth--;
      at++;
    }
    if (depth === 0 && /[\s,\]}]/.test(json[at] ?? ",")) break;
  } while (at < json.length);
  return at;
};

const skipBlank = (json: string, start: number): number => {
  let at = start;
  while (at < json.length && blank.test(json[at] ?? "")) at++;
  return at;
};

/** The line (from 1) of the value at `path` in a valid JSON text; of the nearest enclosing value where there is none. */
export const lineOf = (json: string, path: readonly (string | number)[]): number => {
  let at = skipBlank(json, 0);
  for (const step of path) {
    const open = json[at];
    if (open !== "{" && open !== "[") break;
    let inner = skipBlank(json, at + 1);
    let index = 0;
    let found = -1;
    while (inner < json.length && json[inner] !== "}" && json[inner] !== "]" && found < 0) {
      let key: string | number = index;
      if (open === "{") {
        const end = skipString(json, inner);
        key = String(JSON.parse(json.slice(inner, end)));
        inner = skipBlank(json, end);
      }
      if (key === step) found = inner;
      else inner = skipBlank(json, skipValue(json, inner));
      index++;
    }
    if (found < 0) break;
    at = found;
  }
  return json.slice(0, at).split("\n").length;
};

// One token and the blanks before it: a mark, a text, or a number or name.
const token =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-]))/y;

/** What may come next: a value, a key, what stands behind a key or a value, or the bracket that closes an empty one. */
type Awaited = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end";

/** What is awaited behind this token; undefined where it cannot stand here. `open` are the brackets around it. */
const step = (awaited: Awaited, mark: string | undefined, isText: boolean, open: string[]): Awaited | undefined => {
  const inside = open.at(-1);
  if (mark === "{" || mark === "[") {
    if (!awaited.startsWith("value")) return undefined;
    open.push(mark);
    return mark === "{" ? "key or }" : "value or ]";
  }
  if (mark === "}" || mark === "]") {
    const fits = awaited === ", or end" ? inside === (mark === "}" ? "{" : "[") : awaited.endsWith(` or ${mark}`);
    if (!fits) return undefined;
    open.pop();
    return ", or end";
  }
  if (mark === ",") return awaited === ", or end" && inside ? (inside === "{" ? "key" : "value") : undefined;
  if (mark === ":") return awaited === ":" ? "value" : undefined;
  if (awaited.startsWith("key")) return isText ? ":" : undefined;
  return awaited.startsWith("value") ? ", or end" : undefined;
};

/** The line (from 1) at which a text stops being JSON; its last line where it only ends too early. */
export const brokenLine = (json: string): number => {
  const open: string[] = [];
  let awaited: Awaited | undefined = "value";
  let good = 0;
  token.lastIndex = 0;
  for (let found = token.exec(json); found; found = token.exec(json)) {
    awaited = step(awaited, found[1], found[2] !== undefined, open);
    if (awaited === undefined) break;
    good = token.lastIndex;
  }
  const at = good + (/^[ \t\n\r]*/.exec(json.slice(good))?.[0].length ?? 0);
  return (at < json.length ? json.slice(0, at) : json.trimEnd()).split("\n").length;
};
