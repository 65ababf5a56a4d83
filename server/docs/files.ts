// Files of the pages, read at the first request. Paths are content-addressed, so browsers can cache them forever.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { mark, palette } from "#base/html.ts";
import { hashOfText } from "./answers.ts";

interface PageFile {
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

export interface PageFiles {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
  readonly byPath: ReadonlyMap<string, PageFile>;
}

/** A color visible on light and dark backgrounds. */
const iconText = mark.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ').replace('stroke="currentColor"', 'stroke="#3b82f6" color="#3b82f6"');

const pageFile = (name: string, ending: string, type: string, text: string): PageFile => ({
  path: `/docs/files/${name}-${hashOfText(text)}.${ending}`,
  type,
  text,
});

const readPageFiles = async (): Promise<PageFiles> => {
  const read = (name: string): Promise<string> => readFile(join(import.meta.dirname, "browser", name), "utf8");
  const style = pageFile("style", "css", "text/css; charset=utf-8", `${palette}\n${await read("style.css")}`);
  const script = pageFile("page", "js", "text/javascript; charset=utf-8", await read("page.js"));
  const icon = pageFile("icon", "svg", "image/svg+xml", iconText);
  return { style: style.path, script: script.path, icon: icon.path, byPath: new Map([style, script, icon].map((file) => [file.path, file])) };
};

let held: Promise<PageFiles> | undefined;

/** Returns the files, read once: some tens of kilobytes. */
export const pageFiles = (): Promise<PageFiles> => (held ??= readPageFiles());

export const iconFile = { type: "image/svg+xml", text: iconText };
