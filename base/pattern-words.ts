// Says the contract's patterns in words, for readers of the reference and of errors. Patterns from users are not of this form.

/** Ranges of a character class, most specific first. */
const ranges: readonly (readonly [text: string, words: string])[] = [
  ["a-zA-Z", "letters"],
  ["A-Za-z", "letters"],
  ["!#-\\[\\]-~", 'printable ASCII characters except spaces, `"` and `\\`'],
  ["!-~", "printable ASCII characters except spaces"],
  ["\\x21-\\x7e", "printable ASCII characters except spaces"],
  ["^\\x00-\\x1F\\x7F", "characters, without control characters"],
  ["^\\s", "characters, without whitespace"],
  ["\\S ", "characters on one line"],
  ["0-9a-f", "lowercase hexadecimal digits"],
  ["a-z", "lowercase letters"],
  ["A-Z", "uppercase letters"],
  ["0-9", "digits"],
];

const symbols: Readonly<Record<string, string>> = {
  " ": "spaces",
  ".": "periods",
  _: "underscores",
  "-": "hyphens",
  "/": "slashes",
  ":": "colons",
  "+": "plus signs",
};

const listed = (words: readonly string[], last = "and"): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;

/** "a-z0-9._-" to the names of its parts; undefined if a part has no name. */
const partsOfClass = (content: string): string[] | undefined => {
  const found: string[] = [];
  let rest = content;
  while (rest !== "") {
    const range = ranges.find(([text]) => rest.startsWith(text));
    const [character = ""] = rest.replace(/^\\/, "");
    const words = range?.[1] ?? symbols[character];
    if (words === undefined) return undefined;
    found.push(words);
    rest = range ? rest.slice(range[0].length) : rest.slice(rest.startsWith("\\") ? 2 : 1);
  }
  return found;
};

const countWords = (least: number, most: number): string => {
  if (most === Number.POSITIVE_INFINITY) return least === 0 ? "" : `${least} or more `;
  return least === most ? `${least} ` : least === 0 ? `up to ${most} ` : `${least} to ${most} `;
};

const countOf = (quantifier: string): readonly [least: number, most: number] => {
  if (quantifier === "*") return [0, Number.POSITIVE_INFINITY];
  if (quantifier === "+") return [1, Number.POSITIVE_INFINITY];
  const [, least = "1", comma = "", most = ""] = /^\{(\d+)(?:(,)(\d*))?\}$/.exec(quantifier) ?? [];
  return [Number(least), comma === "" ? Number(least) : most === "" ? Number.POSITIVE_INFINITY : Number(most)];
};

interface Classes {
  /** With its colon; undefined if there is none. */
  readonly prefix: string | undefined;
  /** Content of the classes. */
  readonly classes: readonly string[];
  readonly quantifier: string;
}

const lettersAndColon = /^[a-z0-9]+:/;
const aQuantifier = /^(?:[*+]|\{\d+\}|\{\d+,\d*\})$/;

/** Returns the index behind the class at the start of the text. */
const endOfClass = (text: string): number => {
  for (let at = 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "]") return at + 1;
  }
  return text.length;
};

/** Reads "^prefix:[first][content]*$"; undefined for other patterns. */
const readClasses = (pattern: string): Classes | undefined => {
  if (!pattern.startsWith("^") || !pattern.endsWith("$")) return undefined;
  let rest = pattern.slice(1, -1);
  const [prefix] = lettersAndColon.exec(rest) ?? [];
  rest = rest.slice(prefix?.length ?? 0);
  const classes: string[] = [];
  while (rest.startsWith("[")) {
    const end = endOfClass(rest);
    classes.push(rest.slice(1, end - 1));
    rest = rest.slice(end);
  }
  return classes.length > 0 && classes.length <= 2 && !classes.includes("") && aQuantifier.test(rest) ? { prefix, classes, quantifier: rest } : undefined;
};

const ofClasses = (pattern: string): string | undefined => {
  const { prefix, classes = [], quantifier = "" } = readClasses(pattern) ?? {};
  const content = classes.at(-1);
  const all = partsOfClass(content ?? "");
  const initial = partsOfClass(classes.length > 1 ? (classes[0] ?? "") : "");
  if (content === undefined || all === undefined || initial === undefined) return undefined;
  const [least, most] = countOf(quantifier);
  const added = initial.length > 0 ? 1 : 0;
  const words = `${countWords(least + added, most + added)}${listed(all)}`;
  const start = initial.map((each) => (/^[aeiou]/.test(each) ? `an ${each}` : `a ${each}`).replace(/s$/, ""));
  return [prefix === undefined ? "" : `\`${prefix}\` and `, words, added === 0 ? "" : `; the first is ${listed(start, "or")}`].join("");
};

const alternatives = (text: string): string =>
  listed(
    [...new Set(text.split("|"))].map((each) => `\`${each}\``),
    "or",
  );

/** A field of a list and its spelling in camel case. */
const sortFields = (text: string): string => {
  const names = text.split("|");
  return alternatives(names.filter((name) => name === name.toLowerCase()).join("|"));
};

const others: readonly (readonly [pattern: RegExp, words: string | ((found: RegExpExecArray) => string)])[] = [
  [/^\^\/\$\|\^\[0-9a-f\]\{40\}/, "a uid: 40 lowercase hexadecimal digits, then `/` and 16 more for each level below; or `/`"],
  [/^\^\[0-9a-f\]\{40\}\(\/\[0-9a-f\]\{16\}\)\*\$$/, "a uid: 40 lowercase hexadecimal digits, then `/` and 16 more for each level below"],
  [/^\^\(\?:0\|-\?\(\?:\[1-9\]/, "an integer of 64 bits"],
  [/^\^\(\?:([a-zA-Z_|]+)\)\(\?: \(\?:asc\|desc\)\)\?\$$/, ([, names = ""]) => `${sortFields(names)}; then optionally \`asc\` or \`desc\` after a space`],
  [/^\^\(([a-z|-]+)\)\$$/, ([, names = ""]) => alternatives(names)],
  [/s\$$/, "a number of seconds and `s`, such as `90s` or `1.500s`"],
  [/\.\+\\\.json\$$/, "a name that ends with `.json`"],
  [/^\^\(\[a-z_\]\+\(\\\.\[a-z_\]\+\)\*\|/, "a capability, such as `groups.list`, or a method, such as `package.Service/Method`"],
  [/^\^\[a-z_\]\+\(\\\.\[a-z_\]\+\)\*\$$/, "a capability, such as `groups.list`"],
  [/^\^\[a-zA-Z0-9_\.\\-\/\]\*\[a-zA-Z0-9_\.\\-\]:\[/, "a repository and a tag, such as `team/app:1.2`"],
];

/** Returns the values that a pattern of the contract accepts, such as "1 to 63 lowercase letters, digits and hyphens"; undefined for others. */
export const patternWords = (pattern: string): string | undefined => {
  for (const [form, words] of others) {
    const found = form.exec(pattern);
    if (found) return typeof words === "string" ? words : words(found);
  }
  return ofClasses(pattern);
};
