// Parses YAML front matter of Markdown, between lines of dashes.

import type { Json } from "#base/json.ts";
import { DocumentError, type Path } from "../invalid.ts";
import { readYaml, yamlLineOf } from "./yaml.ts";

const dashes = /^---[ \t]*\r?$/;

/** Without an end line, all of the text is front matter. */
const headOf = (text: string): { readonly head: string; readonly above: number } => {
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  const first = lines.findIndex((line) => dashes.test(line));
  const end = lines.findIndex((line, index) => index > first && dashes.test(line));
  return { head: lines.slice(first + 1, end < 0 ? undefined : end).join("\n"), above: first + 1 };
};

/** Throws DocumentError. */
export const readFrontMatter = async (text: string): Promise<Json> => {
  const { head, above } = headOf(text);
  try {
    return await readYaml(head);
  } catch (thrown) {
    throw thrown instanceof DocumentError ? new DocumentError(above + thrown.line, thrown.message) : thrown;
  }
};

export const frontMatterLineOf = async (text: string, path: Path): Promise<number> => {
  const { head, above } = headOf(text);
  return above + (await yamlLineOf(head, path));
};
