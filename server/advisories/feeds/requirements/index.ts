// Reads requirement lists: requirements.txt, poetry.lock, uv.lock, Maven. They come with a request, so nothing in them is opened.

import { invalid } from "#base/fault.ts";
import { DocumentError } from "../invalid.ts";
import { readPoetryLock, readUvLock } from "./lock-files.ts";
import { readMavenList } from "./maven-list.ts";
import type { Requirement } from "./requirement.ts";
import { readRequirementsTxt } from "./requirements-txt.ts";

export type { Requirement } from "./requirement.ts";

const readers = {
  INPUT_FORMAT_REQUIREMENTS_TXT: (content: string) => Promise.resolve(readRequirementsTxt(content)),
  INPUT_FORMAT_POETRY_LOCK: readPoetryLock,
  INPUT_FORMAT_UV_LOCK: readUvLock,
  INPUT_FORMAT_MAVEN_GAV_LIST: readMavenList,
} as const;

export type RequirementFormat = keyof typeof readers;

export const isRequirementFormat = (name: string): name is RequirementFormat => Object.hasOwn(readers, name);

const endings: readonly (readonly [string, RequirementFormat])[] = [
  ["poetry.lock", "INPUT_FORMAT_POETRY_LOCK"],
  ["uv.lock", "INPUT_FORMAT_UV_LOCK"],
  ["pom.xml", "INPUT_FORMAT_MAVEN_GAV_LIST"],
  ["gradle.lockfile", "INPUT_FORMAT_MAVEN_GAV_LIST"],
  [".pom", "INPUT_FORMAT_MAVEN_GAV_LIST"],
  [".gav", "INPUT_FORMAT_MAVEN_GAV_LIST"],
  [".dependencies", "INPUT_FORMAT_MAVEN_GAV_LIST"],
];

/** Returns the format by file name; undefined if unknown. */
export const formatOfFile = (filename: string): RequirementFormat | undefined => {
  const [base = "", folder = ""] = filename.split(/[/\\]/).reverse();
  const known = endings.find(([ending]) => base.endsWith(ending));
  if (known) return known[1];
  const isText = base.endsWith(".txt") || base.endsWith(".in");
  return isText && (base.includes("requirements") || folder === "requirements") ? "INPUT_FORMAT_REQUIREMENTS_TXT" : undefined;
};

export const ecosystemOf = (format: RequirementFormat): "ECOSYSTEM_JAVA" | "ECOSYSTEM_PYTHON" =>
  format === "INPUT_FORMAT_MAVEN_GAV_LIST" ? "ECOSYSTEM_JAVA" : "ECOSYSTEM_PYTHON";

/**
 * Throws INVALID_ARGUMENT on `field`, with line and reason, if the format is wrong or a limit is exceeded.
 * @param lineName the word for a line in messages
 */
export const readRequirements = async (format: RequirementFormat, content: string, field: string, lineName = "line"): Promise<readonly Requirement[]> => {
  try {
    const found = await readers[format](content.replace(/^\uFEFF/, ""));
    if (found.length === 0) throw new DocumentError(1, "it requires no library");
    return found;
  } catch (thrown) {
    if (thrown instanceof DocumentError) throw invalid([{ field, description: `${lineName} ${thrown.line}: ${thrown.message}` }]);
    throw thrown;
  }
};
