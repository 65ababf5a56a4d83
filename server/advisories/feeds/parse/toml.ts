// Parses TOML, or fenced TOML front matter of Markdown with the Markdown as `body`.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError, type Path } from "../invalid.ts";

interface FencedText {
  readonly head: string;
  readonly body: string;
  /** Lines before the front matter. */
  readonly above: number;
}

const splitFences = (text: string): FencedText => {
  if (!text.trimStart().startsWith("```")) return { head: text, body: "", above: 0 };
  const start = text.indexOf("```");
  const headStart = text.indexOf("\n", start) + 1;
  const isToml = headStart > 0 && text.slice(start, headStart).trimEnd() === "```toml";
  for (let at = headStart; isToml && at < text.length; ) {
    const lineEnd = text.indexOf("\n", at);
    const next = lineEnd < 0 ? text.length : lineEnd + 1;
    if (text.slice(at, next).trimEnd() === "```")
      return { head: text.slice(headStart, at), body: text.slice(next), above: text.slice(0, start).split("\n").length };
    at = next;
  }
  throw new DocumentError(text.trimEnd().split("\n").length, "not valid TOML: the fence behind the head is missing");
};

/** Throws DocumentError. */
export const readToml = async (text: string): Promise<JsonObject> => {
  const { head, body, above } = splitFences(text.replace(/^\uFEFF/, ""));
  const { parse, TomlError } = await import("smol-toml");
  try {
    // Dates become texts.
    return { ...(JSON.parse(JSON.stringify(parse(head, { maxDepth: limits.feedDepthMax }))) as JsonObject), body };
  } catch (thrown) {
    if (thrown instanceof TomlError)
      throw new DocumentError(above + thrown.line, `not valid TOML: ${(thrown.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "")}`);
    if (thrown instanceof RangeError || thrown instanceof TypeError) throw new DocumentError(above + 1, `not valid TOML: ${thrown.message.split("\n")[0]}`);
    throw thrown;
  }
};

/** Finds the line of a key by name: front matter is short and keys rarely repeat. */
export const tomlLineOf = (text: string, path: Path): number => {
  const key = path.findLast((step) => typeof step === "string");
  if (key === "body") return text.split("\n").findIndex((line, index) => index > 0 && line.startsWith("```")) + 2;
  const lines = text.split("\n");
  const own = lines.findIndex((line) => line.trimStart().startsWith(`${key}`) && /^\s*[\w"-]+\s*=/.test(line));
  const table = lines.findIndex((line) => line.trim() === `[${path[0]}]`);
  return Math.max(0, own >= 0 ? own : table) + 1;
};
