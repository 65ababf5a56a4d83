// Reads requirements.txt (PEP 508) like pip, but fetches nothing: a reference to a file or URL becomes an entry that cannot be
// requested.

import { limits } from "#base/limits.ts";
import { isPep440 } from "#base/versions/pep440.ts";
import { normalizePythonName } from "#base/versions/python-name.ts";
import { DocumentError } from "../invalid.ts";
import { isMarker } from "./marker.ts";
import { FoundRequirements, type Requirement, unpinned, withoutComment, withoutCredentials } from "./requirement.ts";

interface JoinedLine {
  /** The first joined line, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A comment line ends a continued line. */
const joinLines = (content: string): JoinedLine[] => {
  const joined: JoinedLine[] = [];
  let parts: string[] = [];
  let first = 0;
  const close = (): void => {
    if (parts.length > 0) joined.push({ line: first, text: parts.join("") });
    parts = [];
  };
  for (const [index, text] of content.split(/\r\n|\r|\n/).entries()) {
    if (parts.length === 0) first = index + 1;
    const isComment = /^\s*#/.test(text);
    if (text.endsWith("\\") && !isComment) parts.push(text.slice(0, -1));
    else {
      // Keeps the comment recognizable.
      parts.push(isComment ? ` ${text}` : text);
      close();
    }
  }
  close();
  return joined;
};

const withoutOptions = (text: string): string => {
  const words = text.split(" ");
  const at = words.findIndex((word) => word.startsWith("-"));
  return (at < 0 ? words : words.slice(0, at)).join(" ").trim();
};

const includeForm = /^(?:-r|-c|--requirement|--constraint)(?![A-Za-z-])/;
const editableForm = /^(?:-e|--editable)(?![A-Za-z-])[\s=]*/;
/** Options that do not change requirements. */
const fileOptions: ReadonlySet<string> = new Set([
  "-i",
  "-f",
  "--index-url",
  "--pypi-url",
  "--extra-index-url",
  "--no-index",
  "--find-links",
  "--no-binary",
  "--only-binary",
  "--prefer-binary",
  "--require-hashes",
  "--pre",
  "--trusted-host",
  "--use-feature",
]);

const pathForm = /^(?:[./~]|[A-Za-z]:[\\/])|\.(?:whl|zip|tar\.gz|tar\.bz2|tgz|tar\.xz)$/i;
const addressForm = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const nameForm = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const clauseForm = /^(===|~=|==|!=|<=|>=|<|>)\s*(\S+)$/;

interface Clause {
  readonly operator: string;
  readonly version: string;
}

const clauseOf = (text: string): Clause | undefined => {
  const [, operator = "", version = ""] = clauseForm.exec(text) ?? [];
  if (operator === "") return undefined;
  if (operator === "===") return { operator, version };
  const isPrefix = version.endsWith(".*");
  if (isPrefix && operator !== "==" && operator !== "!=") return undefined;
  if (!isPep440(isPrefix ? version.slice(0, -2) : version)) return undefined;
  // A local version has no order; a compatible release needs two numbers.
  if (version.includes("+") && operator !== "==" && operator !== "!=") return undefined;
  if (operator === "~=" && !/^v?(?:\d+!)?\d+\.\d/i.test(version)) return undefined;
  return { operator, version };
};

/** Returns undefined if one clause is invalid. */
const clausesOf = (text: string): Clause[] | undefined => {
  const plain = text.startsWith("(") && text.endsWith(")") ? text.slice(1, -1).trim() : text;
  if (plain === "") return [];
  const clauses: Clause[] = [];
  const parts = plain.split(",").map((part) => part.trim());
  // A trailing comma is allowed.
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  for (const part of parts) {
    const clause = clauseOf(part);
    if (!clause) return undefined;
    clauses.push(clause);
  }
  return clauses;
};

const exactVersion = (clauses: readonly Clause[]): string => {
  const [only, ...more] = clauses;
  const isExact = only && more.length === 0 && (only.operator === "===" || (only.operator === "==" && !only.version.endsWith(".*")));
  return isExact ? only.version : "";
};

const eggForm = /#(?:[^#]*&)?egg=([A-Za-z0-9][A-Za-z0-9._-]*)/;

const atAddress = (text: string): Requirement => ({
  text: withoutCredentials(text),
  name: normalizePythonName(eggForm.exec(text)?.[1] ?? ""),
  version: "",
  problem: "is at a separate URL, which is not fetched: ask for a version of it by name",
});

const malformed = (text: string, problem: string): Requirement => ({ text: withoutCredentials(text), name: "", version: "", problem });

interface NamedText {
  readonly name: string;
  readonly rest: string;
}

/** Returns the name, and the text after its extras ("[a, b]"). */
const splitName = (text: string): NamedText | undefined => {
  const name = /^[A-Za-z0-9._-]+/.exec(text)?.[0] ?? "";
  if (!nameForm.test(name)) return undefined;
  const rest = text.slice(name.length).trimStart();
  if (!rest.startsWith("[")) return { name, rest };
  const end = rest.indexOf("]");
  const extras = rest.slice(1, end).split(",");
  const areNames = extras.every((extra) => nameForm.test(extra.trim())) || (extras.length === 1 && extras[0]?.trim() === "");
  return end > 0 && areNames ? { name, rest: rest.slice(end + 1).trimStart() } : undefined;
};

/** Reads one requirement (PEP 508), or a URL or file in its place. */
export const readRequirement = (text: string): Requirement => {
  const named = splitName(text);
  if (named) {
    const { rest } = named;
    const name = normalizePythonName(named.name);
    if (rest.startsWith("@")) return { ...atAddress(text), name };
    const semicolon = rest.indexOf(";");
    const clauses = clausesOf((semicolon < 0 ? rest : rest.slice(0, semicolon)).trim());
    if (clauses && (semicolon < 0 || isMarker(rest.slice(semicolon + 1)))) {
      const version = exactVersion(clauses);
      return { text, name, version, problem: version === "" ? unpinned : "" };
    }
  }
  if (addressForm.test(text)) return atAddress(text);
  if (pathForm.test(text.split(";")[0]?.trim() ?? "")) return malformed(text, "is a file, which is not read");
  return malformed(text, "is not a requirement");
};

const readLine = (text: string): Requirement | undefined => {
  if (!text.startsWith("-")) return readRequirement(withoutOptions(text));
  if (includeForm.test(text)) return malformed(text, "names another file, which is not read: add its lines");
  const editable = editableForm.exec(text)?.[0];
  if (editable !== undefined) return atAddress(text.slice(editable.length).trim());
  return fileOptions.has(text.split(/[\s=]/, 1)[0] ?? "") ? undefined : malformed(text, "is an option that pip does not know");
};

/** Throws DocumentError. */
export const readRequirementsTxt = (content: string): readonly Requirement[] => {
  const found = new FoundRequirements();
  for (const { line, text } of joinLines(content)) {
    // The length limit excludes hashes.
    const plain = withoutComment(text);
    if (plain === "") continue;
    if (!plain.startsWith("-") && withoutOptions(plain).length > limits.requirementLengthMax)
      throw new DocumentError(line, `must have at most ${limits.requirementLengthMax} characters`);
    const requirement = readLine(plain);
    if (requirement) found.add(line, requirement);
  }
  return found.list;
};
