// Hand-written pages: Markdown files below docs/ at their own paths. docs/contents.json groups and orders the listed and searchable
// pages, and maps sections of removed pages to their new locations.

import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import type { Fill } from "./own-address.ts";
import { firstSentence, type RenderedText, renderMarkdown, sectionsOf, type TextSection } from "./markdown.ts";

export interface Guide {
  readonly path: string;
  readonly title: string;
  /** Its first sentence. */
  readonly summary: string;
  readonly markdown: string;
}

export interface GuideGroup {
  readonly title: string;
  readonly guides: readonly Guide[];
}

/** A section of a removed page. */
export interface MovedSection {
  /** Its fragment; empty for the page itself. */
  readonly id: string;
  readonly href: string;
  readonly title: string;
}

const folder = join(import.meta.dirname, "..", "..", "docs");

const base = "/docs/";
const nameForm = /^[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/;

const firstHeading = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? "";

/** A directory's page is its README. */
const readPageText = async (name: string): Promise<string | undefined> => {
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

const readContents = async (): Promise<JsonObject> => {
  const contents = JSON.parse(await readFile(join(folder, "contents.json"), "utf8")) as Json;
  return isObject(contents) ? contents : {};
};

const readGuide = async (name: string): Promise<Guide> => {
  const markdown = await readFile(join(folder, `${name}.md`), "utf8");
  return { path: base + name, title: firstHeading(markdown), summary: firstSentence(markdown), markdown };
};

/** Returns the groups of the contents with their pages, in reading order. */
export const readGuideGroups = async (): Promise<GuideGroup[]> =>
  Promise.all(
    objectList(await readContents(), "groups").map(async (group) => ({
      title: text(group, "title"),
      guides: await Promise.all(texts(group, "pages").map(readGuide)),
    })),
  );

/** Returns the pages of all groups, in reading order. */
export const readGuides = async (): Promise<Guide[]> => (await readGuideGroups()).flatMap(({ guides }) => guides);

/** Returns the new locations of a removed page's sections; undefined for any other path. */
export const findMoved = async (path: string): Promise<MovedSection[] | undefined> => {
  const moved = part(await readContents(), "moved");
  const name = path.slice(base.length);
  if (!Object.hasOwn(moved, name)) return undefined;
  const titles = new Map((await readGuides()).map((guide) => [guide.path, guide.title]));
  return Object.entries(part(moved, name)).map(([id, target]) => {
    const href = base + String(target);
    return { id, href, title: titles.get(href.split("#")[0] ?? "") ?? href };
  });
};

/** Undefined for files that are not served as pages. */
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

/** Undefined for images outside of docs/images. */
const imageFrom =
  (path: string, isFolder: boolean, images: ReadonlySet<string>) =>
  (source: string): string | undefined => {
    const target = posix.join(isFolder ? path : posix.dirname(path), source);
    return images.has(target) ? target : undefined;
  };

/** Returns the page at a path below /docs/; undefined if there is none. `images`: addresses of the images of the docs. */
export const findText = async (path: string, images: ReadonlySet<string>, fill: Fill): Promise<(RenderedText & { readonly title: string }) | undefined> => {
  const name = path.slice(base.length);
  const markdown = await readPageText(name);
  if (markdown === undefined) return undefined;
  const pages = new Set(await namesBelow());
  const isFolder = pages.has(posix.join(name, "README.md"));
  const text = renderMarkdown(markdown, linkFrom(path, isFolder, pages), { imageAt: imageFrom(path, isFolder, images), fill });
  return { title: firstHeading(markdown) || name, ...text };
};

export const guideSections = ({ markdown }: Guide): TextSection[] => sectionsOf(markdown);
