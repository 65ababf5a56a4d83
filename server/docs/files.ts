// Files of the pages, read at the first request. Paths are content-addressed, so browsers can cache them forever; only pictures, which
// Markdown names, have a plain path.

import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { EndpointAnswer } from "#base/endpoint.ts";
import { mark, palette } from "#base/html.ts";
import { hashOfText } from "./answers.ts";

interface PageFile {
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

export interface PageFiles {
  readonly style: string;
  readonly scripts: readonly string[];
  readonly icon: string;
  readonly byPath: ReadonlyMap<string, PageFile>;
  /** Pictures of the pages, by path. */
  readonly pictures: ReadonlyMap<string, Picture>;
}

export interface Picture {
  readonly type: string;
  readonly open: () => EndpointAnswer["body"];
}

/** A color visible on light and dark backgrounds. */
const iconText = mark.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ').replace('stroke="currentColor"', 'stroke="#3b82f6" color="#3b82f6"');

const pageFile = (name: string, ending: string, type: string, text: string): PageFile => ({
  path: `/docs/files/${name}-${hashOfText(text)}.${ending}`,
  type,
  text,
});

const pictureFolder = join(import.meta.dirname, "..", "..", "docs", "images");

const pictureTypes: ReadonlyMap<string, string> = new Map([
  [".svg", "image/svg+xml"],
  [".png", "image/png"],
]);

async function* contentOf(path: string): AsyncGenerator<Uint8Array> {
  yield await readFile(path);
}

/** Pictures are read when they are requested. */
const readPictures = async (): Promise<ReadonlyMap<string, Picture>> => {
  const names = await readdir(pictureFolder, { recursive: true }).catch(() => []);
  return new Map(
    names.flatMap((name) => {
      const type = pictureTypes.get(extname(name));
      return type === undefined ? [] : [[`/docs/images/${name.replaceAll("\\", "/")}`, { type, open: () => contentOf(join(pictureFolder, name)) }] as const];
    }),
  );
};

const readPageFiles = async (): Promise<PageFiles> => {
  const read = (name: string): Promise<string> => readFile(join(import.meta.dirname, "browser", name), "utf8");
  const style = pageFile("style", "css", "text/css; charset=utf-8", `${palette}\n${await read("style.css")}`);
  const script = (name: string, text: string): PageFile => pageFile(name, "js", "text/javascript; charset=utf-8", text);
  const scripts = [script("page", await read("page.js")), script("suggestions", await read("suggestions.js"))];
  const icon = pageFile("icon", "svg", "image/svg+xml", iconText);
  const byPath = new Map([style, ...scripts, icon].map((file) => [file.path, file]));
  return { style: style.path, scripts: scripts.map(({ path }) => path), icon: icon.path, byPath, pictures: await readPictures() };
};

let held: Promise<PageFiles> | undefined;

/** Returns the files, read once: some tens of kilobytes. */
export const pageFiles = (): Promise<PageFiles> => (held ??= readPageFiles());

export const iconFile = { type: "image/svg+xml", text: iconText };
