// Parses guides for tests: blocks by kind, and the sections on CI identities.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, type Json, type JsonObject } from "#base/json.ts";

const guides = join(import.meta.dirname, "..", "..", "docs", "guides");

export const readGuide = (name: string): Promise<string> => readFile(join(guides, name), "utf8");

export interface Block {
  /** The text after the fence: "sh", "json", ""… */
  readonly kind: string;
  readonly content: string;
}

export const blocksOf = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind = "", content = ""]) => ({ kind, content }));

/** Returns the parts of a page under its second-level headings. */
export const sectionsOf = (markdown: string): { readonly title: string; readonly content: string }[] =>
  markdown
    .split(/^## /m)
    .slice(1)
    .map((each) => ({ title: each.slice(0, each.indexOf("\n")), content: each.slice(each.indexOf("\n") + 1) }));

/** Returns a pattern for shown output, in which "…" matches anything. */
export const shownPattern = (shown: string): RegExp =>
  new RegExp(
    `^${shown
      .split("…")
      .map((each) => each.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
      .join("[^]*?")}$`,
  );

/** Pages of guides/ci-identities about the jobs of one service. */
export const jobPages: readonly string[] = ["github-actions", "gitlab-ci", "kubernetes", "jenkins", "buildkite"];

/** A section about a job's identity: the job's token, the commands that create the identity, and refused tokens. */
export interface JobSection {
  readonly title: string;
  readonly token: JsonObject;
  readonly create: string;
  /** The same by the command line, if the section has it. */
  readonly command: string | undefined;
  /** Errors for tokens with changed claims; null removes a claim. */
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
    const command = blocks.find((block) => block.kind === "sh" && block.content.includes("gantry iam identities create"))?.content;
    if (token === undefined || create === undefined) return [];
    const refusals = [...content.matchAll(/^\| `(\{.*?\})` \| `(.+?)` \|/gm)].map(([, claims = "", answer = ""]) => ({
      claims: parseJsonObject(claims),
      answer,
    }));
    return [{ title, token: parseJsonObject(token.content), create: create.content, command, refusals }];
  });
