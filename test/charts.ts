// Helm charts for tests, in the form that `helm push` stores.

import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { descriptor, imageType, type RegistryClient } from "./registry.ts";

export const chartConfigType = "application/vnd.cncf.helm.config.v1+json";
export const chartLayerType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

export interface ChartSample {
  readonly name: string;
  readonly version?: string;
  readonly images?: string;
  /** Files in addition to Chart.yaml, by path in the archive. */
  readonly files?: Readonly<Record<string, string>>;
}

export const chartYaml = ({ name, version = "1.2.3", images }: ChartSample): string =>
  [
    "apiVersion: v2",
    `name: ${name}`,
    `version: ${version}`,
    'appVersion: "1.10"',
    "description: Serves pages",
    "dependencies:",
    '  - {name: common, version: "2.x", repository: "oci://charts.example.com/common"}',
    "annotations:",
    "  category: servers",
    ...(images === undefined ? [] : ["  images: |", ...images.split("\n").map((line) => `    ${line}`)]),
    "",
  ].join("\n");

export const chartArchive = async (chart: ChartSample): Promise<Buffer> => {
  const files = { [`${chart.name}/Chart.yaml`]: chartYaml(chart), ...chart.files };
  return gzipSync(
    await packTar(Object.entries(files).map(([name, body]) => ({ header: { name, size: Buffer.byteLength(body), type: "file" as const }, body }))),
  );
};

/** Returns Helm's configuration blob for Chart.yaml. */
export const chartConfig = ({ name, version = "1.2.3", images }: ChartSample): string =>
  JSON.stringify({ apiVersion: "v2", name, version, ...(images === undefined ? {} : { annotations: { images } }) });

/** Pushes a chart with this configuration and archive; returns the manifest's digest. */
export const pushArchive = async (client: RegistryClient, path: string, tag: string, config: string, archive: Uint8Array): Promise<string> => {
  await client.pushBlob(path, config);
  await client.pushBlob(path, archive);
  const manifest = { schemaVersion: 2, mediaType: imageType, config: descriptor(chartConfigType, config), layers: [descriptor(chartLayerType, archive)] };
  return client.pushManifest(path, tag, manifest);
};

export const pushChart = async (client: RegistryClient, path: string, chart: ChartSample): Promise<string> =>
  pushArchive(client, path, chart.version ?? "1.2.3", chartConfig(chart), await chartArchive(chart));
