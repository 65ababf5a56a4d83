// On which line of a JSON text a value stands, so that a refused file can be mended. Pure.

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
