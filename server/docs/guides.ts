// The pages that are written by hand: every Markdown file below docs/, at its own path (docs/guides/events.md is
// /docs/guides/events). The guides among them stand in the contents and are searched.

import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { type RenderedText, renderMarkdown, sectionsOf, type TextSection } from "./markdown.ts";

export interface Guide {
  readonly path: string;
  readonly title: string;
  readonly markdown: string;
}

/** Where the project's own texts are. */
const folder = join(import.meta.dirname, "..", "..", "docs");

/** The order in which somebody new reads them; whatever else there is comes after. */
const readingOrder = ["first-steps", "ci-identities", "registry", "advisories", "events", "audit", "operations"];

const base = "/docs/";
const nameForm = /^[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/;

const titleOf = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? "";

/** The file of a page, by its path below /docs/; a folder's is its README. Undefined where there is none. */
const readText = async (name: string): Promise<string | undefined> => {
  if (!nameForm.test(name) || name.endsWith("README")) return undefined;
  for (const file of [`${name}.md`, posix.join(name, "README.md")]) {
    try {
      return await readFile(join(folder, file), "utf8");
    } catch (thrown) {
      if (!(thrown instanceof Error && "code" in thrown && ["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(String(thrown.code)))) throw thrown;
    }
  }
  return undefined;
};

const namesBelow = async (): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  return entries.map((entry) => entry.replaceAll("\\", "/")).filter((entry) => entry.endsWith(".md"));
};

const pathOfFile = (file: string): string => base + file.replace(/(?:\/README)?\.md$/, "");

/** First the guides that are read in order, pages of a guide behind it, then the rest by name, and running a server last. */
const orderOf = (name: string): string => {
  if (name === "operations") return "9";
  const place = readingOrder.findIndex((each) => name.slice("guides/".length).startsWith(each));
  return `${place < 0 ? 8 : place} ${name}`;
};

/** The guides, in the order of the contents. */
export const readGuides = async (): Promise<Guide[]> => {
  const names = (await namesBelow()).filter((file) => /^(?:guides\/.+|operations)\.md$/.test(file) && !file.endsWith("README.md"));
  const guides = await Promise.all(
    names.map(async (file) => {
      const markdown = await readFile(join(folder, file), "utf8");
      return { name: file.replace(/\.md$/, ""), path: pathOfFile(file), title: titleOf(markdown), markdown };
    }),
  );
  return guides.toSorted((one, other) => (orderOf(one.name) < orderOf(other.name) ? -1 : 1));
};

/** What a link in a text leads to. A file of the project that is no page of the docs is not there for whoever reads them here. */
const linkFrom =
  (path: string, isFolder: boolean, pages: ReadonlySet<string>) =>
  (href: string): string | undefined => {
    if (/^(?:https?|mailto):/.test(href)) return href;
    const [file = "", fragment] = href.split("#");
    const hash = fragment === undefined ? "" : `#${fragment}`;
    if (file === "") return hash || undefined;
    if (file.startsWith("/")) return /^\/(?:docs|openapi)(?:[/.]|$)/.test(file) ? href : undefined;
    const target = posix.join(isFolder ? path : posix.dirname(path), file);
    return target.startsWith(base) && pages.has(target.slice(base.length)) ? pathOfFile(target.slice(base.length)) + hash : undefined;
  };

/** The page at a path below /docs/; undefined where there is none. */
export const findText = async (path: string): Promise<(RenderedText & { readonly title: string }) | undefined> => {
  const name = path.slice(base.length);
  const markdown = await readText(name);
  if (markdown === undefined) return undefined;
  const pages = new Set(await namesBelow());
  return { title: titleOf(markdown) || name, ...renderMarkdown(markdown, linkFrom(path, pages.has(posix.join(name, "README.md")), pages)) };
};

export const guideSections = ({ markdown }: Guide): TextSection[] => sectionsOf(markdown);
