// Validates environment markers (PEP 508). They are not evaluated: a requirement counts everywhere. Pure.

const tokenForm = /\s*(?:([()])|(<=|>=|!=|===|==|~=|<|>)|("[^"]*"|'[^']*')|(not\s+in(?![\w.]))|([A-Za-z_][\w.]*))/y;

type Token = "(" | ")" | "operator" | "word" | "value";

const words: Readonly<Record<string, Token>> = { and: "word", or: "word", in: "operator" };

const tokensOf = (text: string): Token[] | undefined => {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  tokenForm.lastIndex = 0;
  while (tokenForm.lastIndex < end) {
    const found = tokenForm.exec(text);
    if (!found) return undefined;
    const [, bracket, operator, quoted, notIn, name = ""] = found;
    if (bracket === "(" || bracket === ")") tokens.push(bracket);
    else if (operator !== undefined || notIn !== undefined) tokens.push("operator");
    else tokens.push(quoted === undefined ? (words[name] ?? "value") : "value");
  }
  return tokens;
};

/** Comparisons with `and`, `or` and brackets. */
export const isMarker = (text: string): boolean => {
  const tokens = tokensOf(text);
  if (!tokens || tokens.length === 0) return false;
  let depth = 0;
  let wantsComparison = true;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (wantsComparison) {
      if (token === "(") depth++;
      else if (token === "value" && tokens[at + 1] === "operator" && tokens[at + 2] === "value") {
        at += 2;
        wantsComparison = false;
      } else return false;
    } else if (token === ")" && depth > 0) depth--;
    else if (token === "word") wantsComparison = true;
    else return false;
  }
  return depth === 0 && !wantsComparison;
};
