// Reads a Helm chart's archive for version 1: metadata, values and changelog. Archives are untrusted: they are never unpacked to
// disk, and an archive that Helm would not produce is refused as a whole. Runs in a worker thread (worker.ts).

import { unpackTar } from "modern-tar";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { DocumentError } from "../invalid.ts";
import { readYaml } from "../parse/yaml.ts";
import type { Unreadable } from "../sbom/statement.ts";

export interface ChartImage extends JsonObject {
  readonly name: string;
  readonly image: string;
}

export type ChartFacts = JsonObject & { readonly name: string; readonly version: string; readonly values: string; readonly images: ChartImage[] };

const wantedNames = ["Chart.yaml", "requirements.yaml", "values.yaml", "CHANGELOG.md"] as const;
type WantedName = (typeof wantedNames)[number];
const isWanted = (name: string): name is WantedName => wantedNames.some((each) => each === name);

class ChartError extends Error {}

const refuse = (problem: string): never => {
  throw new ChartError(problem);
};

/** Returns "Chart.yaml" for "nginx/Chart.yaml", undefined for other files; throws for a path outside the chart's directory. */
const wantedOf = (path: string): WantedName | undefined => {
  const segments = path.split("/");
  if (path.startsWith("/") || path.includes("\\") || path.includes("\0") || segments.includes("..")) refuse("has a path that leaves its directory");
  const [folder = "", name = "", ...deeper] = segments;
  return folder !== "" && folder !== "." && deeper.length === 0 && isWanted(name) ? name : undefined;
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const readFiles = async (archive: Uint8Array): Promise<ReadonlyMap<WantedName, string>> => {
  let entryCount = 0;
  const seen = new Set<WantedName>();
  const entries = await unpackTar(archive, {
    strict: true,
    filter: ({ name, type, size }) => {
      if (++entryCount > limits.chartEntriesMax) refuse(`has more than ${limits.chartEntriesMax} entries`);
      if (type !== "file" && type !== "directory") refuse("has an entry that is neither a file nor a directory");
      const wanted = wantedOf(name);
      if (type !== "file" || wanted === undefined) return false;
      // Two readers could each see a different copy.
      if (seen.has(wanted)) refuse(`has ${wanted} twice`);
      seen.add(wanted);
      if (size > limits.chartFileBytesMax) refuse(`has a ${wanted} of ${size} bytes, which is more than ${limits.chartFileBytesMax}`);
      return true;
    },
  });
  const files = new Map<WantedName, string>();
  for (const { header, data } of entries) {
    const name = wantedOf(header.name);
    if (name === undefined) continue;
    try {
      files.set(name, decoder.decode(data));
    } catch {
      refuse(`has a ${name} that is not UTF-8`);
    }
  }
  return files;
};

const readMap = async (name: WantedName, content: string): Promise<JsonObject> => {
  try {
    const read = await readYaml(content);
    return isObject(read) ? read : refuse(`has a ${name} that is not a map`);
  } catch (thrown) {
    if (thrown instanceof DocumentError) return refuse(`has a ${name} that cannot be read: ${thrown.message}`);
    throw thrown;
  }
};

const requirements: Readonly<Record<string, string>> = { required: "REQUIREMENT_REQUIRED", optional: "REQUIREMENT_OPTIONAL" };

/** Returns undefined if the annotation `images` is not a YAML list of names and references. */
export const readChartImages = async (annotation: string): Promise<ChartImage[] | undefined> => {
  if (annotation.length > limits.chartImagesLengthMax) return undefined;
  let read: Json;
  try {
    read = annotation.trim() === "" ? [] : await readYaml(annotation);
  } catch (thrown) {
    if (thrown instanceof DocumentError) return undefined;
    throw thrown;
  }
  if (!Array.isArray(read) || !read.every((entry) => isObject(entry) && typeof entry.image === "string")) return undefined;
  return objectList({ read }, "read").map((entry) => {
    const requirement = requirements[text(entry, "requirement").toLowerCase()];
    return { name: text(entry, "name"), image: text(entry, "image"), ...(requirement === undefined ? {} : { requirement }) };
  });
};

const dependenciesOf = (chart: JsonObject): JsonObject[] =>
  objectList(chart, "dependencies").map((each) => ({ name: text(each, "name"), version: text(each, "version"), repository: text(each, "repository") }));

const factsOf = async (files: ReadonlyMap<WantedName, string>): Promise<ChartFacts> => {
  const raw = files.get("Chart.yaml") ?? refuse("has no Chart.yaml");
  const chart = await readMap("Chart.yaml", raw);
  const annotations = Object.fromEntries(Object.entries(part(chart, "annotations")).filter(([, value]) => typeof value === "string"));
  const images = (await readChartImages(text(annotations, "images"))) ?? refuse("has an annotation images that is no list of images");
  // Helm 2 charts list their dependencies in a separate file.
  const listed = chart.dependencies === undefined ? await readMap("requirements.yaml", files.get("requirements.yaml") ?? "{}") : chart;
  return {
    name: text(chart, "name"),
    version: text(chart, "version"),
    appVersion: text(chart, "appVersion"),
    description: text(chart, "description"),
    dependencies: dependenciesOf(listed),
    annotations,
    images,
    raw,
    values: files.get("values.yaml") ?? "",
    changelog: files.get("CHANGELOG.md") ?? "",
  };
};

/** Returns the chart, or the problem if it is refused. */
export const readChart = async (archive: Uint8Array): Promise<ChartFacts | Unreadable> => {
  try {
    return await factsOf(await readFiles(archive));
  } catch (thrown) {
    return { problem: thrown instanceof ChartError ? thrown.message : "is no archive that can be read" };
  }
};
