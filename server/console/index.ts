// Serves the console at /console: one page for all its addresses, and files with hashed names. `npm run build` in console/ makes them.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { matchesEtag } from "#base/etag.ts";
import { Fault } from "#base/fault.ts";

export interface Console {
  /** In logs and metrics. */
  readonly name: string;
  /** Returns the endpoint of the page or of a file; undefined for paths that are not the console's. */
  readonly find: (path: string) => Endpoint | undefined;
  /** Returns the name of the build, by which a page learns that the server has a newer one. */
  readonly build: () => Promise<string>;
}

const folder = join(import.meta.dirname, "built");
const pageName = "index.html";
const assetsPath = "/console/assets/";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const safety = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  vary: "accept-encoding",
};

const pageHeaders = {
  ...safety,
  "content-type": types.html ?? "",
  "content-security-policy": contentPolicy,
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
  "cache-control": "no-cache",
};

const assetHeaders = (name: string): Readonly<Record<string, string>> => ({
  ...safety,
  "content-type": types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
  // The name contains a hash of the content.
  "cache-control": "public, max-age=31536000, immutable",
});

/** Returns the name of the first of our encodings that the client accepts; "" if none. */
const encodingFor = ({ headers }: EndpointRequest): "br" | "gzip" | "" => {
  const accepted = (headers.acceptEncoding ?? "").split(",").flatMap((each) => {
    const [name = "", ...parameters] = each.split(";").map((part) => part.trim().toLowerCase());
    return parameters.some((parameter) => Number(parameter.replace("q=", "")) === 0) ? [] : [name];
  });
  return accepted.includes("br") ? "br" : accepted.includes("gzip") ? "gzip" : "";
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const unzip = promisify(gunzip);

/** The files exist in compressed form only. */
const fileAnswer = async (name: string, headers: Readonly<Record<string, string>>, request: EndpointRequest): Promise<EndpointAnswer> => {
  const encoding = encodingFor(request);
  const stored = await readFile(join(folder, `${name}.${encoding === "br" ? "br" : "gz"}`));
  const body = once(encoding === "" ? await unzip(stored) : stored);
  return { status: 200, headers: { ...headers, ...(encoding === "" ? {} : { "content-encoding": encoding }) }, body };
};

interface Built {
  readonly names: ReadonlySet<string>;
  readonly build: string;
}

const readBuilt = async (): Promise<Built> => {
  const names = new Set((await readdir(folder)).flatMap((name) => (name.endsWith(".gz") ? [name.slice(0, -".gz".length)] : [])));
  const page = (await unzip(await readFile(join(folder, `${pageName}.gz`)))).toString("utf8");
  return { names, build: /<meta name="build" content="(\w+)">/.exec(page)?.[1] ?? "" };
};

/** Opens the console; reads its files at the first request. */
export const openConsole = (): Console => {
  let built: Promise<Built> | undefined;
  const files = (): Promise<Built> => (built ??= readBuilt());
  const page = async (request: EndpointRequest): Promise<EndpointAnswer> => {
    const headers = { ...pageHeaders, etag: `W/"${(await files()).build}"` };
    if (matchesEtag(request.headers.ifNoneMatch, headers.etag)) return { status: 304, headers, body: "" };
    return fileAnswer(pageName, headers, request);
  };
  const asset =
    (name: string) =>
    async (request: EndpointRequest): Promise<EndpointAnswer> => {
      if (name === pageName || !(await files()).names.has(name)) throw new Fault("NOT_FOUND", `the console has no file ${JSON.stringify(name.slice(0, 100))}`);
      return fileAnswer(name, assetHeaders(name), request);
    };
  return {
    name: "console",
    find: (path) => {
      if (path.startsWith(assetsPath)) return { GET: asset(path.slice(assetsPath.length)) };
      return path === "/console" || path.startsWith("/console/") ? { GET: page } : undefined;
    },
    build: async () => (await files()).build,
  };
};
