// The guides as a reader has them, read for tests: blocks by their kind, and the sections on identities for CI.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, type Json, type JsonObject } from "#base/json.ts";

const guides = join(import.meta.dirname, "..", "..", "docs", "guides");

export const readGuide = (name: string): Promise<string> => readFile(join(guides, name), "utf8");

export interface Block {
  /** What stands behind the fence: "sh", "json", ""… */
  readonly kind: string;
  readonly content: string;
}

export const blocksOf = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind = "", content = ""]) => ({ kind, content }));

/** The parts of a page under its headings of the second level. */
export const sectionsOf = (markdown: string): { readonly title: string; readonly content: string }[] =>
  markdown
    .split(/^## /m)
    .slice(1)
    .map((each) => ({ title: each.slice(0, each.indexOf("\n")), content: each.slice(each.indexOf("\n") + 1) }));

/** What a page shows, as a pattern: "…" stands for anything. */
export const shownPattern = (shown: string): RegExp =>
  new RegExp(
    `^${shown
      .split("…")
      .map((each) => each.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
      .join("[^]*?")}$`,
  );

/** A way to make an identity for a job: a section with the token of that job, the lines that make the identity, and what is refused. */
export interface JobSection {
  readonly title: string;
  readonly token: JsonObject;
  readonly create: string;
  /** The answer to a token that has other claims than the job's; null takes a claim out. */
  readonly refusals: readonly { readonly claims: JsonObject; readonly answer: string }[];
}

const parseJsonObject = (text: string): JsonObject => {
  const value = JSON.parse(text) as Json;
  if (!isObject(value)) throw new Error(`not an object: ${text}`);
  return value;
};

export const jobSectionsOf = (markdown: string): JobSection[] =>
  sectionsOf(markdown).flatMap(({ title, content }) => {
    const blocks = blocksOf(content);
    const token = blocks.find((block) => block.kind === "json" && block.content.includes('"iss"'));
    const create = blocks.find((block) => block.kind === "sh" && block.content.includes("/iam/v2/identities/"));
    if (token === undefined || create === undefined) return [];
    const refusals = [...content.matchAll(/^\| `(\{.*?\})` \| `(.+?)` \|/gm)].map(([, claims = "", answer = ""]) => ({
      claims: parseJsonObject(claims),
      answer,
    }));
    return [{ title, token: parseJsonObject(token.content), create: create.content, refusals }];
  });
