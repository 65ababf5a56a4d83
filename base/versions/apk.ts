// Order of apk versions (Alpine, Wolfi).
//
//   number{.number}[letter]{_suffix[number]}[~hash][-rnumber]
//
// Numbers after the first that begin with 0 compare as texts ("1.05" before "1.1"). The suffixes _alpha, _beta, _pre and _rc sort
// before the version without one; _cvs, _svn, _git, _hg and _p sort after it.

import { compareDigits, compareTexts } from "./digits.ts";

type Kind = "first" | "number" | "letter" | "suffix" | "suffix number" | "hash" | "revision" | "end";

/** In the order within a version. If two versions continue differently, the earlier kind is greater. */
const tokenKinds: readonly Kind[] = ["first", "number", "letter", "suffix", "suffix number", "hash", "revision", "end"];
const suffixes: readonly string[] = ["alpha", "beta", "pre", "rc", "", "cvs", "svn", "git", "hg", "p"];
const release = suffixes.indexOf("");

interface Token {
  readonly kind: Kind;
  readonly text: string;
}

const apkForm = /^([0-9]+)((?:\.[0-9]+)*)([a-z]?)((?:_(?:alpha|beta|pre|rc|cvs|svn|git|hg|p)[0-9]*)*)(?:~([0-9a-f]+))?(?:-r([0-9]+))?$/;

const apkTokens = (version: string): Token[] | undefined => {
  const found = apkForm.exec(version);
  if (!found) return undefined;
  const [, first = "", numbers = "", letter = "", suffixed = "", commit, revision] = found;
  const tokens: Token[] = [{ kind: "first", text: first }];
  for (const text of numbers.split(".").slice(1)) tokens.push({ kind: "number", text });
  if (letter !== "") tokens.push({ kind: "letter", text: letter });
  for (const [, text = "", number = ""] of suffixed.matchAll(/_([a-z]+)([0-9]*)/g)) {
    tokens.push({ kind: "suffix", text });
    if (number !== "") tokens.push({ kind: "suffix number", text: number });
  }
  if (commit !== undefined) tokens.push({ kind: "hash", text: commit });
  if (revision !== undefined) tokens.push({ kind: "revision", text: revision });
  return tokens;
};

const compareTokens = ({ kind, text: one }: Token, { text: other }: Token): number => {
  switch (kind) {
    case "number":
      return one.startsWith("0") || other.startsWith("0") ? compareTexts(one, other) : compareDigits(one, other);
    case "suffix":
      return suffixes.indexOf(one) - suffixes.indexOf(other);
    case "letter":
    case "hash":
      return compareTexts(one, other);
    default:
      return compareDigits(one, other);
  }
};

const ended: Token = { kind: "end", text: "" };

const isBeforeRelease = ({ kind, text }: Token): boolean => kind === "suffix" && suffixes.indexOf(text) < release;

/** Returns a negative number, 0 or a positive number; undefined if either is not a version. */
export const compareApk = (one: string, other: string): number | undefined => {
  const [left, right] = [apkTokens(one), apkTokens(other)];
  if (!left || !right) return undefined;
  for (let index = 0; ; index++) {
    const [a, b] = [left[index] ?? ended, right[index] ?? ended];
    if (a.kind !== b.kind) {
      if (isBeforeRelease(a)) return -1;
      if (isBeforeRelease(b)) return 1;
      return tokenKinds.indexOf(b.kind) - tokenKinds.indexOf(a.kind);
    }
    if (a.kind === "end") return 0;
    const order = compareTokens(a, b);
    if (order !== 0) return order;
  }
};

export const isApkVersion = (version: string): boolean => apkForm.test(version);
