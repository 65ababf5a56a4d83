// A tokenizer for TypeScript and JavaScript: tokens, literals, top-level functions and imports, as needed for project rules. It
// uses no compiler, because TypeScript 7 has no API and tools based on older ones reported success on zero modules; tests that
// use it prove that it finds something.

export interface Token {
  /** A template is its text parts, with the tokens of ${…} in between. */
  readonly kind: "word" | "number" | "mark" | "text" | "template" | "pattern" | "comment";
  /** The word or mark; the content of a text, template or comment. */
  readonly value: string;
  /** From 1. */
  readonly line: number;
  /** For template text: whether it opens or closes the template. */
  readonly opens?: boolean;
  readonly closes?: boolean;
}

// A slash after these starts a pattern; otherwise it divides.
const marksBeforePattern = new Set([..."(,=:[!&|?{};+-*%<>~^"]);
const wordsBeforePattern = new Set(["return", "typeof", "case", "in", "of", "await", "yield", "void", "throw", "delete", "new"]);

const expression = {
  blank: /\s+/y,
  lineComment: /\/\/[^\n]*/y,
  blockComment: /\/\*[\s\S]*?\*\//y,
  shebang: /#![^\n]*/y,
  text: /"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/y,
  // A pattern's "[" may contain a bare slash.
  pattern: /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  number: /\d[\w.]*/y,
  word: /#?[\p{L}_$][\p{L}\p{N}_$]*/uy,
  // Template text from a backtick, or the closing brace of ${…}, to the next of either.
  template: /((?:[^`\\$]|\\[\s\S]|\$(?!\{))*)(`|\$\{)/y,
} as const;

/** Splits a source into tokens. Throws if it is invalid. */
export const tokensOf = (source: string): Token[] => {
  const tokens: Token[] = [];
  // Open braces within each open ${…}.
  const braces: number[] = [];
  let at = 0;
  let line = 1;
  let before: Token | undefined;
  // Whether the previous template part ended with ${, which starts an expression.
  let opensExpression = false;

  const match = (form: RegExp): RegExpExecArray | undefined => {
    form.lastIndex = at;
    return form.exec(source) ?? undefined;
  };
  const advance = (length: number): void => {
    for (let index = at; index < at + length; index++) if (source[index] === "\n") line++;
    at += length;
  };
  const add = (kind: Token["kind"], value: string, length: number, more: Pick<Token, "opens" | "closes"> = {}): void => {
    const token: Token = { kind, value, line, ...more };
    tokens.push(token);
    if (kind !== "comment") before = token;
    advance(length);
  };
  const addTemplate = (opens: boolean): void => {
    advance(1);
    const found = match(expression.template);
    if (!found) throw new Error(`a template does not end (line ${line})`);
    opensExpression = found[2] === "${";
    if (opensExpression) braces.push(0);
    add("template", found[1] ?? "", found[0].length, { opens, closes: found[2] === "`" });
  };
  const beginsPattern = (): boolean =>
    before === undefined ||
    (before.kind === "mark" && marksBeforePattern.has(before.value)) ||
    (before.kind === "template" && opensExpression) ||
    (before.kind === "word" && wordsBeforePattern.has(before.value));

  while (at < source.length) {
    const blank = match(expression.blank) ?? (at === 0 ? match(expression.shebang) : undefined);
    if (blank) {
      advance(blank[0].length);
      continue;
    }
    const comment = match(expression.lineComment) ?? match(expression.blockComment);
    if (comment) {
      add("comment", comment[0], comment[0].length);
      continue;
    }
    const character = source[at] ?? "";
    const text = match(expression.text);
    const pattern = character === "/" && beginsPattern() ? match(expression.pattern) : undefined;
    const number = match(expression.number);
    const word = match(expression.word);
    if (text) add("text", text[0].slice(1, -1), text[0].length);
    else if (pattern) add("pattern", pattern[0], pattern[0].length);
    else if (number) add("number", number[0], number[0].length);
    else if (word) add("word", word[0], word[0].length);
    else if (character === "`") addTemplate(true);
    else if (character === "}" && braces.at(-1) === 0) {
      braces.pop();
      addTemplate(false);
    } else {
      const open = braces.length - 1;
      if (character === "{" && open >= 0) braces[open] = (braces[open] ?? 0) + 1;
      if (character === "}" && open >= 0) braces[open] = (braces[open] ?? 0) - 1;
      if (character === '"' || character === "'") throw new Error(`a text does not end (line ${line})`);
      add("mark", character, 1);
    }
  }
  return tokens;
};

export const codeOf = (source: string): Token[] => tokensOf(source).filter(({ kind }) => kind !== "comment");

const is = (token: Token | undefined, value: string): boolean =>
  token !== undefined && token.kind !== "text" && token.kind !== "template" && token.value === value;

/** A text or template, with "${}" for its expressions. */
export interface Literal {
  readonly value: string;
  readonly line: number;
}

export const literalsOf = (source: string): Literal[] => {
  const found: Literal[] = [];
  const unfinished: { value: string; readonly line: number }[] = [];
  for (const { kind, value, line, opens, closes } of tokensOf(source)) {
    if (kind === "text") found.push({ value, line });
    if (kind !== "template") continue;
    if (opens) unfinished.push({ value: "", line });
    const innermost = unfinished.at(-1);
    if (innermost) innermost.value += closes ? value : `${value}\${}`;
    if (closes) found.push(...unfinished.splice(-1));
  }
  return found;
};

export interface Import {
  /** "#db", "./uid.ts", "node:fs", "jose"; undefined if it is not a literal. */
  readonly specifier: string | undefined;
  readonly typesOnly: boolean;
  /** Imported names as exported, without types. Empty for `* as`, `import()` and similar. */
  readonly values: readonly string[];
  readonly line: number;
}

const valuesAmong = (tokens: readonly Token[]): string[] =>
  tokens.flatMap((token, index) => {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    const begins = token.kind === "word" && (is(before, "{") || is(before, ","));
    return begins && !(token.value === "type" && after?.kind === "word") ? [token.value] : [];
  });

/** Returns all imports of a source, in every form. */
export const importsOf = (source: string): Import[] => {
  const tokens = codeOf(source);
  const found: Import[] = [];
  const add = (token: Token | undefined, typesOnly: boolean, line: number, values: readonly string[] = []): void =>
    void found.push({ specifier: token?.kind === "text" ? token.value : undefined, typesOnly, line, values });

  for (const [index, token] of tokens.entries()) {
    const [next, second] = [tokens[index + 1], tokens[index + 2]];
    if (token.kind !== "word" || is(tokens[index - 1], ".")) continue;
    // Own functions may have this name; the real one takes one text.
    if (token.value === "require" && is(next, "(") && second?.kind === "text" && is(tokens[index + 3], ")")) add(second, false, token.line);
    // Node's own modules, loaded on demand.
    if (token.value === "process" && is(next, ".") && is(second, "getBuiltinModule") && is(tokens[index + 3], "(")) add(tokens[index + 4], false, token.line);
    if (token.value === "import" && is(next, "(")) add(second, false, token.line);
    else if (token.value === "import" && is(next, ".")) {
      if (is(tokens[index + 3], ".") && is(tokens[index + 4], "resolve") && is(tokens[index + 5], "(")) add(tokens[index + 6], false, token.line);
    } else if (token.value === "import" && next?.kind === "text") add(next, false, token.line);
    else if (token.value === "import" || token.value === "export") {
      const typesOnly = is(next, "type");
      const opening = typesOnly ? second : next;
      // export const … is not an import; export { … } may be one.
      if (token.value === "export" && !is(opening, "{") && !is(opening, "*")) continue;
      let end = index + 1;
      while (end < tokens.length && !is(tokens[end], "from") && !is(tokens[end], ";") && !is(tokens[end], "}")) end++;
      if (is(tokens[end], "}")) end++;
      if (is(tokens[end], "from")) add(tokens[end + 1], typesOnly, token.line, typesOnly ? [] : valuesAmong(tokens.slice(index + 1, end)));
    }
  }
  return found;
};
