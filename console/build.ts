// `npm run build [-- FOLDER]` in console/: builds the console in server/console/built or FOLDER, and replaces its content. The same
// sources and lock file give the same files. Only compressed files are kept, since every browser takes them.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { palette } from "../base/html.ts";

const here = import.meta.dirname;
const folder = resolve(process.argv[2] ?? join(here, "..", "server", "console", "built"));

const result = await build({
  entryPoints: { app: join(here, "src", "main.tsx"), style: join(here, "src", "style.css") },
  absWorkingDir: here,
  outdir: "out",
  write: false,
  metafile: true,
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: "es2022",
  platform: "browser",
  jsx: "automatic",
  legalComments: "none",
  charset: "utf8",
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  define: { "process.env.NODE_ENV": '"production"' },
  // Token files exist only in Node.
  plugins: [
    {
      name: "adjust",
      setup: (each) => {
        each.onLoad({ filter: /\/style\.css$/ }, ({ path }) => ({ contents: `${palette}\n${readFileSync(path, "utf8")}`, loader: "css" }));
        each.onResolve({ filter: /\/read-file\.ts$/ }, () => ({ path: "read-file", namespace: "absent" }));
        each.onLoad({ filter: /.*/, namespace: "absent" }, () => ({ contents: "export {}" }));
      },
    },
  ],
});

const files = new Map(result.outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
const nameOf = (start: string, end: string): string => {
  const name = [...files.keys()].find((each) => each.startsWith(start) && each.endsWith(end));
  if (name === undefined) throw new Error(`the build has no ${start}…${end}`);
  return name;
};

// Loaded together with the script, because it imports them at once.
const parts = (result.metafile.outputs[`out/${nameOf("app-", ".js")}`]?.imports ?? []).filter(({ kind }) => kind === "import-statement");
const preloads = parts.map(({ path }) => `<link rel="modulepreload" href="/console/assets/${basename(path)}">`);

const names = [...files.keys()].sort();
const id = createHash("sha256").update(names.join("\n")).digest("hex").slice(0, 16);
// React Aria adds a <style>, which the policy refuses, unless an element with this id exists. Our styles contain its rule.
const pressStyleId = "react-aria-pressable-style";
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="build" content="${id}">
    <title>Gantry</title>
    <link rel="icon" href="/favicon.ico">
    <link id="${pressStyleId}" rel="stylesheet" href="/console/assets/${nameOf("style-", ".css")}">
    ${preloads.join("\n    ")}
    <script type="module" src="/console/assets/${nameOf("app-", ".js")}"></script>
  </head>
  <body>
    <div id="root"></div>
    <noscript>The console needs JavaScript. The command line shows the same data: gantry --help</noscript>
  </body>
</html>
`;
files.set("index.html", Buffer.from(page));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
let bytes = 0;
for (const [name, content] of files) {
  const zipped = gzipSync(content, { level: 9 });
  const smaller = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } });
  writeFileSync(join(folder, `${name}.gz`), zipped);
  writeFileSync(join(folder, `${name}.br`), smaller);
  bytes += zipped.length + smaller.length;
  process.stdout.write(`${name}: ${content.length} bytes, gzip ${zipped.length}, br ${smaller.length}\n`);
}
process.stdout.write(`build ${id}: ${bytes} bytes in ${folder}\n`);
